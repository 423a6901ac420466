// Exact products of few rows, as one token of each sequence gives them: C[b,i,j] = Σ A[b,i,k]·B[b,j,k] with
// few i, docs/work.md §2. Reading B is all that takes time, so it is read once, as it lies: no planes are
// made. A warp takes 16 rows of B, by mma.sync, and splits elements into bytes in its registers; what the
// bytes of a row stand for along K is free as long as A and B agree. For compute capability 8.0 on.
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {

// 16 neighbours along K, as they lie in memory.
template <int BYTES>
struct Sixteen {
  uint4 words[BYTES];
};

template <int BYTES, bool ONCE>
__device__ __forceinline__ Sixteen<BYTES> sixteen_at(const uint8_t* from, bool is_there) {
  Sixteen<BYTES> all;
#pragma unroll
  for (int i = 0; i < BYTES; ++i) {
    all.words[i] = {0, 0, 0, 0};
    if (!is_there) continue;
    const uint4* at = reinterpret_cast<const uint4*>(from) + i;
    if constexpr (ONCE) asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(all.words[i].x), "=r"(all.words[i].y), "=r"(all.words[i].z), "=r"(all.words[i].w) : "l"(at));
    else all.words[i] = *at;
  }
  return all;
}

// Byte `plane` of elements 4q … 4q + 3.
template <int BYTES>
__device__ __forceinline__ uint32_t four_bytes(const Sixteen<BYTES>& x, int plane, int q) {
  const uint32_t* words = reinterpret_cast<const uint32_t*>(x.words);
  if constexpr (BYTES == 1) return words[q];
  else return __byte_perm(words[2 * q], words[2 * q + 1], plane == 0 ? 0x6420 : 0x7531);
}

#define THIN_MMA(TYPES)                                                                                             \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." TYPES ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                     \
               : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a[0]), "r"(a[1]))
template <bool B_SIGNED, bool A_SIGNED>
__device__ __forceinline__ void multiply_thin(int32_t (&d)[4], const uint32_t (&b)[4], const uint32_t (&a)[2]) {
  if constexpr (B_SIGNED && A_SIGNED) THIN_MMA("s8.s8");
  else if constexpr (B_SIGNED) THIN_MMA("s8.u8");
  else if constexpr (A_SIGNED) THIN_MMA("u8.s8");
  else THIN_MMA("u8.u8");
}

// PB: bytes of an element of B; those of A have two. T: tiles of 8 rows of A.
template <int PB, int T>
struct ThinTile {
  // Sums of bytes by weight: 2^16 and 2^8, 1 (PB = 2), or 2^8 and 1.
  int32_t high[T][4], middle[PB == 2 ? T : 1][4], low[T][4];

  __device__ __forceinline__ void add(const Sixteen<PB> (&b)[2], const Sixteen<2> (&a)[T]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t rows[PB][4];
#pragma unroll
      for (int p = 0; p < PB; ++p)
#pragma unroll
        for (int i = 0; i < 4; ++i) rows[p][i] = four_bytes(b[i & 1], p, 2 * half + (i >> 1));
#pragma unroll
      for (int t = 0; t < T; ++t) {
        const uint32_t upper[2] = {four_bytes(a[t], 1, 2 * half), four_bytes(a[t], 1, 2 * half + 1)};
        const uint32_t lower[2] = {four_bytes(a[t], 0, 2 * half), four_bytes(a[t], 0, 2 * half + 1)};
        if constexpr (PB == 2) {
          multiply_thin<true, true>(high[t], rows[1], upper);
          multiply_thin<true, false>(middle[t], rows[1], lower);
          multiply_thin<false, true>(middle[t], rows[0], upper);
          multiply_thin<false, false>(low[t], rows[0], lower);
        } else {
          multiply_thin<true, true>(high[t], rows[0], upper);
          multiply_thin<true, false>(low[t], rows[0], lower);
        }
      }
    }
  }
  __device__ __forceinline__ int64_t value(int t, int i) const {
    if constexpr (PB == 2) return (static_cast<int64_t>(high[t][i]) << 16) + (static_cast<int64_t>(middle[t][i]) << 8) + low[t][i];
    else return (static_cast<int64_t>(high[t][i]) << 8) + low[t][i];
  }
};

