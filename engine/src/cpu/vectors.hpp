// The widest vectors of the instruction set this is compiled for (GCC's vector extensions), and a fused
// multiply-add that is exact on every set: without the instruction it is the C library's, lane by lane.
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

typedef uint32_t VecU32 __attribute__((vector_size(kVectorBytes)));
typedef float VecF32 __attribute__((vector_size(kVectorBytes)));
typedef double VecF64 __attribute__((vector_size(kVectorBytes)));

constexpr int kLanes32 = kVectorBytes / 4;
constexpr int kLanes64 = kVectorBytes / 8;

template <typename V>
inline V load(const void* from) {
  V v;
  memcpy(&v, from, sizeof v);
  return v;
}

inline VecF32 fused(VecF32 a, VecF32 b, VecF32 c) {
#if defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#elif defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  for (int i = 0; i < kLanes32; ++i) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return a;
#endif
}

inline VecF64 fused(VecF64 a, VecF64 b, VecF64 c) {
#if defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#elif defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  for (int i = 0; i < kLanes64; ++i) a[i] = __builtin_fma(a[i], b[i], c[i]);
  return a;
#endif
}

}  // namespace
