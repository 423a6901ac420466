// The products on Hopper's own path: wgmma fed by the bulk tensor copy engine. Built for sm_90a alone, the
// one target that has these instructions; on every other card the launcher (cuda_device.cpp) uses
// gemm_mma.cu. docs/hardware-proof.md §4.
//
// One thread copies K slices of 128 bytes into a ring of stages, swizzled by the copy engine (copy_slices).
// Two consumer warpgroups multiply 64 rows of a tile each, tile after tile, while the next slices are already
// on their way (multiply_tile, store_tile). Two blocks of a cluster make tiles one below the other, and each
// fetches half of the B they share for both: without that, L2 is what binds (8 TB/s of reads).
// A block's tiles come in pairs side by side, which hold whole leaves: three warps beside the copying one
// hash those of the last pair, on pipes that the tensor cores leave idle (hash_pairs). They wait for their
// own block alone, so nothing depends on which blocks run together.
// What binds is the card's power: per clock the products reach 98 % of the tensor cores' rate. As in
// gemm_mma.cu, all precisions are alike when K is counted in bytes.
#include "hash.cuh"
#include "tiles.cuh"
#include "warpgroup.cuh"

namespace assay::cuda {

#define ASSAY_4(C, D, I) C((D)[I]), C((D)[I + 1]), C((D)[I + 2]), C((D)[I + 3])
#define ASSAY_16(C, D, I) ASSAY_4(C, D, I), ASSAY_4(C, D, I + 4), ASSAY_4(C, D, I + 8), ASSAY_4(C, D, I + 12)
#define ASSAY_64(C, D, I) ASSAY_16(C, D, I), ASSAY_16(C, D, I + 16), ASSAY_16(C, D, I + 32), ASSAY_16(C, D, I + 48)
#define ASSAY_128(C, D, I) ASSAY_64(C, D, I), ASSAY_64(C, D, I + 64)
#define ASSAY_OPERANDS_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define ASSAY_WGMMA_256(TYPES, TAIL, CONSTRAINT)                                                              \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"                                                    \
               "wgmma.mma_async.sync.aligned." TYPES " {" ASSAY_OPERANDS_128 "}, %128, %129, p" TAIL "; }"    \
               : ASSAY_128(CONSTRAINT, d, 0)                                                                  \
               : "l"(a), "l"(b), "r"(add))

