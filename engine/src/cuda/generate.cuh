// Fills A or B: one Philox block a thread and step, straight into the storage type of the precision.
// docs/hardware-proof.md §2, §3. The entries themselves are defined in core/entries.hpp.
#pragma once
#include "core/entries.hpp"

namespace assay::cuda {

// Bits of a small whole number in the storage type. All values are exact: |v| <= 181 (8 for e4m3).
__device__ __forceinline__ uint32_t half_bits(int32_t v) {
  uint16_t bits;
  asm("{ cvt.rn.f16.s32 %0, %1; }" : "=h"(bits) : "r"(v));
  return bits;
}

__device__ __forceinline__ uint32_t bfloat_bits(int32_t v) {
  return __float_as_uint(static_cast<float>(v)) >> 16;  // 8 significand bits hold 181: nothing is cut off
}

__device__ __forceinline__ uint32_t e4m3_bits(int32_t v) {
  const uint32_t magnitude = static_cast<uint32_t>(v < 0 ? -v : v);
  // 0…7 as e4m3, one byte each; 8 is 0x50.
  const uint32_t code = magnitude == 8 ? 0x50u : __byte_perm(0x44403800u, 0x4E4C4A48u, magnitude) & 0xFFu;
  return v < 0 ? code | 0x80u : code;
}

template <Precision P>
__device__ __forceinline__ void generate(uint4* out, uint32_t blocks, PhiloxKey key, uint32_t matrix) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += stride) {
    const Philox4 block = philox4x32_10(key, i, matrix, 0, 0);
    uint32_t w[8];
    if constexpr (P == Precision::int8) {  // the bytes as they are
      for (int j = 0; j < 4; ++j) w[j] = block.w[j];
    } else if constexpr (P == Precision::fp8) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        w[j] = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b) w[j] |= e4m3_bits(entry_in_block(P, block, 4 * j + b)) << (8 * b);
      }
    } else if constexpr (P == Precision::tf32) {
#pragma unroll
      for (int j = 0; j < 8; ++j) w[j] = __float_as_uint(static_cast<float>(entry_in_block(P, block, j)));
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int32_t lo = entry_in_block(P, block, 2 * j), hi = entry_in_block(P, block, 2 * j + 1);
        w[j] = P == Precision::fp16 ? half_bits(lo) | half_bits(hi) << 16 : bfloat_bits(lo) | bfloat_bits(hi) << 16;
      }
    }
    if constexpr (P == Precision::tf32) {
      out[2 * uint64_t{i}] = make_uint4(w[0], w[1], w[2], w[3]);
      out[2 * uint64_t{i} + 1] = make_uint4(w[4], w[5], w[6], w[7]);
    } else {
      out[i] = make_uint4(w[0], w[1], w[2], w[3]);
    }
  }
}

}  // namespace assay::cuda
