// The four operators on the host, docs/work.md §2–3: the reference that every device must equal bit for bit. For checked programs
// only: nothing here asks whether an index lies inside or a sum fits. Not here: where tensors live, and in which order ops run.
#pragma once
#include "core/philox.hpp"
#include "work/program.hpp"

namespace assay::work {

// When an op runs.
struct Moment {
  uint64_t segment = 0;
  uint32_t step = 0, k = 1;
  PhiloxKey key{};
};

// The elements first … end of an op's output, in row-major order: threads share an op by such ranges. `operands`: where the elements of
// each operand lie; `out`: where those of the whole output do.
struct Part {
  uint64_t first, end;
};
void run_op(const Op& op, const void* const* operands, void* out, const Moment& moment, Part part);

// How many elements must not be parted: a row of what scatter_add writes is one thread's. 1 for the others.
inline uint64_t grain_of(const Op& op) { return op.op == Operator::scatter_add ? op.dims[1] : 1; }

}  // namespace assay::work
