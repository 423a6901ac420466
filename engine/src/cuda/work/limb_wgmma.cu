// Exact products of integers of up to 32 bits on Hopper's tensor cores, docs/work.md §2: C[b,i,j] = Σ
// A[b,i,k]·B[b,j,k]. Operands come as planes of bytes (work.cu); one launch multiplies one or two planes of A
// with one or two of B, byte by byte, into 32-bit sums by weight, and puts them together in 64 bits. i16 ×
// i16 is four products of bytes into three sums. Built for sm_90a alone.
//
// One thread copies slices of K into a ring of stages; two warpgroups multiply 64 rows of a tile each. Two
// blocks of a cluster make tiles one below the other and share what they read of B. Rows and columns beyond
// the matrix are read as zeros and not written.
#include "cuda/work/limb_shape.hpp"
#include "cuda/warpgroup.cuh"

namespace assay::cuda {

#define LIMB_R4(D, I) "+r"(D[I]), "+r"(D[I + 1]), "+r"(D[I + 2]), "+r"(D[I + 3])
#define LIMB_R16(D, I) LIMB_R4(D, I), LIMB_R4(D, I + 4), LIMB_R4(D, I + 8), LIMB_R4(D, I + 12)
#define LIMB_R32(D, I) LIMB_R16(D, I), LIMB_R16(D, I + 16)
#define LIMB_P32                                                                                                  \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31,"
#define LIMB_P32_ALONE                                                                                            \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
  "%30,%31"
#define LIMB_P64                                                                                                  \
  LIMB_P32 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56," \
           "%57,%58,%59,%60,%61,%62,%63"
#define LIMB_P96                                                                                                  \
  LIMB_P64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88," \
           "%89,%90,%91,%92,%93,%94,%95"
#define LIMB_64(TYPES)                                                                                            \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k32.s32." TYPES " {"   \
               LIMB_P32_ALONE "}, %32, %33, p; }"                                                                 \
               : LIMB_R32(d, 0)                                                                                   \
               : "l"(a), "l"(b), "r"(add))
#define LIMB_128(TYPES)                                                                                           \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k32.s32." TYPES " {"  \
               LIMB_P64 "}, %64, %65, p; }"                                                                       \
               : LIMB_R32(d, 0), LIMB_R32(d, 32)                                                                  \
               : "l"(a), "l"(b), "r"(add))
#define LIMB_192(TYPES)                                                                                           \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %98, 0;\nwgmma.mma_async.sync.aligned.m64n192k32.s32." TYPES " {"  \
               LIMB_P96 "}, %96, %97, p; }"                                                                       \
               : LIMB_R32(d, 0), LIMB_R32(d, 32), LIMB_R32(d, 64)                                                 \
               : "l"(a), "l"(b), "r"(add))
#define LIMB_MULTIPLY(SUMS, WIDTH)                                                                                \
  template <bool A_SIGNED, bool B_SIGNED>                                                                         \
  __device__ __forceinline__ void multiply_bytes(int32_t (&d)[SUMS], uint64_t a, uint64_t b, uint32_t add) {      \
    if constexpr (A_SIGNED && B_SIGNED) WIDTH("s8.s8");                                                           \
    else if constexpr (A_SIGNED) WIDTH("s8.u8");                                                                  \
    else if constexpr (B_SIGNED) WIDTH("u8.s8");                                                                  \
    else WIDTH("u8.u8");                                                                                          \
  }
// d = a·bᵀ (+ d when `add`): 64 rows by 64, 128 or 192 columns over 32 bytes of K.
LIMB_MULTIPLY(32, LIMB_64)
LIMB_MULTIPLY(64, LIMB_128)
LIMB_MULTIPLY(96, LIMB_192)

// PA, PB: planes of the group; SA, SB: whether its top plane is signed.
template <int PA, int PB, bool SA, bool SB, uint32_t N>
struct Limbs {
  static constexpr uint32_t kN = N, kStages = limb_stages(PA, PB, N), kStageBytes = limb_stage_bytes(PA, PB, N);
  static constexpr uint32_t kABytes = kLimbTileM * kLimbTileK, kBBytes = kN * kLimbTileK;
  static constexpr int kSums = kN / 2;

