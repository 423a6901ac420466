// Fills A or B, straight into the storage type of the precision.
// docs/hardware-proof.md §2, §3. The entries themselves are defined in core/entries.hpp.
#include "core/entries.hpp"

namespace assay::cuda {

// From draws to entries in the storage type, as entry_from_raw of core/ has them, without conversions of
// whole numbers: they are put into the low bits of a float or half whose unit is 1 (2^23 + t, 1024 + t), and
// subtracting the rest leaves the entry. All are exact. Bytes are picked by __byte_perm: nibble i of its
// selector says which of the eight bytes (first word's 0-3, second's 4-7) becomes byte i.

// Two draws of 16 bits: (u·363) >> 16, each in the upper half of its product.
struct Drawn {
  uint32_t lo, hi;
};
__device__ __forceinline__ Drawn times_363(uint32_t draws) { return {(draws & 0xFFFFu) * 363u, (draws >> 16) * 363u}; }

__device__ __forceinline__ uint32_t half_entries(uint32_t draws) {
  const Drawn t = times_363(draws);
  uint32_t halves;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(__byte_perm(t.lo, t.hi, 0x7632) | 0x64006400u), "r"(0x64B564B5u));
  return halves;
}

__device__ __forceinline__ float entry_as_float(uint32_t product) {
  return __uint_as_float(__byte_perm(product, 0x4B000000u, 0x7432)) - (8388608.0f + 181.0f);
}

__device__ __forceinline__ uint32_t bfloat_entries(uint32_t draws) {
  const Drawn t = times_363(draws);
  // 8 significand bits hold 181: the upper halves lose nothing.
  return __byte_perm(__float_as_uint(entry_as_float(t.lo)), __float_as_uint(entry_as_float(t.hi)), 0x7632);
}

// Four draws of 8 bits to four e4m3: (u·17) >> 8 is the upper byte of each half's product; 1032 is 1024 + 8.
__device__ __forceinline__ uint32_t e4m3_entries(uint32_t draws) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair[2];
#pragma unroll
  for (uint32_t second = 0; second < 2; ++second) {
    const uint32_t products = __byte_perm(draws, 0, second ? 0x4342 : 0x4140) * 17u;
    uint32_t halves;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(__byte_perm(products, 0x64u, 0x4341)), "r"(0x64086408u));
    asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(pair[second]) : "r"(halves));
  }
  return __byte_perm(pair[0], pair[1], 0x5410);
#else
  __trap();  // never launched: claims leave out what the card lacks
  return draws;
#endif
}

// One 16-byte store a thread and step. tf32 takes two from a Philox block: cheaper made twice than shared.
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
      for (int j = 0; j < 2; ++j) {
        const Drawn t = times_363(draws[j]);
        w[2 * j] = __float_as_uint(entry_as_float(t.lo));
        w[2 * j + 1] = __float_as_uint(entry_as_float(t.hi));
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (P == Precision::int8) {
          w[j] = block.w[j];  // the bytes as they are
        } else if constexpr (P == Precision::fp8) {
          w[j] = e4m3_entries(block.w[j]);
        } else {
          w[j] = P == Precision::fp16 ? half_entries(block.w[j]) : bfloat_entries(block.w[j]);
        }
      }
    }
    out[i] = make_uint4(w[0], w[1], w[2], w[3]);
  }
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

#define ASSAY_GENERATE(NAME)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256)                                                              \
      generate_##NAME(uint4* out, uint32_t blocks, PhiloxKey key, uint32_t matrix) {                             \
    generate<Precision::NAME>(out, blocks, key, matrix);                                                         \
  }
ASSAY_GENERATE(int8)
ASSAY_GENERATE(fp8)
ASSAY_GENERATE(fp16)
ASSAY_GENERATE(bf16)
ASSAY_GENERATE(tf32)
