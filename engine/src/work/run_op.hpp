// The four operators on the host the plain way, docs/work.md §2–3: what devices are compared with. For
// checked programs only: nothing here asks whether an index lies inside or a sum fits. Not here: where
// tensors live, in which order ops run, and speed (cpu/work/).
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

// The elements first … end of an op's output, in row-major order; of scatter_add whole rows. `operands`:
// where the elements of each operand lie; `out`: where those of the whole output do.
struct Part {
  uint64_t first, end;
};
void run_op(const Op& op, const void* const* operands, void* out, const Moment& moment, Part part);

}  // namespace assay::work