  const LimbProduct& what;
  uint32_t stages, barriers, rank, lane;
  uint32_t row_pairs, columns, tiles;  // pairs of a batch, or of all where they are apart
  int32_t high[kSums], middle[PA + PB > 2 ? kSums : 1], low[PA + PB > 3 ? kSums : 1];

  __device__ __forceinline__ uint32_t filled(uint32_t stage) const { return barriers + 8 * stage; }
  __device__ __forceinline__ uint32_t emptied(uint32_t stage) const { return barriers + 8 * (kStages + stage); }

  struct At {
    uint32_t batch, row, column, k, slices;
  };
  __device__ __forceinline__ At place(uint32_t tile) const {
    constexpr uint32_t kBand = 8;
    if (what.apart) {
      // Column by column of one pair of row tiles.
      const uint32_t each = row_pairs * columns, part = tile / each, in = tile - part * each, unit = 2 * (in / columns) + rank;
      const uint32_t tall = (what.m + kLimbTileM - 1) / kLimbTileM, batch = unit / tall;
      const uint32_t k = what.k_first + part * what.k_part, k_end = min(k + what.k_part, what.k_end);
      // Beyond the last batch: nothing is stored.
      const uint32_t row = batch < what.batch ? (unit - batch * tall) * kLimbTileM : what.m;
      return {min(batch, what.batch - 1), row, in % columns * kN, k, (k_end - k + kLimbTileK - 1) / kLimbTileK};
    }
    const uint32_t per_batch = row_pairs * columns, part = tile / (per_batch * what.batch);
    tile -= part * per_batch * what.batch;
    const uint32_t batch = tile / per_batch, in = tile - batch * per_batch;
    const uint32_t k = what.k_first + part * what.k_part, k_end = min(k + what.k_part, what.k_end);
    const uint32_t band = in / (kBand * columns), first = band * kBand, rest = in - band * kBand * columns;
    const uint32_t height = row_pairs - first < kBand ? row_pairs - first : kBand;
    return {batch, (first + rest % height) * 2 * kLimbTileM + rank * kLimbTileM, rest / height * kN, k, (k_end - k + kLimbTileK - 1) / kLimbTileK};
  }

  __device__ __forceinline__ void copy(const LimbMaps& maps) const {
    uint32_t stage = 0, parity = 1;
#pragma unroll 1
    for (uint32_t tile = blockIdx.x / 2; tile < tiles; tile += gridDim.x / 2) {
      const At at = place(tile);
#pragma unroll 1
      for (uint32_t slice = 0; slice < at.slices; ++slice) {
        barrier_wait(emptied(stage), parity);
        const uint32_t full = filled(stage), to = stages + stage * kStageBytes, k = at.k + slice * kLimbTileK;
        barrier_expect(full, kStageBytes);
#pragma unroll
        for (int p = 0; p < PA; ++p) copy_box_3d(to + p * kABytes, &maps.a[p], k, at.row, at.batch / what.a_share, full);
#pragma unroll
        for (int p = 0; p < PB; ++p) {
          const uint32_t b = to + PA * kABytes + p * kBBytes, batch = at.batch / what.b_share;
          if (what.apart) {
            copy_box_3d(b, &maps.b[p], k, at.column, batch, full);
            copy_box_3d(b + kBBytes / 2, &maps.b[p], k, at.column + kN / 2, batch, full);
          } else copy_box_3d_to_both(b + rank * (kBBytes / 2), &maps.b[p], k, at.column + rank * (kN / 2), batch, full);
        }
        if (++stage == kStages) stage = 0, parity ^= 1;
      }
    }
  }

  __device__ __forceinline__ void release(uint32_t stage) const {
    if (lane < 2) barrier_arrive_at(emptied(stage), lane);
  }

