// All device code, one translation unit so that nvcc makes one fat binary of it. Names are what cuda_device.cpp looks up.
// Not here: any arithmetic that the CPU does too (core/), any decision about memory or order (cuda_device.cpp).
#include "core/entries.hpp"
#include "core/mix.hpp"
#include "core/recurrence.hpp"
#include "core/sha256.hpp"
#include "gemm.cuh"
#include "gemm_wgmma.cuh"
#include "generate.cuh"
#include "hash.cuh"
#include "scalar.cuh"

using namespace assay;
using namespace assay::cuda;

#define ASSAY_MATRIX_KERNELS(NAME)                                                                                        \
  extern "C" __global__ void __launch_bounds__(256) generate_##NAME(uint4* out, uint32_t blocks, PhiloxKey key,           \
                                                                    uint32_t matrix) {                                    \
    generate<Precision::NAME>(out, blocks, key, matrix);                                                                  \
  }                                                                                                                       \
  extern "C" __global__ void __launch_bounds__(kGemmThreads, 1)                                                           \
      gemm_##NAME(const uint8_t* a, const uint8_t* b, uint16_t* c, uint32_t m, uint32_t n, uint32_t k_bytes,              \
                  uint32_t first_tile) {                                                                                  \
    gemm<Precision::NAME>(a, b, c, m, n, k_bytes, first_tile);                                                            \
  }                                                                                                                       \
  extern "C" __global__ void __launch_bounds__(kWarpgroupThreads, 1)                                                      \
      gemm_wgmma_##NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint16_t* c, uint32_t m, \
                        uint32_t n, uint32_t k_bytes, PairRange range, Node* nodes, Sha256State leaf_midstate) {          \
    gemm_by_warpgroups<Precision::NAME>(&a, &b, c, m, n, k_bytes, range, nodes, leaf_midstate);                           \
  }

ASSAY_MATRIX_KERNELS(int8)
ASSAY_MATRIX_KERNELS(fp8)
ASSAY_MATRIX_KERNELS(fp16)
ASSAY_MATRIX_KERNELS(bf16)
ASSAY_MATRIX_KERNELS(tf32)

// Whether the loaded target is sm_90a, whose wgmma kernels have bodies. The device code alone knows.
extern "C" __global__ void has_wgmma(uint32_t* answer) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  *answer = 1;
#else
  *answer = 0;
#endif
}

// Eight blocks a multiprocessor: more would leave too few registers, and fewer warps than 32 leave gaps in the ALU's work.
extern "C" __global__ void __launch_bounds__(128, 8) hash_leaves(const uint4* leaves, uint32_t count, Sha256State midstate,
                                                              Node* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) hash_leaf<SpreadSums, false>(leaves + uint64_t{i} * 64, midstate, out + i);
}

// Leaves of the pairs of tiles (gemm_wgmma.cuh) from `first` on, one block a pair: those that the product left to be hashed after it.
extern "C" __global__ void __launch_bounds__(kTileM) hash_pairs(const uint4* product, uint32_t m, uint32_t n, uint32_t first, Node* nodes,
                                                                Sha256State midstate) {
  const Tile tile = tile_place(first + blockIdx.x, m, n, kPairN);
  const uint64_t leaf = uint64_t{tile.row + threadIdx.x} * (n / kPairN) + tile.column / kPairN;
  hash_leaf<SpreadSums, true>(product + leaf * 64, midstate, nodes + leaf);
}

// Three levels at once: a block turns 256 nodes into 128, 64 and 32. Parents of a block's nodes are its own, so no other is waited for.
extern "C" __global__ void __launch_bounds__(128) hash_levels(Node* level, uint32_t count, Sha256State midstate) {
#pragma unroll 1
  for (uint32_t span = 128; span >= 32; span /= 2) {
    Node* above = level + count;
    const uint32_t i = blockIdx.x * span + threadIdx.x;
    if (threadIdx.x < span && i < (count + 1) / 2) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
}

// From a level of `count` nodes to the root, in one block: levels this small cost less than a launch each.
extern "C" __global__ void __launch_bounds__(512) hash_top(Node* level, uint32_t count, Sha256State midstate) {
  while (count > 1) {
    Node* above = level + count;
    for (uint32_t i = threadIdx.x; i < (count + 1) / 2; i += blockDim.x) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
}

// One block an opening: its leaf (unless there is none to copy) and the siblings on its path, bottom up, into a record of
// 64 + 64 uint4. The host knows the length of every path.
extern "C" __global__ void __launch_bounds__(64) gather_openings(const uint4* leaves, const Node* tree, uint32_t count,
                                                                 const uint32_t* indices, uint4* records) {
  uint32_t index = indices[blockIdx.x];
  uint4* record = records + uint64_t{blockIdx.x} * 128;
  if (leaves != nullptr) record[threadIdx.x] = leaves[uint64_t{index} * 64 + threadIdx.x];
  if (threadIdx.x >= 2) return;
  uint4* path = record + 64;
  for (; count > 1; tree += count, count = (count + 1) / 2, index /= 2) {
    const uint32_t sibling = index ^ 1;
    if (sibling >= count) continue;
    path[threadIdx.x] = threadIdx.x == 0 ? tree[sibling].lo : tree[sibling].hi;
    path += 2;
  }
}

extern "C" __global__ void __launch_bounds__(256) mix_leaves(const __grid_constant__ SlotBatch slots, uint32_t slot_leaves,
                                                             uint32_t first_kept_leaf, MixKeys keys, uint2* digests) {
  mix_leaf_by_eight(slots, slot_leaves, first_kept_leaf, keys, digests);
}

extern "C" __global__ void __launch_bounds__(256) fma_fp32(PhiloxKey key, uint32_t first, uint32_t end, uint32_t steps,
                                                           uint32_t* out) {
  run_lanes<LaneF32>(key, first, end, steps, out);
}

extern "C" __global__ void __launch_bounds__(256) fma_fp64(PhiloxKey key, uint32_t first, uint32_t end, uint32_t steps,
                                                           uint64_t* out) {
  run_lanes<LaneF64>(key, first, end, steps, out);
}

extern "C" __global__ void __launch_bounds__(256) fma_int32(PhiloxKey key, uint32_t first, uint32_t end, uint32_t steps,
                                                            uint32_t* out) {
  run_lanes<LaneI32>(key, first, end, steps, out);
}
