// What the kernels that multiply by mma.sync share (gemm_mma.cu, limb_mma.cu): slices of 64 bytes along K in
// shared memory, how a warp reads them, and the order of copying and multiplying.
#pragma once
#include "cuda/tiles.cuh"

namespace assay::cuda {

__device__ __forceinline__ void load_matrix_x4(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

// 16-byte chunk `chunk` of row `row` in a slice of 64-byte rows. The xor spreads the 8 rows that one ldmatrix
// phase reads over all 32 banks.
__device__ __forceinline__ uint32_t slice_offset(uint32_t row, uint32_t chunk) {
  return row * kTileKBytes + ((chunk ^ ((row >> 1) & 3)) << 4);
}

// The slices of a tile, the next ones on their way by cp.async while one is multiplied.
template <uint32_t STAGES, typename Copy, typename Load, typename Multiply, typename EndSlice>
__device__ __forceinline__ void multiply_slices(uint32_t slices, Copy copy, Load load_step, Multiply multiply_step, EndSlice end_slice) {
#pragma unroll
  for (uint32_t s = 0; s < STAGES - 1; ++s) {
    if (s < slices) copy(s);
    asm volatile("cp.async.commit_group;");
  }
  asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
  __syncthreads();
  load_step(0, 0, 0);
#pragma unroll 1
  for (uint32_t slice = 0; slice < slices; ++slice) {
    load_step(1, slice % STAGES, 1);
    if (slice + STAGES - 1 < slices) copy(slice + STAGES - 1);
    asm volatile("cp.async.commit_group;");
    multiply_step(0);
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads();  // the next slice has landed for all, and all have read the last of this one
    load_step(0, (slice + 1) % STAGES, 0);  // after the last slice: old bytes, which nobody uses
    multiply_step(1);
    end_slice(slice);
  }
  asm volatile("cp.async.wait_all;");
}

// The same without cp.async: the next slice waits in registers.
template <typename Read, typename Write, typename Load, typename Multiply>
__device__ __forceinline__ void multiply_slices_in_step(uint32_t slices, Read read, Write write, Load load_step, Multiply multiply_step) {
  read(0);
  write(0);
  __syncthreads();
#pragma unroll 1
  for (uint32_t slice = 0; slice < slices; ++slice) {
    const bool more = slice + 1 < slices;
    if (more) read(slice + 1);
    load_step(0, slice & 1, 0);
    load_step(1, slice & 1, 1);
    multiply_step(0);
    multiply_step(1);
    if (more) write((slice + 1) & 1);
    __syncthreads();
  }
}

}  // namespace assay::cuda
