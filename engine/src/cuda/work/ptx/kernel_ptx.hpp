// Kernels of maps and reductions as PTX: one or several ops that share their elements' places, so that what
// one gives the next takes from a register. Which ops go together is fuse.cpp's choice; the code of maps is
// map_ptx.cpp's.
#pragma once
#include "cuda/work/ptx/map_ptx.hpp"

namespace assay::cuda {

// Bytes of whole numbers by weight, for products on tensor cores: plane p holds byte p of every element, in
// rows of k with a pitch.
struct PlaneLayout {
  uint32_t count = 0;  // of planes
  uint64_t k = 0, pitch = 0, plane_bytes = 0;
};

// Wide elements of less than 40 or 48 bits that only kernels read: the lower words of all, then 1 or 2 bytes
// of each above them, with the sign turned, so that 0 stands in the middle. Returned is how many; 0: longer.
inline uint32_t packed_bytes(const work::Interval& interval) {
  const auto fits = [&](int bits) { return size_of(interval) < uint64_t{1} << bits; };
  return fits(39) ? 1 : fits(47) ? 2 : 0;
}

struct KernelOp {
  const work::Op* op;
  const std::vector<work::Interval>* intervals;  // of a map's registers
  bool is_row = false;  // gives one element for each row: a reduction, or a map of such
  // Of each operand: the kernel's op that makes it, or a pointer's number.
  struct From {
    int op = -1;
    uint32_t pointer = 0;
    uint32_t packed = 0;  // packed_bytes, where it lies so
  };
  std::vector<From> from;
  // Pointers' numbers where it is stored.
  int elements = -1, planes = -1;
  PlaneLayout layout;
  uint32_t packed = 0;  // how the elements are stored
};

struct KernelPlan {
  std::vector<KernelOp> ops;  // in an order in which they can run
  uint32_t pointers = 0;
  uint64_t count = 0;  // elements of an op that is not by row
  uint32_t width = 0;  // elements of a row; 0: no op is by row
  // Its one op changes what lies at the step's own place along this axis, and leaves the rest of its target
  // as it is.
  std::optional<uint32_t> step_axis{};
  bool uses_reals = false;   // real_arithmetic.cpp
  bool has_doubles = false;  // the card has units enough for them: quotients are made by them
};

// Rows up to this long stay in registers, so a map may follow a reduction of its own row.
constexpr uint32_t kMostKeptWidth = 8192;
bool keeps_rows(uint32_t width);

struct KernelText {
  std::string ptx;
  uint64_t blocks = 0;
  uint32_t threads = 0;
};
// The entry is called `name`. Its parameters: the address of the moment (segment, step, third word of rand's
// counter, key, 32 bits each), then the pointers.
KernelText kernel_ptx(const KernelPlan& plan, const std::string& name);
// The plan's first op is a product: `text` is limb_wgmma.cu as PTX, in which every pair of sums is given to
// the maps that follow. The entry has what limb_text has.
std::string product_ptx(const std::string& text, const KernelPlan& plan, const std::string& name);
// The axis of such an op, in a program of k steps a segment.
std::optional<uint32_t> step_axis(const work::Op& op, uint32_t k);
// Before entries: version and target.
std::string ptx_head();

}  // namespace assay::cuda
