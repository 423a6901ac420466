// The products on Hopper's own path: wgmma fed by the bulk tensor copy engine. Needs the sm_90a target; every other target gets
// an empty body and the launcher (cuda_device.cpp) stays with gemm.cuh. docs/hardware-proof.md §4.
// One producer warpgroup copies K slices of 128 bytes into a ring of stages, swizzled by the copy engine; two consumer warpgroups
// multiply 64 rows of the tile each. As in gemm.cuh, all precisions are alike when K is counted in bytes.
#pragma once
#include "gemm.cuh"

namespace assay::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  }
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void copy_box(uint32_t to, const TensorMap* map, uint32_t k_byte, uint32_t row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(k_byte), "r"(row), "r"(barrier)
      : "memory");
}

// Rows of 128 bytes, K contiguous, 128-byte swizzle: groups of 8 rows are 1024 bytes apart.
__device__ __forceinline__ uint64_t operand_descriptor(uint32_t shared) {
  return static_cast<uint64_t>((shared & 0x3FFFF) >> 4) | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 62;
}

#define ASSAY_4(C, D, I) C((D)[I]), C((D)[I + 1]), C((D)[I + 2]), C((D)[I + 3])
#define ASSAY_16(C, D, I) ASSAY_4(C, D, I), ASSAY_4(C, D, I + 4), ASSAY_4(C, D, I + 8), ASSAY_4(C, D, I + 12)
#define ASSAY_64(C, D, I) ASSAY_16(C, D, I), ASSAY_16(C, D, I + 16), ASSAY_16(C, D, I + 32), ASSAY_16(C, D, I + 48)
#define ASSAY_128(C, D, I) ASSAY_64(C, D, I), ASSAY_64(C, D, I + 64)
#define ASSAY_OPERANDS_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
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

// d = a·bᵀ (+ d when `add`): 64 rows by 256 or 128 columns over 32 bytes of K.
template <Precision P>
__device__ __forceinline__ void warpgroup_multiply(typename Accumulator<P>::type (&d)[128], uint64_t a, uint64_t b, uint32_t add) {
  if constexpr (P == Precision::int8) {
    ASSAY_WGMMA_256("m64n256k32.s32.s8.s8", "", "+r");
  } else if constexpr (P == Precision::fp16) {
    ASSAY_WGMMA_256("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "+f");
  } else if constexpr (P == Precision::bf16) {
    ASSAY_WGMMA_256("m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "+f");
  } else {
    static_assert(P == Precision::tf32);
    ASSAY_WGMMA_256("m64n256k8.f32.tf32.tf32", ", 1, 1", "+f");
  }
}

template <Precision P>
__device__ __forceinline__ void warpgroup_multiply(float (&d)[64], uint64_t a, uint64_t b, uint32_t add) {
  static_assert(P == Precision::fp8);
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" ASSAY_OPERANDS_64 "}, %64, %65, p, 1, 1; }"
               : ASSAY_64("+f", d, 0)
               : "l"(a), "l"(b), "r"(add));
}

#undef ASSAY_WGMMA_256

template <int IN_FLIGHT>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(IN_FLIGHT) : "memory");
}

