// The products of limb_wgmma.cu by mma.sync, for cards without wgmma: Turing, Ampere, Ada, Blackwell. The
// same planes of bytes, groups and weights (limb_shape.hpp), so the same bits. sm_75 composes m16n8k32 from
// its smaller instruction and copies without cp.async.
//
// A block of 8 warps makes a tile; slices of 64 of K come into a ring of stages while one is multiplied. Rows
// and columns beyond the matrix and bytes beyond K are zeros in shared memory; what lies outside is not
// written.
#include "cuda/work/limb_shape.hpp"
#include "cuda/work/mma.cuh"

namespace assay::cuda {

#if __CUDA_ARCH__ >= 800
#define LIMB_MMA(TYPES)                                                                                                      \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." TYPES ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"   \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                              \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#else
#define LIMB_MMA_8(TYPES, D0, D1, A, B)                                                              \
  asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." TYPES ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};"    \
               : "+r"(D0), "+r"(D1)                                                                  \
               : "r"(A), "r"(B))
#define LIMB_MMA(TYPES)                      \
  LIMB_MMA_8(TYPES, d[0], d[1], a[0], b0);   \
  LIMB_MMA_8(TYPES, d[2], d[3], a[1], b0);   \
  LIMB_MMA_8(TYPES, d[0], d[1], a[2], b1);   \
  LIMB_MMA_8(TYPES, d[2], d[3], a[3], b1)
#endif

// d += a (16 rows × 32 bytes) · b (8 columns × 32 bytes)
template <bool A_SIGNED, bool B_SIGNED>
__device__ __forceinline__ void multiply_bytes(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (A_SIGNED && B_SIGNED) {
    LIMB_MMA("s8.s8");
  } else if constexpr (A_SIGNED) {
    LIMB_MMA("s8.u8");
  } else if constexpr (B_SIGNED) {
    LIMB_MMA("u8.s8");
  } else {
    LIMB_MMA("u8.u8");
  }
}

// Where a block's tile lies in the output.
struct LimbPlace {
  uint32_t batch, row, column;
};

// 16 bytes of which `bytes` are there; the rest are zeros.
__device__ __forceinline__ uint4 read_chunk(const uint8_t* from, uint32_t bytes) {
  if (bytes == 0) return {};
  uint4 held = *reinterpret_cast<const uint4*>(from);
  uint32_t* words = &held.x;
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) {
    const uint32_t kept = bytes > 4 * w ? bytes - 4 * w : 0;
    if (kept < 4) words[w] &= (1u << (8 * kept)) - 1;
  }
  return held;
}

// PA, PB: planes of the group; SA, SB: whether its top plane is signed.
template <int PA, int PB, bool SA, bool SB>
struct LimbTile {
  static constexpr LimbMmaShape kShape = limb_mma_shape(PA, PB, __CUDA_ARCH__ / 10);
  static constexpr uint32_t kN = kShape.n(), kTilesM = kLimbTileM / 16 / kShape.warps_m, kTilesN = kShape.tiles_n;
  static constexpr uint32_t kARows = PA * kLimbTileM, kRows = kARows + PB * kN;  // of a stage
  static constexpr uint32_t kStageBytes = kRows * kTileKBytes, kChunkRows = kGemmThreads / 4, kChunks = kRows / kChunkRows;
  static_assert(kN % kChunkRows == 0 && kTilesN % 2 == 0);
  template <bool IS_USED>
  using Sums = int32_t[IS_USED ? kTilesM : 1][IS_USED ? kTilesN : 1][4];

  const LimbPlanes& planes;
  const LimbProduct& what;
  LimbPlace at;
  uint32_t k_first, k_end, lane, warp_row, warp_column;
  Sums<true> high;
  Sums<(PA + PB > 2)> middle;
  Sums<(PA + PB > 3)> low;
  // Two sets: one is multiplied while the other is loaded.
  uint32_t a[2][PA][kTilesM][4], b[2][PB][kTilesN / 2][4];

  // What the thread copies of every slice: 16 bytes of each 64th row, from this one on.
  const uint8_t* from[PA + PB];
  uint32_t is_there;  // a bit for each of them: its row is one of the matrix