// Warps of a block share K by 64 places in turn, `depth` of them, and rows of B by 16.
template <int PB, int T>
__device__ __forceinline__ void thin_product(const int16_t* a, const uint8_t* b, void* out, const ThinProduct& what) {
  constexpr uint32_t kColumns = 8 * T, kPitch = 17;
  __shared__ int64_t held[kThinWarps][kColumns * kPitch];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t4 = lane % 4;
  const uint32_t part = warp % what.depth, row0 = (blockIdx.x * (kThinWarps / what.depth) + warp / what.depth) * 16;
  const uint32_t chunks = (what.m + kColumns - 1) / kColumns, batch = blockIdx.y / chunks, first = blockIdx.y % chunks * kColumns;
  const uint8_t* rows[2];
  const int16_t* columns[T];
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) rows[i] = b + (uint64_t{batch / what.b_share} * what.n + min(row0 + g + 8 * i, what.n - 1)) * what.k * PB;
#pragma unroll
  for (uint32_t t = 0; t < T; ++t) columns[t] = a + (uint64_t{batch / what.a_share} * what.m + min(first + 8 * t + g, what.m - 1)) * what.k;
  ThinTile<PB, T> tile{};
#pragma unroll 2
  for (uint32_t k = 64 * part; k < what.k; k += 64 * what.depth) {
    const uint32_t at = k + 16 * t4;
    const bool is_there = at < what.k;
    Sixteen<PB> left[2];
    Sixteen<2> right[T];
#pragma unroll
    for (int i = 0; i < 2; ++i) left[i] = sixteen_at<PB, true>(rows[i] + at * PB, is_there);
#pragma unroll
    for (int t = 0; t < T; ++t) right[t] = sixteen_at<2, false>(reinterpret_cast<const uint8_t*>(columns[t] + at), is_there);
    tile.add(left, right);
  }
#pragma unroll
  for (int t = 0; t < T; ++t)
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) held[warp][(8 * t + 2 * t4 + (i & 1)) * kPitch + g + 8 * (i >> 1)] = tile.value(t, i);
  __syncthreads();
  // Neighbours along a row of C leave together.
  const uint32_t width = kThinWarps / what.depth * 16, left0 = blockIdx.x * width;
  for (uint32_t i = threadIdx.x; i < width * kColumns; i += blockDim.x) {
    const uint32_t row = first + i / width, in = i % width, column = left0 + in;
    if (row >= what.m || column >= what.n) continue;
    int64_t sum = 0;
    for (uint32_t w = 0; w < what.depth; ++w) sum += held[in / 16 * what.depth + w][i / width * kPitch + in % 16];
    const uint64_t to = (uint64_t{batch} * what.m + row) * what.n + column;
    if (what.is_wide) static_cast<int64_t*>(out)[to] = sum;
    else static_cast<int32_t*>(out)[to] = static_cast<int32_t>(sum);
  }
}

}  // namespace assay::cuda

using namespace assay::cuda;

// Below 8.0 nobody launches it: there is no such instruction.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define THIN_BODY(PB, T) thin_product<PB, T>(a, b, out, what);
#else
#define THIN_BODY(PB, T)
#endif
#define ASSAY_THIN(PB, T)                                                                                           \
  extern "C" __global__ void __launch_bounds__(32 * kThinWarps)                                                     \
      thin_##PB##_##T(const int16_t* a, const uint8_t* b, void* out, const __grid_constant__ ThinProduct what) {    \
    THIN_BODY(PB, T)                                                                                                \
  }
ASSAY_THIN(1, 1)
ASSAY_THIN(1, 2)
ASSAY_THIN(1, 4)
ASSAY_THIN(2, 1)
ASSAY_THIN(2, 2)
ASSAY_THIN(2, 4)
