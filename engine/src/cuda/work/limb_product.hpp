// Products of whole numbers as products of bytes: which planes are multiplied by which kernel, over which
// part of K. Planes lie ready (kernel_ptx.cpp writes them, or split_planes of work.cu). Not here: who makes
// them.
#pragma once
#include <string>
#include <vector>

#include "cuda/context.hpp"
#include "cuda/work/ptx/kernel_ptx.hpp"
#include "cuda/work/limb_shape.hpp"

namespace assay::cuda {

struct LimbOperand {
  CUdeviceptr at;
  PlaneLayout layout;
};

// One launch: a group of one or two planes of each operand, by wgmma (limb_wgmma.cu) or mma.sync
// (limb_mma.cu).
struct LimbLaunch {
  std::string kernel;
  bool by_warpgroups;
  uint32_t blocks, rows, shared_bytes;
  LimbMaps maps;      // by warpgroups
  LimbPlanes planes;  // otherwise
  LimbProduct what;
  uint64_t clears;  // so many bytes of the output first: blocks add to it
};

// In order: the first replaces what is there, the others add to it.
// `packs`: of each sum the lower word, then a byte above it (ptx/kernel_ptx.hpp), in one launch.
std::vector<LimbLaunch> limb_launches(const Context& context, bool warpgroups, const work::Op& op, const LimbOperand& a, const LimbOperand& b,
                                      bool packs = false);
void run_limbs(const Context& context, const std::vector<LimbLaunch>& launches, CUdeviceptr out, CUstream stream);

// Elements as planes.
void split_planes(const Context& context, CUdeviceptr from, work::Type type, uint64_t count, const LimbOperand& to, CUstream stream);

}  // namespace assay::cuda