// After the last wait: without it the compiler may read sums before the tensor cores have written them.
template <uint32_t N>
__device__ __forceinline__ void settle(int32_t (&sums)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}
template <uint32_t N>
__device__ __forceinline__ void settle(float (&sums)[N]) {
#pragma unroll
  for (uint32_t i = 0; i < N; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

#endif

template <Precision P>
__device__ __forceinline__ void gemm_by_warpgroups(const TensorMap* a_map, const TensorMap* b_map, uint16_t* __restrict__ c,
                                                   uint32_t m, uint32_t n, uint32_t k_bytes, uint32_t first_tile) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Acc = typename Accumulator<P>::type;
  constexpr WarpgroupShape kShape = warpgroup_shape(P);
  constexpr uint32_t kN = kShape.n, kStages = kShape.stages, kSums = kN / 2;
  constexpr uint32_t kABytes = kTileM * kWarpgroupKBytes, kStageBytes = (kTileM + kN) * kWarpgroupKBytes;
  constexpr bool kPromote = P == Precision::fp8;
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ __align__(8) uint64_t barriers[2 * kStages];

  const uint32_t base = (shared_address(shared) + 1023) & ~1023u;  // the swizzle counts from multiples of 1024
  const uint32_t filled = shared_address(barriers), emptied = filled + 8 * kStages;
  const uint32_t warpgroup = threadIdx.x / 128, lane = threadIdx.x & 31;
  const Tile tile = tile_place(first_tile + blockIdx.x, m, n, kN);
  const uint32_t slices = k_bytes / kWarpgroupKBytes;

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      barrier_init(filled + 8 * s, 1);
      barrier_init(emptied + 8 * s, 8);  // the consumers' warps
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (uint32_t slice = 0; slice < slices; ++slice) {
        const uint32_t stage = slice % kStages, turn = slice / kStages;
        barrier_wait(emptied + 8 * stage, (turn & 1) ^ 1);  // passes at once on the first turn
        const uint32_t to = base + stage * kStageBytes;
        barrier_expect(filled + 8 * stage, kStageBytes);
        copy_box(to, a_map, slice * kWarpgroupKBytes, tile.row, filled + 8 * stage);
        copy_box(to + kABytes, b_map, slice * kWarpgroupKBytes, tile.column, filled + 8 * stage);
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const uint32_t half = warpgroup - 1;
    Acc sums[kSums];
    float kept[kPromote ? kSums : 1];
#pragma unroll
    for (uint32_t i = 0; i < (kPromote ? kSums : 1); ++i) kept[i] = 0;
#pragma unroll 1
    for (uint32_t slice = 0; slice < slices; ++slice) {
      const uint32_t stage = slice % kStages;
      barrier_wait(filled + 8 * stage, (slice / kStages) & 1);
      const uint64_t a = operand_descriptor(base + stage * kStageBytes + half * 64 * kWarpgroupKBytes);
      const uint64_t b = operand_descriptor(base + stage * kStageBytes + kABytes);
      const bool fresh = kPromote ? slice % (kFp8PromoteBytes / kWarpgroupKBytes) == 0 : slice == 0;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (uint32_t step = 0; step < kWarpgroupKBytes / 32; ++step)
        warpgroup_multiply<P>(sums, a + 2 * step, b + 2 * step, fresh && step == 0 ? 0u : 1u);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if constexpr (kPromote) {
        constexpr uint32_t kPair = kFp8PromoteBytes / kWarpgroupKBytes;
        static_assert(kPair == 2);
        if (!fresh || slice + 1 == slices) {  // the second of a pair, or a last one alone
          warpgroup_wait<0>();
          settle(sums);
          if (lane == 0) {
            if (!fresh) barrier_arrive(emptied + 8 * ((slice - 1) % kStages));
            barrier_arrive(emptied + 8 * stage);
          }
#pragma unroll
          for (uint32_t i = 0; i < kSums; ++i) kept[i] += sums[i];
        }
      } else {
        warpgroup_wait<1>();  // the slice before this one is done with its stage
        if (slice > 0 && lane == 0) barrier_arrive(emptied + 8 * ((slice - 1) % kStages));
      }
    }
    warpgroup_wait<0>();
    settle(sums);

    // Both consumers are done with all stages: their memory takes the tile, so that whole rows leave in 16-byte stores.
    asm volatile("bar.sync 1, 256;" ::: "memory");
    constexpr uint32_t kRowBytes = 2 * kN + 16;
    uint8_t* rows = shared + (base - shared_address(shared));
    const uint32_t thread = threadIdx.x - 128, row = (thread / 32) * 16 + (lane >> 2);
#pragma unroll
    for (uint32_t j = 0; j < kN / 8; ++j) {
      uint32_t w[4];
#pragma unroll
      for (uint32_t e = 0; e < 4; ++e) {
        if constexpr (kPromote) w[e] = low_16(kept[4 * j + e]);
        else w[e] = low_16(sums[4 * j + e]);
      }
      const uint32_t at = 2 * (8 * j + 2 * (lane & 3));
      *reinterpret_cast<uint32_t*>(rows + row * kRowBytes + at) = w[0] | w[1] << 16;
      *reinterpret_cast<uint32_t*>(rows + (row + 8) * kRowBytes + at) = w[2] | w[3] << 16;
    }
    asm volatile("bar.sync 1, 256;" ::: "memory");
    constexpr uint32_t kChunks = kN / 8;
#pragma unroll 4
    for (uint32_t i = thread; i < kTileM * kChunks; i += 256)
      *reinterpret_cast<uint4*>(c + uint64_t{tile.row + i / kChunks} * n + tile.column + 8 * (i % kChunks)) =
          *reinterpret_cast<const uint4*>(rows + i / kChunks * kRowBytes + 16 * (i % kChunks));
  }
#endif
}

}  // namespace assay::cuda
