// Which ops of a phase run in one kernel, in which order the kernels run, and where what they leave lies.
// Fused or not, every tensor holds the same bytes afterwards: an op that nobody outside its kernel reads is
// never stored, and what only products on tensor cores read is stored as planes of bytes (limb_shape.hpp).
// Not here: the kernels (kernel_ptx.cpp) and their launches (cuda_work.cpp).
#pragma once
#include "cuda/work/ptx/kernel_ptx.hpp"
#include "work/plan.hpp"

namespace assay::cuda {

// What an operand's bytes are needed as.
struct Planes {
  work::Address at = 0;
  PlaneLayout layout;
};

// Made before a product from elements that lie in memory.
struct Split {
  work::Address from;
  work::Type type;
  uint64_t count;
  Planes to;
};

struct LoadedOp {
  work::Op op;
  std::vector<work::Interval> intervals;
};

struct Group {
  std::vector<uint32_t> ops;  // of the phase; one, unless it is a kernel of maps and reductions
  bool is_kernel = false;
  KernelPlan kernel;  // also of a product whose sums go to maps: then its first op is the product
  std::vector<work::Address> pointers;  // of the kernel
  std::vector<std::shared_ptr<LoadedOp>> loads;  // ops of the kernel that the program does not have
  // Otherwise: operands, output and, of a product on tensor cores, its operands' planes.
  std::vector<work::Address> operands;
  work::Address out = 0;
  std::vector<Split> splits;
  Planes planes[2];
  bool packs = false;  // the product's sums
  // An output that cannot be written in place.
  struct Copy {
    work::Address from, to;
    uint64_t bytes;
  };
  std::vector<Copy> copies;
};

struct FusedPhase {
  std::vector<Group> groups;
  // Of inputs and constants: made before the first step, and again when those change.
  std::vector<Split> kept;
  uint64_t peak = 0;  // of memory, tensors included
};

struct FuseOptions {
  bool tensor_cores = true;
  bool thin = false;  // products of few rows read their operands as they lie (thin_product.cu)
  bool fuses = true;  // false: every op for itself, with all it gives stored
  bool on_sums = false;      // maps run on products' sums
  uint64_t fewest_tiles = 0;  // that such a product has
  bool uses_reals = false;    // wide integers may be doubles on the way (real_arithmetic.cpp)
  // Wide elements of few bits may be packed; those of products with so many tiles, a quarter of fewest_tiles.
  bool packs = false;
  // Elements of a kernel where they are: of few, each is waited for, and a double takes longer.
  uint64_t fewest_reals = 0;
};
FusedPhase fuse(const work::CheckedProgram& checked, work::Phase phase, const work::MemoryPlan& plan, const FuseOptions& options);

// Of a product of few multiplications the split costs more than it saves.
bool wants_tensor_cores(const work::Op& op);
// A product of few rows, of which reading the other operand is most: of i16 times i8 or i16, in whole
// sixteens along K.
bool is_thin(const work::Op& op);
// Planes for these operands of a product; the pitch is a multiple of 16.
PlaneLayout plane_layout(const work::Interval& interval, uint64_t count, uint64_t k);
// Its elements are bytes without gaps between rows.
inline bool is_plane_itself(const PlaneLayout& layout, work::Type type) {
  return layout.count == 1 && type == work::Type::i8 && layout.pitch == layout.k;
}
work::Interval operand_interval(const work::Program& program, work::Phase phase, const work::Operand& operand);

}  // namespace assay::cuda