  __device__ __forceinline__ void multiply_slice(uint32_t at, uint32_t half, uint32_t first) {
    uint64_t a[PA], b[PB];
#pragma unroll
    for (int p = 0; p < PA; ++p) a[p] = operand_descriptor(at + p * kABytes + half * 64 * kLimbTileK);
#pragma unroll
    for (int p = 0; p < PB; ++p) b[p] = operand_descriptor(at + PA * kABytes + p * kBBytes);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (uint32_t step = 0; step < kLimbTileK / 32; ++step) {
      const uint32_t add = first && step == 0 ? 0 : 1, at_k = 2 * step;
      multiply_bytes<SA, SB>(high, a[0] + at_k, b[0] + at_k, add);
      if constexpr (PB > 1) multiply_bytes<SA, false>(middle, a[0] + at_k, b[1] + at_k, add);
      if constexpr (PA > 1) multiply_bytes<false, SB>(middle, a[1] + at_k, b[0] + at_k, PB > 1 ? 1 : add);
      if constexpr (PA > 1 && PB > 1) multiply_bytes<false, false>(low, a[1] + at_k, b[1] + at_k, add);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }

  __device__ __forceinline__ int64_t value(int i) const {
    int64_t sum = high[i];
    if constexpr (PA + PB == 3) sum = (sum << 8) + middle[i];
    if constexpr (PA + PB == 4) sum = (sum << 16) + (static_cast<int64_t>(middle[i]) << 8) + low[i];
    return sum << what.shift;
  }

#if defined(ASSAY_LIMB_TEXT)
  // The sums of two neighbours go to code that product_ptx.cpp puts in place of this line: what is compiled
  // here is text for the driver.
  __device__ __forceinline__ void give(const At& at, uint32_t half) const {
    const uint32_t row = at.row + half * 64 + ((threadIdx.x / 32) & 3) * 16 + (lane >> 2), column = at.column + 2 * (lane & 3);
#pragma unroll
    for (int j = 0; j < static_cast<int>(kN) / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        if (row + 4 * e >= what.m || column + 8 * j >= what.n) continue;
        asm volatile("//ASSAY_PAIR %0, %1, %2, %3;" ::"l"(value(4 * j + e)), "l"(value(4 * j + e + 1)), "r"(at.batch * what.m + row + 4 * e),
                     "r"(column + 8 * j)
                     : "memory");
      }
    }
  }
#endif

