// `reduce` and `scatter_add` on the host's cores, docs/work.md §2. Sums fit 64 bits in any order, so threads
// share rows, parts of a row, or columns, as there are many of them.
#pragma once
#include "cpu/kernels.hpp"
#include "cpu/thread_pool.hpp"
#include "work/program.hpp"

namespace assay {

void reduce_rows(ThreadPool& pool, const assay_kernels::LaneKernels& kernels, const work::Op& op, const void* from, void* out);
void scatter_rows(ThreadPool& pool, const work::Op& op, const void* from, const void* index, void* out);

// Calls f with a null pointer of the element type.
template <typename F>
void with_type(work::Type type, F f) {
  switch (type) {
    case work::Type::i8: return f(static_cast<int8_t*>(nullptr));
    case work::Type::i16: return f(static_cast<int16_t*>(nullptr));
    case work::Type::i32: return f(static_cast<int32_t*>(nullptr));
    case work::Type::i64: return f(static_cast<int64_t*>(nullptr));
  }
}

// One piece alone is not worth waking a thread for.
inline void share(ThreadPool& pool, uint64_t count, const std::function<void(uint64_t)>& body) {
  if (count == 1) body(0);
  else pool.run(count, body);
}

}  // namespace assay