  __device__ __forceinline__ void find_chunks() {
    const uint32_t r = threadIdx.x >> 2;
    is_there = 0;
#pragma unroll
    for (uint32_t p = 0; p < PA + PB; ++p) {
      const bool in_a = p < PA;
      const uint32_t first = (in_a ? at.row : at.column) + r, all = in_a ? what.m : what.n, matrix = at.batch / (in_a ? what.a_share : what.b_share);
      from[p] = (in_a ? planes.a[p % 2] : planes.b[(p - PA) % 2]) + (uint64_t{matrix} * all + first) * planes.pitch + k_first + 16 * (threadIdx.x & 3);
#pragma unroll
      for (uint32_t i = 0; i < (in_a ? kLimbTileM : kN) / kChunkRows; ++i)
        if (first + i * kChunkRows < all) is_there |= 1u << (chunk_of(p) + i);
    }
  }
  static __device__ constexpr uint32_t chunk_of(uint32_t p) { return (p < PA ? p * kLimbTileM : kARows + (p - PA) * kN) / kChunkRows; }
  // `use(number, from, bytes, to)` for each of the thread's chunks of a slice.
  template <typename Use>
  __device__ __forceinline__ void each_chunk(uint32_t slice, Use use) const {
    const uint32_t k = k_first + slice * kTileKBytes + 16 * (threadIdx.x & 3), left = k < k_end ? min(k_end - k, 16u) : 0;
    const uint32_t to = slice_offset(threadIdx.x >> 2, threadIdx.x & 3);
#pragma unroll
    for (uint32_t p = 0; p < PA + PB; ++p)
#pragma unroll
      for (uint32_t i = 0; i < (p < PA ? kLimbTileM : kN) / kChunkRows; ++i) {
        const uint32_t number = chunk_of(p) + i;
        use(number, from[p] + uint64_t{i * kChunkRows} * planes.pitch + slice * kTileKBytes, is_there >> number & 1 ? left : 0,
            to + number * kChunkRows * kTileKBytes);
      }
  }

  __device__ __forceinline__ void load_step(uint32_t set, uint32_t stage, uint32_t step) {
    // Tile rows are multiples of 16, so the swizzle depends on the lane alone.
    const uint32_t from_a = stage + slice_offset(warp_row + (lane & 15), 2 * step + (lane >> 4));
    const uint32_t from_b = stage + kARows * kTileKBytes + slice_offset(warp_column + (lane & 7) + ((lane >> 4) << 3), 2 * step + ((lane >> 3) & 1));
#pragma unroll
    for (uint32_t p = 0; p < PA; ++p)
#pragma unroll
      for (uint32_t i = 0; i < kTilesM; ++i)
        load_matrix_x4(a[set][p][i], from_a + (p * kLimbTileM + 16 * i) * kTileKBytes);
#pragma unroll
    for (uint32_t p = 0; p < PB; ++p)
#pragma unroll
      for (uint32_t j = 0; j < kTilesN / 2; ++j)
        load_matrix_x4(b[set][p][j], from_b + (p * kN + 16 * j) * kTileKBytes);
  }

  __device__ __forceinline__ void multiply_step(uint32_t set) {
#pragma unroll
    for (uint32_t i = 0; i < kTilesM; ++i)
#pragma unroll
      for (uint32_t j = 0; j < kTilesN; ++j) {
        const uint32_t h = 2 * (j & 1);
        multiply_bytes<SA, SB>(high[i][j], a[set][0][i], b[set][0][j / 2][h], b[set][0][j / 2][h + 1]);
        if constexpr (PB > 1) multiply_bytes<SA, false>(middle[i][j], a[set][0][i], b[set][1][j / 2][h], b[set][1][j / 2][h + 1]);
        if constexpr (PA > 1) multiply_bytes<false, SB>(middle[i][j], a[set][1][i], b[set][0][j / 2][h], b[set][0][j / 2][h + 1]);
        if constexpr (PA > 1 && PB > 1)
          multiply_bytes<false, false>(low[i][j], a[set][1][i], b[set][1][j / 2][h], b[set][1][j / 2][h + 1]);
      }
  }

  __device__ __forceinline__ void multiply(uint8_t* shared) {
    const uint32_t base = shared_address(shared), slices = (k_end - k_first + kTileKBytes - 1) / kTileKBytes;
    const auto load = [&](uint32_t set, uint32_t stage, uint32_t step) { load_step(set, base + stage * kStageBytes, step); };
    const auto multiply = [&](uint32_t set) { multiply_step(set); };
#if __CUDA_ARCH__ >= 800
    const auto copy = [&](uint32_t slice) {
      const uint32_t stage = base + slice % kShape.stages * kStageBytes;
      each_chunk(slice, [&](uint32_t, const uint8_t* at, uint32_t bytes, uint32_t to) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(stage + to), "l"(at), "r"(bytes));
      });
    };
    multiply_slices<kShape.stages>(slices, copy, load, multiply, [](uint32_t) {});
#else
    uint4 next[kChunks];
    const auto read = [&](uint32_t slice) {
      each_chunk(slice, [&](uint32_t i, const uint8_t* at, uint32_t bytes, uint32_t) { next[i] = read_chunk(at, bytes); });
    };
    const auto write = [&](uint32_t stage) {
      each_chunk(0, [&](uint32_t i, const uint8_t*, uint32_t, uint32_t to) { *reinterpret_cast<uint4*>(shared + stage * kStageBytes + to) = next[i]; });
    };
    multiply_slices_in_step(slices, read, write, load, multiply);
