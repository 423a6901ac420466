// C = A·Bᵀ modulo 2^16 on the tensor cores, through mma.sync. docs/hardware-proof.md §4. Counted in bytes
// along K, the fragments of m16n8k32 (int8, e4m3), m16n8k16 (fp16, bf16) and m16n8k8 (tf32) are laid out
// alike, so one kernel body serves all precisions and only `multiply_add` differs. sm_75 composes the same
// shape from its smaller instructions and loads without cp.async.
// Every sum is exact (§3), so neither the order of summation nor the tile shape changes a bit of the result.
#include "work/mma.cuh"

namespace assay::cuda {

// d += a (16 rows × 32 bytes) · b (8 columns × 32 bytes)
template <Precision P, typename Acc>
__device__ __forceinline__ void multiply_add(Acc (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
#define ASSAY_MMA(SHAPE_AND_TYPES, CONSTRAINT)                                                          \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
  if constexpr (P == Precision::int8) {
    ASSAY_MMA("m16n8k32.row.col.s32.s8.s8.s32", "+r");
  } else if constexpr (P == Precision::fp16) {
    ASSAY_MMA("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  } else if constexpr (P == Precision::bf16) {
    ASSAY_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
  } else if constexpr (P == Precision::tf32) {
    ASSAY_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "+f");
#if __CUDA_ARCH__ >= 890
  } else if constexpr (P == Precision::fp8) {
    ASSAY_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
#endif
  } else {
    __trap();  // never launched: claims leave out what the card lacks
  }
#undef ASSAY_MMA
#else
  if constexpr (P == Precision::int8) {
#define ASSAY_MMA_75(D0, D1, A, B)                                                              \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"   \
               : "+r"(D0), "+r"(D1)                                                             \
               : "r"(A), "r"(B))
    ASSAY_MMA_75(d[0], d[1], a[0], b0);
    ASSAY_MMA_75(d[2], d[3], a[1], b0);
    ASSAY_MMA_75(d[0], d[1], a[2], b1);
    ASSAY_MMA_75(d[2], d[3], a[3], b1);
#undef ASSAY_MMA_75
  } else if constexpr (P == Precision::fp16) {
#define ASSAY_MMA_75(A0, A1, B)                                                                                         \
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"          \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                         \
               : "r"(A0), "r"(A1), "r"(B))
    ASSAY_MMA_75(a[0], a[1], b0);
    ASSAY_MMA_75(a[2], a[3], b1);
#undef ASSAY_MMA_75
  } else {
    __trap();
  }
#endif
}

__device__ __forceinline__ uint32_t low_16(int32_t sum) { return static_cast<uint32_t>(sum) & 0xFFFFu; }
__device__ __forceinline__ uint32_t low_16(float sum) {  // a whole number below 2^24 in size
  return static_cast<uint32_t>(__float2int_rn(sum)) & 0xFFFFu;
}

template <uint32_t ROWS>
__device__ __forceinline__ void copy_slice_async(uint32_t shared, const uint8_t* global, uint64_t row_bytes) {
#pragma unroll
  for (uint32_t i = 0; i < ROWS * 4 / kGemmThreads; ++i) {
    const uint32_t c = threadIdx.x + i * kGemmThreads, row = c >> 2, chunk = c & 3;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + slice_offset(row, chunk)),
                 "l"(global + row * row_bytes + chunk * 16));
  }
}

template <uint32_t ROWS>
__device__ __forceinline__ void read_slice(uint4 (&held)[ROWS * 4 / kGemmThreads], const uint8_t* global, uint64_t row_bytes) {
#pragma unroll
  for (uint32_t i = 0; i < ROWS * 4 / kGemmThreads; ++i) {
    const uint32_t c = threadIdx.x + i * kGemmThreads;
    held[i] = *reinterpret_cast<const uint4*>(global + (c >> 2) * row_bytes + (c & 3) * 16);
  }
}

