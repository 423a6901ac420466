// The work without matrices: `stream` digests and `fma` lanes. docs/hardware-proof.md §5, §6.
// The mix and the recurrences are core/'s; here is only how they are spread over threads.
#include "core/mix.hpp"
#include "core/recurrence.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {

// Eight threads a leaf: thread t holds lanes 4t…4t+3 of every row, so a row of 128 bytes is one 16-byte load
// each and all eight rows are in flight at once. The grid covers the leaves of the batch exactly (32 a block;
// a slot has a multiple of 128).
__device__ __forceinline__ void mix_leaf_by_eight(const SlotBatch& slots, uint32_t slot_leaves, uint32_t first_kept_leaf,
                                                  const MixKeys& keys, uint2* digests) {
  const uint32_t leaf = blockIdx.x * 32 + (threadIdx.x >> 3), part = threadIdx.x & 7;
  const uint32_t slot = blockIdx.x * 32 / slot_leaves;
  const uint4* words = reinterpret_cast<const uint4*>(slots.address[slot]) + uint64_t{leaf - slot * slot_leaves} * 64 + part;
  uint4 row[kMixRows];
#pragma unroll
  for (uint32_t j = 0; j < kMixRows; ++j) row[j] = __ldcs(words + 8 * j);
  uint32_t x[4];
#pragma unroll
  for (uint32_t e = 0; e < 4; ++e) x[e] = mix_begin(keys, first_kept_leaf + leaf, 4 * part + e);
#pragma unroll
  for (uint32_t j = 0; j < kMixRows; ++j) {
    x[0] = mix_step(x[0], row[j].x, keys.mul[j], keys.add[j]);
    x[1] = mix_step(x[1], row[j].y, keys.mul[j], keys.add[j]);
    x[2] = mix_step(x[2], row[j].z, keys.mul[j], keys.add[j]);
    x[3] = mix_step(x[3], row[j].w, keys.mul[j], keys.add[j]);
  }
  uint32_t a = 0, b = 0;
#pragma unroll
  for (uint32_t e = 0; e < 4; ++e) {
    a += mix_fold_a(x[e], 4 * part + e);
    b ^= mix_fold_b(x[e], 4 * part + e);
  }
#pragma unroll
  for (uint32_t step = 1; step < 8; step *= 2) {
    a += __shfl_xor_sync(0xFFFFFFFFu, a, step);
    b ^= __shfl_xor_sync(0xFFFFFFFFu, b, step);
  }
  if (part == 0) digests[leaf] = make_uint2(a, b);
}

// Four lanes a thread hide each other's latency; lanes of a block interleave, so that stores coalesce.
constexpr uint32_t kLanesPerThread = 4;
// A multiprocessor issues one instruction a clock and quarter, and all of them shall be steps: counting and
// jumping back every 32 steps took 2 % of fp32. More than this and the code no longer fits the cache next to
// the units.
constexpr uint32_t kUnrolledSteps = 128;

template <typename Lane, typename Bits>
__device__ __forceinline__ void run_lanes(PhiloxKey key, uint32_t first, uint32_t end, uint32_t steps, Bits* out) {
  const uint32_t base = first + blockIdx.x * blockDim.x * kLanesPerThread + threadIdx.x;
  Lane lanes[kLanesPerThread];
#pragma unroll
  for (uint32_t j = 0; j < kLanesPerThread; ++j) lanes[j] = Lane::begin(key, base + j * blockDim.x);
#pragma unroll 1
  for (uint32_t block = 0; block < steps / kBlockSteps; ++block) {
    if (block > 0) {
#pragma unroll
      for (uint32_t j = 0; j < kLanesPerThread; ++j) lanes[j].reseed(base + j * blockDim.x, block);
    }
#pragma unroll kUnrolledSteps
    for (uint32_t s = 0; s < kBlockSteps; ++s) {
#pragma unroll
      for (uint32_t j = 0; j < kLanesPerThread; ++j) lanes[j].step();
    }
  }
#pragma unroll
  for (uint32_t j = 0; j < kLanesPerThread; ++j) {
    const uint32_t lane = base + j * blockDim.x;
    if (lane < end) out[lane] = lanes[j].bits();  // the last block may run lanes that nobody asked for
  }
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

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