// d = a·bᵀ (+ d when `add`): 64 rows by 256 columns over 32 bytes of K.
template <Precision P>
__device__ __forceinline__ void warpgroup_multiply(typename Accumulator<P>::type (&d)[128], uint64_t a, uint64_t b, uint32_t add) {
  if constexpr (P == Precision::int8) {
    ASSAY_WGMMA_256("m64n256k32.s32.s8.s8", "", "+r");
  } else if constexpr (P == Precision::fp8) {
    ASSAY_WGMMA_256("m64n256k32.f32.e4m3.e4m3", ", 1, 1", "+f");
  } else if constexpr (P == Precision::fp16) {
    ASSAY_WGMMA_256("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  } else if constexpr (P == Precision::bf16) {
    ASSAY_WGMMA_256("m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  } else {
    static_assert(P == Precision::tf32);
    ASSAY_WGMMA_256("m64n256k8.f32.tf32.tf32", ", 1, 1", "+f");
  }
}

#undef ASSAY_WGMMA_256

// Two sums modulo 2^16, side by side.
__device__ __forceinline__ uint32_t low_halves(int32_t first, int32_t second) {
  return __byte_perm(static_cast<uint32_t>(first), static_cast<uint32_t>(second), 0x5410);
}
__device__ __forceinline__ uint32_t low_halves(float first, float second) {
  return low_halves(__float2int_rn(first), __float2int_rn(second));
}
// The same for sums below 2^22 in size, without conversions: 3·2^22 + sum has the sum in its low bits.
__device__ __forceinline__ uint32_t low_halves_of_small(float first, float second) {
  return __byte_perm(__float_as_uint(first + 12582912.0f), __float_as_uint(second + 12582912.0f), 0x5410);
}

// Lanes 4i…4i+3 hold words 0…3 of four chunks, one word a lane and chunk; lane 4i+q gets chunk q whole.
__device__ __forceinline__ uint4 gather_chunk(const uint32_t* x, uint32_t lane) {
  const bool odd = lane & 1, upper = lane & 2;
  const uint32_t r0 = __shfl_xor_sync(0xFFFFFFFFu, odd ? x[0] : x[1], 1), r1 = __shfl_xor_sync(0xFFFFFFFFu, odd ? x[2] : x[3], 1);
  const uint32_t y0 = odd ? r0 : x[0], y1 = odd ? x[1] : r0, y2 = odd ? r1 : x[2], y3 = odd ? x[3] : r1;
  const uint32_t s0 = __shfl_xor_sync(0xFFFFFFFFu, upper ? y0 : y2, 2), s1 = __shfl_xor_sync(0xFFFFFFFFu, upper ? y1 : y3, 2);
  return upper ? make_uint4(s0, s1, y2, y3) : make_uint4(y0, y1, s0, s1);
}

// How often a block arrived at a meeting, all blocks and launches together.
__device__ uint32_t meter;

// Waits until nearly all blocks came to their meeting `number` (from 1). A courtesy for L2's sake: whoever
// does not come, because it does not run at the same time, is waited for some 0.1 ms and no longer.
__device__ __forceinline__ void meet(uint32_t number, uint32_t met) {
  atomicAdd(&meter, 1u);
  const uint32_t want = number * gridDim.x - gridDim.x / 16;
  for (uint32_t tries = 0; tries < 200; ++tries) {
    uint32_t now;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(&meter) : "memory");
    if (now - met >= want) return;
    __nanosleep(100);
  }
}

// A, and B in two boxes.
constexpr uint32_t kBoxBytes = kTileM * kWarpgroupKBytes, kStageBytes = 3 * kBoxBytes;
constexpr uint32_t kSums = kWarpgroupTileN / 2;  // of a thread, in a tile
static_assert(kWarpgroupTileN == 2 * kTileM);
// Sums of fp8 leave the tensor core's accumulator part by part (launch_shape.hpp, kFp8PartBytes).
template <Precision P>
constexpr bool kInParts = P == Precision::fp8;

// The block's barriers, by their addresses in shared memory.
struct Barriers {
  static constexpr uint32_t kCount = 2 * kWarpgroupStages + 4;
  uint32_t first;
  __device__ __forceinline__ uint32_t filled(uint32_t stage) const { return first + 8 * stage; }
  __device__ __forceinline__ uint32_t emptied(uint32_t stage) const { return first + 8 * (kWarpgroupStages + stage); }
  // Of the block's pair `turn`: its products are stored; its leaves are hashed. Two each: even and odd pairs.
  __device__ __forceinline__ uint32_t made(uint32_t turn) const { return first + 16 * kWarpgroupStages + 8 * (turn & 1); }
  __device__ __forceinline__ uint32_t hashed(uint32_t turn) const { return first + 16 * kWarpgroupStages + 16 + 8 * (turn & 1); }

  __device__ __forceinline__ void init(uint32_t cluster) const {
    for (uint32_t stage = 0; stage < kWarpgroupStages; ++stage) {
      barrier_init(filled(stage), 1);
      barrier_init(emptied(stage), 8 * cluster);  // the warps of all consumers that the next copies go to
    }
    for (uint32_t odd = 0; odd < 2; ++odd) {
      barrier_init(made(odd), 8);
      barrier_init(hashed(odd), 3);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
};

// What every part of the kernel knows.
struct Block {
  Barriers barriers;
  uint32_t stages;  // where the first stage lies in shared memory
  uint32_t slices;  // of a tile
  uint32_t cluster, rank;
  uint32_t lane;  // of this thread
  uint32_t m, n, k_bytes;
  PairRange range;
  uint32_t first;  // pair
  uint32_t tiles;  // 2i and 2i + 1 are this block's pair i

  __device__ __forceinline__ uint32_t stage_at(uint32_t stage) const { return stages + stage * kStageBytes; }
  __device__ __forceinline__ uint32_t pair_of(uint32_t tile) const { return first + tile / 2 * gridDim.x; }
  __device__ __forceinline__ Tile place(uint32_t tile) const {
    Tile at = tile_place(pair_of(tile), m, n, kPairN);
    at.column += tile % 2 * kWarpgroupTileN;
    return at;
  }
};

// Which stage is next, the parity to wait for at its barrier, and which stage was the one before.
struct Turn {
  uint32_t before = 0, parity, stage = 0;
  __device__ __forceinline__ explicit Turn(uint32_t first_parity) : parity(first_parity) {}
  __device__ __forceinline__ void next() {
    before = stage;
    if (++stage == kWarpgroupStages) stage = 0, parity ^= 1;
  }
};

// One thread: K slices of A and B into the stages, tile after tile.
__device__ __forceinline__ void copy_slices(const Block& block, const TensorMap* a_map, const TensorMap* b_map) {
  const uint32_t every = tiles_between_meetings(block.k_bytes), common = 2 * ((block.range.end - block.range.first) / gridDim.x);
  Turn turn(1);  // passes at once on the first turn
#pragma unroll 1
  for (uint32_t tile = 0; tile < block.tiles; ++tile) {
    if (tile > 0 && tile < common && tile % every == 0) meet(tile / every, block.range.met);
    const Tile at = block.place(tile);
#pragma unroll 1
    for (uint32_t slice = 0; slice < block.slices; ++slice) {
      const uint32_t full = block.barriers.filled(turn.stage), to = block.stage_at(turn.stage), k_byte = slice * kWarpgroupKBytes;
      barrier_wait(block.barriers.emptied(turn.stage), turn.parity);
      barrier_expect(full, kStageBytes);
      copy_box(to, a_map, k_byte, at.row, full);
      if (block.cluster == 2) {
        copy_box_to_both(to + (1 + block.rank) * kBoxBytes, b_map, k_byte, at.column + block.rank * kTileM, full);
      } else {
        copy_box(to + kBoxBytes, b_map, k_byte, at.column, full);
        copy_box(to + 2 * kBoxBytes, b_map, k_byte, at.column + kTileM, full);
      }
      turn.next();
    }
  }
}

// Three warps: the leaves of every pair that is stored. Four quarters a pair for three warps: a warp takes
// every third quarter, and so at least one of each pair.
__device__ __forceinline__ void hash_pairs(const Block& block, const uint16_t* c, Node* nodes, Sha256State leaf_midstate) {
  uint32_t turn = 0, quarter = threadIdx.x / 32 - 1;
#pragma unroll 1
  for (uint32_t pair = block.first; pair < block.range.hash_end; pair += gridDim.x, ++turn, quarter -= 4) {
    const Tile at = tile_place(pair, block.m, block.n, kPairN);
    barrier_wait(block.barriers.made(turn), turn / 2 & 1);
#pragma unroll 1
    for (; quarter < 4; quarter += 3) {
      const uint64_t leaf = uint64_t{at.row + 32 * quarter + block.lane} * (block.n / kPairN) + at.column / kPairN;
      hash_leaf<PlainSums, true>(reinterpret_cast<const uint4*>(c) + leaf * 64, leaf_midstate, nodes + leaf);
    }
    __syncwarp();
    if (block.lane == 0) barrier_arrive(block.barriers.hashed(turn));
  }
}

// What a thread of a consumer keeps of its tile: 64 rows by 256 columns a warpgroup.
template <Precision P>
struct Sums {
  typename Accumulator<P>::type sums[kSums];
  uint32_t kept[kInParts<P> ? kSums / 2 : 1];  // of the parts that are done, two sums a word

  // Two neighbours modulo 2^16; `i` is even.
  __device__ __forceinline__ uint32_t pair(uint32_t i) const {
    if constexpr (kInParts<P>) return kept[i / 2];
    else return low_halves(sums[i], sums[i + 1]);
  }
};

// A warpgroup: its `half` of a tile, slice after slice as they come.
template <Precision P>
__device__ __forceinline__ void multiply_tile(const Block& block, uint32_t half, Turn& turn, Sums<P>& out) {
  const auto release = [&](uint32_t stage) {
    if (block.lane < block.cluster) barrier_arrive_at(block.barriers.emptied(stage), block.lane);
  };
#pragma unroll
  for (uint32_t i = 0; i < (kInParts<P> ? kSums / 2 : 1); ++i) out.kept[i] = 0;
  uint32_t slice = 0;
#pragma unroll 1
  do {
    const uint32_t begin = slice, end = kInParts<P> ? min(slice + kFp8PartBytes / kWarpgroupKBytes, block.slices) : block.slices;
#pragma unroll 1
    for (; slice < end; ++slice) {
      barrier_wait(block.barriers.filled(turn.stage), turn.parity);
      const uint64_t a = operand_descriptor(block.stage_at(turn.stage) + half * 64 * kWarpgroupKBytes);
      const uint64_t b = operand_descriptor(block.stage_at(turn.stage) + kBoxBytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (uint32_t step = 0; step < kWarpgroupKBytes / 32; ++step)
        warpgroup_multiply<P>(out.sums, a + 2 * step, b + 2 * step, slice == begin && step == 0 ? 0u : 1u);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      warpgroup_wait<1>();  // the slice before this one is done with its stage
      if (slice > begin) release(turn.before);
      turn.next();
    }
    warpgroup_wait<0>();
    settle(out.sums);
    release(turn.before);
    if constexpr (kInParts<P>) {
#pragma unroll
      for (uint32_t i = 0; i < kSums / 2; ++i)
        out.kept[i] = __vadd2(out.kept[i], low_halves_of_small(out.sums[2 * i], out.sums[2 * i + 1]));
    }
  } while (kInParts<P> && slice < block.slices);
}

// Straight from registers: the stages already take the next tile. Four lanes write 64 bytes of a row.
template <Precision P>
__device__ __forceinline__ void store_tile(const Block& block, uint32_t half, uint32_t tile, const Sums<P>& from, uint16_t* c) {
  const uint32_t lane = block.lane, warp = (threadIdx.x / 32) & 3;
  const Tile at = block.place(tile);
  uint16_t* out = c + uint64_t{at.row + half * 64 + warp * 16 + (lane >> 2)} * block.n + at.column + 8 * (lane & 3);
#pragma unroll
  for (uint32_t j = 0; j < kWarpgroupTileN / 8; j += 4) {
    uint32_t upper[4], lower[4];
#pragma unroll
    for (uint32_t e = 0; e < 4; ++e) {
      upper[e] = from.pair(4 * (j + e));
      lower[e] = from.pair(4 * (j + e) + 2);
    }
    *reinterpret_cast<uint4*>(out + 8 * j) = gather_chunk(upper, lane);
    *reinterpret_cast<uint4*>(out + 8 * j + uint64_t{8} * block.n) = gather_chunk(lower, lane);
  }
}

// After the second tile of a pair: its leaves may be hashed.
__device__ __forceinline__ void hand_over(const Block& block, uint32_t tile) {
  if (tile % 2 == 0 || block.pair_of(tile) >= block.range.hash_end) return;
  __syncwarp();  // the warp's stores before its arrival
  if (block.lane != 0) return;
  const uint32_t turn = tile / 2;
  // The pair before the last; passes at once on the first two.
  barrier_wait(block.barriers.hashed(turn), (turn / 2 & 1) ^ 1);
  barrier_arrive(block.barriers.made(turn));
}

// Pairs of tiles range.first + blockIdx.x, + gridDim.x, … below range.end; leaves of those below
// range.hash_end into `nodes`. In a cluster of two, all counts are even and pairs 2i, 2i + 1 lie one below
// the other (an even number of tile rows).
template <Precision P>
__device__ __forceinline__ void gemm_by_warpgroups(const TensorMap* a_map, const TensorMap* b_map, uint16_t* c, uint32_t m, uint32_t n,
                                                   uint32_t k_bytes, PairRange range, Node* nodes, Sha256State leaf_midstate) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t barriers[Barriers::kCount];
  const uint32_t warpgroup = threadIdx.x / 128;
  Block block;
  block.barriers = {shared_address(barriers)};
  block.lane = threadIdx.x & 31;
  block.stages = (shared_address(shared) + 1023) & ~1023u;  // the swizzle counts from multiples of 1024
  block.slices = k_bytes / kWarpgroupKBytes;
  asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_ctarank;" : "=r"(block.cluster), "=r"(block.rank));
  block.m = m;
  block.n = n;
  block.k_bytes = k_bytes;
  block.range = range;
  block.first = range.first + blockIdx.x;
  block.tiles = block.first < range.end ? 2 * ((range.end - block.first + gridDim.x - 1) / gridDim.x) : 0;

  if (threadIdx.x == 0) block.barriers.init(block.cluster);
  cluster_sync();
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
    if (threadIdx.x == 0) copy_slices(block, a_map, b_map);
    else if (threadIdx.x >= 32) hash_pairs(block, c, nodes, leaf_midstate);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    const uint32_t half = warpgroup - 1;
    Turn turn(0);
#pragma unroll 1
    for (uint32_t tile = 0; tile < block.tiles; ++tile) {
      Sums<P> sums;
      multiply_tile<P>(block, half, turn, sums);
      store_tile<P>(block, half, tile, sums, c);
      hand_over(block, tile);
    }
  }
  cluster_sync();  // neither block may leave while the other still copies into it or arrives at its barriers
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

#define ASSAY_GEMM(NAME)                                                                                        \
  extern "C" __global__ void __launch_bounds__(kWarpgroupThreads, 1)                                            \
      gemm_wgmma_##NAME(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, uint16_t* c,  \
                        uint32_t m, uint32_t n, uint32_t k_bytes, PairRange range, Node* nodes,                 \
                        Sha256State leaf_midstate) {                                                            \
    gemm_by_warpgroups<Precision::NAME>(&a, &b, c, m, n, k_bytes, range, nodes, leaf_midstate);                 \
  }
ASSAY_GEMM(int8)
ASSAY_GEMM(fp8)
ASSAY_GEMM(fp16)
ASSAY_GEMM(bf16)
ASSAY_GEMM(tf32)