template <uint32_t ROWS>
__device__ __forceinline__ void write_slice(uint8_t* shared, const uint4 (&held)[ROWS * 4 / kGemmThreads]) {
#pragma unroll
  for (uint32_t i = 0; i < ROWS * 4 / kGemmThreads; ++i) {
    const uint32_t c = threadIdx.x + i * kGemmThreads;
    *reinterpret_cast<uint4*>(shared + slice_offset(c >> 2, c & 3)) = held[i];
  }
}

template <uint32_t TILES_M, uint32_t TILES_N>
__device__ __forceinline__ void promote(float (&kept)[TILES_M][TILES_N][4], float (&sums)[TILES_M][TILES_N][4]) {
#pragma unroll
  for (uint32_t i = 0; i < TILES_M; ++i)
#pragma unroll
    for (uint32_t j = 0; j < TILES_N; ++j)
#pragma unroll
      for (uint32_t e = 0; e < 4; ++e) {
        kept[i][j][e] += sums[i][j][e];
        sums[i][j][e] = 0;
      }
}

// A warp's sums, through shared memory, so that whole rows of the tile leave in 16-byte stores.
template <TileShape SHAPE, typename Sum, uint32_t TILES_M, uint32_t TILES_N>
__device__ __forceinline__ void store_tile(const Sum (&sums)[TILES_M][TILES_N][4], uint8_t* shared, uint32_t lane,
                                           Tile warp, Tile tile, uint16_t* c, uint32_t n) {
  constexpr uint32_t kRowBytes = SHAPE.epilogue_row_bytes();
#pragma unroll
  for (uint32_t i = 0; i < TILES_M; ++i)
#pragma unroll
    for (uint32_t j = 0; j < TILES_N; ++j) {
      const Sum(&s)[4] = sums[i][j];
      const uint32_t row = warp.row + 16 * i + (lane >> 2), column = warp.column + 8 * j + 2 * (lane & 3);
      *reinterpret_cast<uint32_t*>(shared + row * kRowBytes + 2 * column) = low_16(s[0]) | low_16(s[1]) << 16;
      *reinterpret_cast<uint32_t*>(shared + (row + 8) * kRowBytes + 2 * column) = low_16(s[2]) | low_16(s[3]) << 16;
    }
  __syncthreads();
  constexpr uint32_t kChunks = SHAPE.n / 8;  // of 16 bytes in a row
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < kTileM * kChunks; i += kGemmThreads) {
    const uint32_t row = i / kChunks, chunk = i % kChunks;
    *reinterpret_cast<uint4*>(c + uint64_t{tile.row + row} * n + tile.column + 8 * chunk) =
        *reinterpret_cast<const uint4*>(shared + row * kRowBytes + 16 * chunk);
  }
}