#endif
  }

  // Made wide here, not all sums at once before the first is stored: there are no registers for that.
  static __device__ __forceinline__ int64_t widened(int32_t sum) {
    asm volatile("" : "+r"(sum));
    return sum;
  }
  __device__ __forceinline__ int64_t value(uint32_t i, uint32_t j, uint32_t e) const {
    int64_t sum = widened(high[i][j][e]);
    if constexpr (PA + PB == 3) sum = (sum << 8) + widened(middle[i][j][e]);
    if constexpr (PA + PB == 4) sum = (sum << 16) + (widened(middle[i][j][e]) << 8) + widened(low[i][j][e]);
    return sum << what.shift;
  }

  // 16 rows at a time through the warp's own shared memory, so that long stretches of rows leave together.
  template <typename T, typename Atomic>
  __device__ __forceinline__ void store_rows(const int64_t* held, uint32_t row0, T* out) const {
    constexpr uint32_t kColumns = 8 * kTilesN;
    const uint32_t column0 = at.column + warp_column, is_shared = limb_parts(what) > 1;
#pragma unroll 4
    for (uint32_t i = lane; i < 16 * kColumns; i += 32) {
      const uint32_t row = row0 + i / kColumns, column = column0 + i % kColumns;
      if (row >= what.m || column >= what.n) continue;
      T* place = out + (uint64_t{at.batch} * what.m + row) * what.n + column;
      const T sum = static_cast<T>(held[i]);
      if (is_shared) atomicAdd(reinterpret_cast<Atomic*>(place), static_cast<Atomic>(sum));
      else *place = what.adds ? *place + sum : sum;
    }
  }
  __device__ __forceinline__ void store(uint8_t* shared, void* out) const {
    int64_t* held = reinterpret_cast<int64_t*>(shared) + threadIdx.x / 32 * 16 * 8 * kTilesN;
    __syncthreads();  // all are done with the stages
#pragma unroll
    for (uint32_t i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (uint32_t j = 0; j < kTilesN; ++j)
#pragma unroll
        for (uint32_t e = 0; e < 4; e += 2)
          *reinterpret_cast<longlong2*>(held + ((lane >> 2) + 4 * e) * 8 * kTilesN + 8 * j + 2 * (lane & 3)) = {value(i, j, e), value(i, j, e + 1)};
      __syncwarp();
      const uint32_t row0 = at.row + warp_row + 16 * i;
      if (what.is_wide) store_rows<int64_t, unsigned long long>(held, row0, static_cast<int64_t*>(out));
      else store_rows<int32_t, unsigned int>(held, row0, static_cast<int32_t*>(out));
      __syncwarp();
    }
  }
};

// Tiles are walked in bands of 8 rows of tiles, so that blocks that run together share what they read.
__device__ __forceinline__ LimbPlace limb_place(const LimbProduct& what, uint32_t tile, uint32_t tile_n) {
  constexpr uint32_t kBand = 8;
  const uint32_t rows = (what.m + kLimbTileM - 1) / kLimbTileM, columns = (what.n + tile_n - 1) / tile_n;
  const uint32_t batch = tile / (rows * columns), in = tile - batch * rows * columns;
  const uint32_t band = in / (kBand * columns), first = band * kBand, rest = in - first * columns;
  const uint32_t height = rows - first < kBand ? rows - first : kBand;
  return {batch, (first + rest % height) * kLimbTileM, rest / height * tile_n};
}

template <int PA, int PB, bool SA, bool SB>
__device__ __forceinline__ void limb_product(const LimbPlanes& planes, const LimbProduct& what, void* out) {
  using Tile = LimbTile<PA, PB, SA, SB>;
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t warp = threadIdx.x >> 5, k_first = what.k_first + blockIdx.y * what.k_part;
  Tile tile{planes, what, limb_place(what, blockIdx.x, Tile::kN), k_first, min(k_first + what.k_part, what.k_end), threadIdx.x & 31,
            warp % Tile::kShape.warps_m * 16 * Tile::kTilesM, warp / Tile::kShape.warps_m * 8 * Tile::kTilesN, {}, {}, {}};
  tile.find_chunks();
  tile.multiply(shared);
  tile.store(shared, out);
}

}  // namespace assay::cuda

using namespace assay::cuda;

#define ASSAY_LIMBS(NAME, PA, PB, SA, SB)                                                                                     \
  extern "C" __global__ void __launch_bounds__(kGemmThreads, 1)                                                               \
      limb_mma_##NAME(const __grid_constant__ LimbPlanes planes, const __grid_constant__ LimbProduct what, void* out) {       \
    limb_product<PA, PB, SA, SB>(planes, what, out);                                                                          \
  }
// Planes of A and B, and whether the top one is signed.
ASSAY_LIMBS(1s_1s, 1, 1, true, true)
ASSAY_LIMBS(1s_2s, 1, 2, true, true)
ASSAY_LIMBS(2s_1s, 2, 1, true, true)
ASSAY_LIMBS(2s_2s, 2, 2, true, true)
ASSAY_LIMBS(1s_2u, 1, 2, true, false)
ASSAY_LIMBS(2u_1s, 2, 1, false, true)
ASSAY_LIMBS(2s_2u, 2, 2, true, false)
ASSAY_LIMBS(2u_2s, 2, 2, false, true)
ASSAY_LIMBS(2u_2u, 2, 2, false, false)
