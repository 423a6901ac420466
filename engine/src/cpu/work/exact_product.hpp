// `matmul` of programs on the host's cores, docs/work.md §2: operands as planes of signed bytes, as many as
// their intervals need, packed once a product and multiplied tile by tile with the CPU's byte products
// (kernels_exact.inc).
#pragma once
#include <vector>

#include "cpu/kernels.hpp"
#include "cpu/thread_pool.hpp"
#include "work/program.hpp"

namespace assay {

// x = offset + Σ 256^i · digit i, each digit −128 … 127; `add` makes the digits' bytes: those of x + add,
// less 128 each.
struct ExactDigits {
  uint32_t digits = 1, add = 0;
  int64_t offset = 0;
};
ExactDigits exact_digits(const work::Interval& interval);

struct ExactProduct {
  ExactDigits a, b;
  // Too few rows or columns to be worth packing: each element is a plain sum.
  bool is_plain = false;
};
ExactProduct exact_product(const work::Program& program, work::Phase phase, const work::Op& op);

// Where operands are packed; one product at a time.
class ExactRoom {
 public:
  static uint64_t bytes_for(const assay_kernels::ExactKernel& kernel, const work::Op& op, const ExactProduct& product);
  explicit ExactRoom(uint64_t bytes) : bytes_(bytes) {}
  uint8_t* data() { return bytes_.data(); }

 private:
  std::vector<uint8_t> bytes_;
};

// `is_plain`: the elements first … end of the output, each its sum.
void multiply_plain(const work::Op& op, const void* a, const void* b, void* out, uint64_t first, uint64_t end);
void multiply_exact(ThreadPool& pool, const assay_kernels::ExactKernel& kernel, const work::Op& op, const ExactProduct& product, const void* a,
                    const void* b, void* out, ExactRoom& room);

}  // namespace assay