  // The same where rows have an odd length: every second one then begins in the middle of 16 bytes. There a
  // thread stores its second element with the first of the lane after it.
  __device__ __forceinline__ void store_odd(const At& at, uint32_t half, int64_t* out) const {
    const uint32_t row = at.row + half * 64 + ((threadIdx.x / 32) & 3) * 16 + (lane >> 2), t = lane & 3, column = at.column + 2 * t;
    const auto put = [&](int64_t* place, int64_t sum) { *place = what.adds ? *place + sum : sum; };
    const auto put_two = [&](int64_t* place, int64_t first, int64_t second) {
      longlong2 two{first, second};
      if (what.adds) {
        const longlong2 before = *reinterpret_cast<const longlong2*>(place);
        two.x += before.x, two.y += before.y;
      }
      *reinterpret_cast<longlong2*>(place) = two;
    };
    const uint64_t start = (static_cast<uint64_t>(at.batch) * what.m + row) * what.n + column;
    const bool is_odd = start & 1;  // eight rows below too
    const uint32_t next = (lane & ~3u) | ((t + 1) & 3);
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      int64_t* to = out + start + static_cast<uint64_t>(4 * e) * what.n;
      const uint32_t columns = row + 4 * e < what.m && column < what.n ? what.n - column : 0;
#pragma unroll
      for (int j = 0; j < static_cast<int>(kN) / 8; ++j, to += 8) {
        const bool is_last = j + 1 == static_cast<int>(kN) / 8;
        const int64_t first = value(4 * j + e), second = value(4 * j + e + 1);
        const int64_t after = __shfl_sync(0xFFFFFFFFu, t == 0 && !is_last ? value(4 * (is_last ? j : j + 1) + e) : first, next);
        const uint32_t left = columns > 8 * j ? columns - 8 * j : 0;
        if (!is_odd) {
          if (left >= 2) put_two(to, first, second);
          else if (left == 1) put(to, first);
          continue;
        }
        if (j == 0 && t == 0 && left >= 1) put(to, first);
        if (left >= 3 && !(is_last && t == 3)) put_two(to + 1, second, after);
        else if (left >= 2) put(to + 1, second);
      }
    }
  }

  // The lower words of two neighbours at a time; of their upper bytes the four lanes of a row exchange what
  // they have of 32 columns, so that each stores eight side by side.
  __device__ __forceinline__ void store_packed(const At& at, uint32_t half, uint8_t* out) const {
    const uint32_t row = at.row + half * 64 + ((threadIdx.x / 32) & 3) * 16 + (lane >> 2), t = lane & 3;
    const uint64_t first = (static_cast<uint64_t>(at.batch) * what.m + row) * what.n + at.column;
    uint32_t* low = reinterpret_cast<uint32_t*>(out) + first + 2 * t;
    uint8_t* high = out + 4 * (static_cast<uint64_t>(what.batch) * what.m * what.n) + first + 8 * t;
    const uint32_t own = t & 1 ? 0x7632 : 0x5410, others = t & 1 ? 0x5410 : 0x7632;
    const uint32_t first_half = t & 1 ? 0x1054 : 0x5410, second_half = t & 1 ? 0x3276 : 0x7632;
    const uint32_t left = t < 2 ? first_half : second_half, right = t < 2 ? second_half : first_half;
#pragma unroll
    for (int e = 0; e < 4; e += 2) {
      const uint64_t down = static_cast<uint64_t>(4 * e) * what.n;
      const bool is_row = row + 4 * e < what.m;
#pragma unroll
      for (int j = 0; j < static_cast<int>(kN) / 8; j += 4) {
        const bool is_inside = is_row && at.column + 8 * j < what.n;
        uint32_t bytes[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int64_t a = value(4 * (j + i) + e), b = value(4 * (j + i) + e + 1);
          if (is_inside) *reinterpret_cast<uint2*>(low + down + 8 * (j + i)) = {static_cast<uint32_t>(a), static_cast<uint32_t>(b)};
          bytes[i] = __byte_perm(static_cast<uint32_t>(a >> 32) + 128, static_cast<uint32_t>(b >> 32) + 128, 0x0040);
        }
        const uint32_t lower = __byte_perm(bytes[0], bytes[1], 0x5410), upper = __byte_perm(bytes[2], bytes[3], 0x5410);
        const uint32_t kept = t < 2 ? lower : upper, got = __shfl_xor_sync(0xFFFFFFFFu, t < 2 ? upper : lower, 2);
        const uint32_t mine = __byte_perm(kept, got, own), next = __shfl_xor_sync(0xFFFFFFFFu, __byte_perm(kept, got, others), 1);
        if (is_inside) *reinterpret_cast<uint2*>(high + down + 8 * j) = {__byte_perm(mine, next, left), __byte_perm(mine, next, right)};
      }
    }
  }

  // Two neighbours at a time: four lanes then fill 64 bytes of a row of i64.
  template <typename Atomic, typename T>
  __device__ __forceinline__ void store(const At& at, uint32_t half, T* out) const {
    struct alignas(2 * sizeof(T)) Two {
      T of[2];
    };
    const bool is_shared = limb_parts(what) > 1, is_even = what.n % 2 == 0;
    // For the commonest product alone: it takes as long to compile as all the rest of a kernel.
    if constexpr (sizeof(T) == 8 && PA == 2 && PB == 2 && SA && SB && kN > kLimbNarrowN)
      if (!is_even && !is_shared) return store_odd(at, half, out);
    const uint32_t row = at.row + half * 64 + ((threadIdx.x / 32) & 3) * 16 + (lane >> 2), column = at.column + 2 * (lane & 3);
    T* to = out + (static_cast<uint64_t>(at.batch) * what.m + row) * what.n + column;
#pragma unroll
    for (int j = 0; j < static_cast<int>(kN) / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        const uint32_t r = 4 * e, c = 8 * j;
        if (row + r >= what.m || column + c >= what.n) continue;
        T* place = to + static_cast<uint64_t>(r) * what.n + c;
        Two sums{{static_cast<T>(value(4 * j + e)), static_cast<T>(value(4 * j + e + 1))}};
        if (is_even && !is_shared) {
          if (what.adds) {
            const Two before = *reinterpret_cast<const Two*>(place);
            sums.of[0] += before.of[0], sums.of[1] += before.of[1];
          }
          *reinterpret_cast<Two*>(place) = sums;
          continue;
        }
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i) {
          if (column + c + i >= what.n) continue;
          if (is_shared) atomicAdd(reinterpret_cast<Atomic*>(place + i), static_cast<Atomic>(sums.of[i]));
          else place[i] = what.adds ? place[i] + sums.of[i] : sums.of[i];
        }
      }
    }
  }

  __device__ __forceinline__ void multiply(uint32_t half, void* out) {
    uint32_t stage = 0, parity = 0, before = 0;
#pragma unroll 1
    for (uint32_t tile = blockIdx.x / 2; tile < tiles; tile += gridDim.x / 2) {
      const At at = place(tile);
#pragma unroll 1
      for (uint32_t slice = 0; slice < at.slices; ++slice) {
        barrier_wait(filled(stage), parity);
        multiply_slice(stages + stage * kStageBytes, half, slice == 0);
        warpgroup_wait<1>();  // the slice before this one is done with its stage
        if (slice > 0) release(before);
        before = stage;
        if (++stage == kStages) stage = 0, parity ^= 1;
      }
      warpgroup_wait<0>();
      settle(high);
      settle(middle);
      settle(low);
      release(before);
#if defined(ASSAY_LIMB_TEXT)
      give(at, half);
#else
      if constexpr (PA == 2 && SA && SB)
        if (what.packs) {
          store_packed(at, half, static_cast<uint8_t*>(out));
          continue;
        }
      if (what.is_wide) store<unsigned long long>(at, half, static_cast<int64_t*>(out));
      else store<unsigned int>(at, half, static_cast<int32_t*>(out));
#endif
    }
  }
};

