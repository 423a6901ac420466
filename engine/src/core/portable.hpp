// What lets one definition of the maths serve host and device code: the annotation, and 32-bit helpers.
// Not here: anything that allocates, throws or knows about threads.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
#define ASSAY_HD __host__ __device__ __forceinline__
#define ASSAY_HD_RARE __host__ __device__ __noinline__
#else
#define ASSAY_HD inline
#define ASSAY_HD_RARE inline  // large, and not where time goes
#endif

// What nearly all of the time goes into where nothing is optimised, as in the build that is checked: it is
// optimised even there.
#if defined(__OPTIMIZE__) || defined(__CUDACC__) || defined(__clang__)
#define ASSAY_OFTEN
#else
#define ASSAY_OFTEN __attribute__((optimize("O2")))
#endif

// The CPU's inner loops (cpu/kernels.cpp) are compiled once for each instruction set, with core/ in a
// namespace of its own: else the linker would keep one copy of an inline function, of any set, for all.
#if !defined(ASSAY_CORE)
#define ASSAY_CORE common
#endif

namespace assay::inline ASSAY_CORE {

ASSAY_HD uint32_t rotl32(uint32_t x, uint32_t r) {
  return r == 0 ? x : (x << r) | (x >> (32u - r));
}

ASSAY_HD uint32_t load_le32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}

// The murmur3 finaliser: a bijection of 32 bits in which every input bit moves every output bit.
ASSAY_HD uint32_t fmix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  h ^= h >> 16;
  return h;
}

}  // namespace assay::ASSAY_CORE
