// Hopper's own instructions as functions: barriers in shared memory, the bulk tensor copy engine, waiting for
// wgmma. Shared by the kernels that are built for sm_90a alone (gemm_wgmma.cu, limb_wgmma.cu).
#pragma once
#include "launch_shape.hpp"
#include "tiles.cuh"

namespace assay::cuda {

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// At the same barrier of block `rank` of the cluster, this one's own included. Without a cluster-wide
// release, which would be a memory barrier a slice: consumers only read the stage they give back, and the
// tensor cores are done with it.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(
          barrier),
      "r"(rank)
      : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy_box(uint32_t to, const TensorMap* map, uint32_t k_byte, uint32_t row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(k_byte), "r"(row), "r"(barrier)
      : "memory");
}

// The same into every block of the cluster, at the same place, counted by the same barrier of each.
__device__ __forceinline__ void copy_box_to_both(uint32_t to, const TensorMap* map, uint32_t k_byte, uint32_t row,
                                                 uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to),
      "l"(map), "r"(k_byte), "r"(row), "r"(barrier), "h"(uint16_t{3})
      : "memory");
}

__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
}

// Rows of 128 bytes, K contiguous, 128-byte swizzle: groups of 8 rows are 1024 bytes apart.
__device__ __forceinline__ uint64_t operand_descriptor(uint32_t shared) {
  return static_cast<uint64_t>((shared & 0x3FFFF) >> 4) | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

// The same of a stack of matrices.
__device__ __forceinline__ void copy_box_3d(uint32_t to, const TensorMap* map, uint32_t k_byte, uint32_t row, uint32_t batch, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(k_byte), "r"(row), "r"(batch), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void copy_box_3d_to_both(uint32_t to, const TensorMap* map, uint32_t k_byte, uint32_t row, uint32_t batch,
                                                    uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3, %4}], "
      "[%5], %6;" ::"r"(to),
      "l"(map), "r"(k_byte), "r"(row), "r"(batch), "r"(barrier), "h"(uint16_t{3})
      : "memory");
}

template <int IN_FLIGHT>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(IN_FLIGHT) : "memory");
}

// After the last wait: without it the compiler may read sums before the tensor cores have written them.
template <uint32_t N>
__device__ __forceinline__ void settle(int32_t (&sums)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
template <uint32_t N>
__device__ __forceinline__ void settle(float (&sums)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

}  // namespace assay::cuda