template <int PA, int PB, bool SA, bool SB, uint32_t N = limb_tile_n(PA, PB)>
__device__ __forceinline__ void limb_product(const LimbMaps& maps, const LimbProduct& what, void* out) {
  using L = Limbs<PA, PB, SA, SB, N>;
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t barriers[2 * L::kStages];
  L limbs{what};
  limbs.stages = (shared_address(shared) + 1023) & ~1023u;  // the swizzle counts from multiples of 1024
  limbs.barriers = shared_address(barriers);
  limbs.lane = threadIdx.x & 31;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(limbs.rank));
  limbs.row_pairs = limb_row_pairs(what);
  limbs.columns = (what.n + L::kN - 1) / L::kN;
  limbs.tiles = (what.apart ? 1 : what.batch) * limbs.row_pairs * limbs.columns * limb_parts(what);
  if (threadIdx.x == 0) {
    for (uint32_t stage = 0; stage < L::kStages; ++stage) {
      barrier_init(limbs.filled(stage), 1);
      barrier_init(limbs.emptied(stage), 16);  // the warps of both blocks' consumers
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 0) limbs.copy(maps);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    limbs.multiply(threadIdx.x / 128 - 1, out);
  }
  cluster_sync();  // neither block may leave while the other still copies into it or arrives at its barriers
}

}  // namespace assay::cuda

using namespace assay::cuda;

#if defined(ASSAY_LIMB_TEXT)
// `pointers` are read by the code that is put in.
extern "C" __global__ void __launch_bounds__(kLimbThreads, 1)
    limb_text(const __grid_constant__ LimbMaps maps, const __grid_constant__ LimbProduct what, const __grid_constant__ LimbPointers pointers) {
  limb_product<2, 2, true, true>(maps, what, nullptr);
  asm volatile("" ::"l"(&pointers));
}
#else
#define ASSAY_LIMBS(NAME, ...)                                                                                    \
  extern "C" __global__ void __launch_bounds__(kLimbThreads, 1)                                                   \
      limb_##NAME(const __grid_constant__ LimbMaps maps, const __grid_constant__ LimbProduct what, void* out) {   \
    limb_product<__VA_ARGS__>(maps, what, out);                                                                   \
  }
// Planes of A and B, and whether the top one is signed.
#if defined(ASSAY_LIMB_UNSIGNED)
#if !defined(ASSAY_COMPILE_QUICKLY)
ASSAY_LIMBS(2u_2u, 2, 2, false, false)
#endif
ASSAY_LIMBS(1s_2u, 1, 2, true, false)
#if !defined(ASSAY_COMPILE_QUICKLY)
ASSAY_LIMBS(2u_1s, 2, 1, false, true)
ASSAY_LIMBS(2s_2u, 2, 2, true, false)
ASSAY_LIMBS(2u_2s, 2, 2, false, true)
#endif
#else
ASSAY_LIMBS(1s_1s, 1, 1, true, true)
#if !defined(ASSAY_COMPILE_QUICKLY)
ASSAY_LIMBS(1s_2s, 1, 2, true, true)
#endif
ASSAY_LIMBS(2s_1s, 2, 1, true, true)
ASSAY_LIMBS(2s_2s, 2, 2, true, true)
ASSAY_LIMBS(narrow_2s_2s, 2, 2, true, true, kLimbNarrowN)
#endif
#endif