// 8 warps, 2 along M × 4 along N: a warp makes 64 × (TILE_N / 4) of the tile.
template <Precision P>
__device__ __forceinline__ void gemm(const uint8_t* __restrict__ a, const uint8_t* __restrict__ b, uint16_t* __restrict__ c,
                                     uint32_t m, uint32_t n, uint32_t k_bytes, uint32_t first_tile) {
  using Acc = typename Accumulator<P>::type;
  constexpr TileShape kShape = tile_shape(P, __CUDA_ARCH__ / 10);
  constexpr uint32_t kN = kShape.n;
  constexpr uint32_t kStageBytes = (kTileM + kN) * kTileKBytes;
  constexpr uint32_t kWarpN = kN / 4, kTilesM = 4, kTilesN = kWarpN / 8;
  extern __shared__ __align__(1024) uint8_t shared[];

  const uint32_t lane = threadIdx.x & 31, number = threadIdx.x >> 5;
  const Tile warp = {(number & 1) * 64, (number >> 1) * kWarpN};
  const Tile tile = tile_place(first_tile + blockIdx.x, m, n, kN);
  const uint8_t* a_rows = a + uint64_t{tile.row} * k_bytes;
  const uint8_t* b_rows = b + uint64_t{tile.column} * k_bytes;
  const uint32_t slices = k_bytes / kTileKBytes;

  Acc sums[kTilesM][kTilesN][4] = {};
  // Only fp8 has a second set: sums that the tensor core no longer touches.
  constexpr bool kPromote = P == Precision::fp8;
  float kept[kPromote ? kTilesM : 1][kPromote ? kTilesN : 1][4] = {};

  // Where this lane points ldmatrix. Tile rows are multiples of 16, so the swizzle depends on the lane alone.
  const uint32_t base = shared_address(shared);
  const uint32_t a_row = warp.row + (lane & 15), a_chunk = lane >> 4;
  const uint32_t b_row = warp.column + (lane & 7) + ((lane >> 4) << 3), b_chunk = (lane >> 3) & 1;

  constexpr uint32_t kSteps = kTileKBytes / 32;
  static_assert(kSteps == 2);
  uint32_t fa[2][kTilesM][4], fb[2][kTilesN / 2][4];  // two sets: one is multiplied while the other is loaded
  auto load_step = [&](uint32_t set, uint32_t stage, uint32_t step) {
    const uint32_t a_base = base + stage * kStageBytes, b_base = a_base + kTileM * kTileKBytes;
#pragma unroll
    for (uint32_t i = 0; i < kTilesM; ++i)
      load_matrix_x4(fa[set][i], a_base + slice_offset(a_row + 16 * i, 2 * step + a_chunk));
#pragma unroll
    for (uint32_t j = 0; j < kTilesN / 2; ++j)
      load_matrix_x4(fb[set][j], b_base + slice_offset(b_row + 16 * j, 2 * step + b_chunk));
  };
  auto multiply_step = [&](uint32_t set) {
#pragma unroll
    for (uint32_t i = 0; i < kTilesM; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kTilesN; ++j)
        multiply_add<P>(sums[i][j], fa[set][i], fb[set][j / 2][2 * (j & 1)], fb[set][j / 2][2 * (j & 1) + 1]);
  };

#if __CUDA_ARCH__ >= 800
  const auto copy = [&](uint32_t slice) {
    const uint32_t to = base + (slice % kShape.stages) * kStageBytes;
    copy_slice_async<kTileM>(to, a_rows + uint64_t{slice} * kTileKBytes, k_bytes);
    copy_slice_async<kN>(to + kTileM * kTileKBytes, b_rows + uint64_t{slice} * kTileKBytes, k_bytes);
  };
  const auto end_slice = [&](uint32_t slice) {
    if constexpr (kPromote) {
      if ((slice + 1) % (kFp8PromoteBytes / kTileKBytes) == 0 || slice + 1 == slices) promote(kept, sums);
    }
  };
  multiply_slices<kShape.stages>(slices, copy, load_step, multiply_step, end_slice);
#else
  uint4 next_a[kTileM * 4 / kGemmThreads], next_b[kN * 4 / kGemmThreads];
  const auto read = [&](uint32_t slice) {
    read_slice<kTileM>(next_a, a_rows + uint64_t{slice} * kTileKBytes, k_bytes);
    read_slice<kN>(next_b, b_rows + uint64_t{slice} * kTileKBytes, k_bytes);
  };
  const auto write = [&](uint32_t stage) {
    write_slice<kTileM>(shared + stage * kStageBytes, next_a);
    write_slice<kN>(shared + stage * kStageBytes + kTileM * kTileKBytes, next_b);
  };
  multiply_slices_in_step(slices, read, write, load_step, multiply_step);
#endif
  __syncthreads();
  if constexpr (kPromote) store_tile<kShape>(kept, shared, lane, warp, tile, c, n);
  else store_tile<kShape>(sums, shared, lane, warp, tile, c, n);
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

#define ASSAY_GEMM(NAME)                                                                                       \
  extern "C" __global__ void __launch_bounds__(kGemmThreads, 1)                                                \
      gemm_##NAME(const uint8_t* a, const uint8_t* b, uint16_t* c, uint32_t m, uint32_t n, uint32_t k_bytes,   \
                  uint32_t first_tile) {                                                                       \
    gemm<Precision::NAME>(a, b, c, m, n, k_bytes, first_tile);                                                 \
  }
ASSAY_GEMM(int8)
ASSAY_GEMM(fp8)
ASSAY_GEMM(fp16)
ASSAY_GEMM(bf16)
ASSAY_GEMM(tf32)
