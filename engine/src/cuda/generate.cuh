// Fills A or B, straight into the storage type of the precision.
// docs/hardware-proof.md §2, §3. The entries themselves are defined in core/entries.hpp.
#pragma once
#include "core/entries.hpp"

namespace assay::cuda {

// Bits of a small whole number in the storage type. All values are exact: |v| <= 181.
__device__ __forceinline__ uint32_t half_bits(int32_t v) {
  uint16_t bits;
  asm("{ cvt.rn.f16.s32 %0, %1; }" : "=h"(bits) : "r"(v));
  return bits;
}

__device__ __forceinline__ uint32_t bfloat_bits(int32_t v) {
  return __float_as_uint(static_cast<float>(v)) >> 16;  // 8 significand bits hold 181: nothing is cut off
}

// Four draws of 8 bits to four e4m3: entry_from_raw in two 16-bit halves at a time. 0x6400 | t is the half 1024 + t, from which
// 1032 is taken to give t − 8.
__device__ __forceinline__ uint32_t e4m3_entries(uint32_t draws) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair[2];
#pragma unroll
  for (uint32_t odd = 0; odd < 2; ++odd) {
    const uint32_t t = (((draws >> (8 * odd)) & 0x00FF00FFu) * 17u >> 8) & 0x00FF00FFu;
    uint32_t halves;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(t | 0x64006400u), "r"(0x64086408u));
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(pair[odd]) : "r"(halves));
  }
  return __byte_perm(pair[0], pair[1], 0x5140);  // bytes 0 and 2, then 1 and 3
#else
  __trap();  // never launched: claims leave out what the card lacks
  return draws;
#endif
}

// One 16-byte store a thread and step. tf32 takes two of them from a Philox block, which is cheaper to make twice than to share.
template <Precision P>
__device__ __forceinline__ void generate(uint4* out, uint32_t blocks, PhiloxKey key, uint32_t matrix) {
  constexpr uint32_t kStores = P == Precision::tf32 ? 2 : 1;
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks * kStores; i += stride) {
    const Philox4 block = philox4x32_10(key, i / kStores, matrix, 0, 0);
    uint32_t w[4];
    if constexpr (P == Precision::tf32) {
      const uint32_t draws[2] = {i % 2 ? block.w[2] : block.w[0], i % 2 ? block.w[3] : block.w[1]};
#pragma unroll
      for (int j = 0; j < 4; ++j)
        w[j] = __float_as_uint(static_cast<float>(entry_from_raw(P, (draws[j / 2] >> (16 * (j % 2))) & 0xFFFFu)));
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (P == Precision::int8) {
          w[j] = block.w[j];  // the bytes as they are
        } else if constexpr (P == Precision::fp8) {
          w[j] = e4m3_entries(block.w[j]);
        } else {
          const int32_t lo = entry_in_block(P, block, 2 * j), hi = entry_in_block(P, block, 2 * j + 1);
          w[j] = P == Precision::fp16 ? half_bits(lo) | half_bits(hi) << 16 : bfloat_bits(lo) | bfloat_bits(hi) << 16;
        }
      }
    }
    out[i] = make_uint4(w[0], w[1], w[2], w[3]);
  }
}

}  // namespace assay::cuda
