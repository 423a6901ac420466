// The operators of docs/work.md besides maps, which are made as PTX (map_ptx.cpp): products on plain ALUs,
// the split into planes of bytes for products on tensor cores (limb_wgmma.cu), reductions, scattered sums.
// Sums of integers need no order, so atomics give the same bits.
#include "cuda/work/elements.cuh"
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {

// Four neighbours along K, little-endian, into planes of bytes: planes[p] has rows of `pitch` bytes, zeros
// behind the last element.
template <typename T>
__device__ __forceinline__ void split_row(const T* from, uint64_t k, const PlaneSplit& to, uint64_t row) {
  const uint64_t step = 4ull * gridDim.x * blockDim.x;
  for (uint64_t at = 4ull * (static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x); at < to.pitch; at += step) {
    uint32_t values[4];
    const T* here = from + row * k + at;
    if (k % 4 == 0 && at < k) {
      struct alignas(4 * sizeof(T)) Four {
        T of[4];
      };
      const Four four = *reinterpret_cast<const Four*>(here);
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) values[i] = static_cast<uint32_t>(static_cast<int32_t>(four.of[i]));
    } else {
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) values[i] = at + i < k ? static_cast<uint32_t>(static_cast<int32_t>(here[i])) : 0;
    }
    for (uint32_t p = 0; p < to.count; ++p) {
      const uint32_t low = __byte_perm(values[0], values[1], p | (4 + p) << 4), high = __byte_perm(values[2], values[3], p | (4 + p) << 4);
      // The pitch is a multiple of 16.
      *reinterpret_cast<uint32_t*>(to.planes[p] + row * to.pitch + at) = __byte_perm(low, high, 0x5410);
    }
  }
}

}  // namespace assay::cuda

using namespace assay::cuda;

extern "C" __global__ void __launch_bounds__(128) split_planes(const void* from, uint32_t type, uint64_t rows, uint64_t k, PlaneSplit to) {
  for (uint64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    if (type == 0) split_row(static_cast<const int8_t*>(from), k, to, row);
    else if (type == 1) split_row(static_cast<const int16_t*>(from), k, to, row);
    else split_row(static_cast<const int32_t*>(from), k, to, row);
  }
}

// 64 × 64 of the product a block of 16 × 16 threads, 16 of K at a time.
extern "C" __global__ void __launch_bounds__(256) multiply_plain(const void* a, const void* b, void* out, PlainProduct what) {
  constexpr uint32_t kTile = 64, kDepth = 16;
  __shared__ int32_t rows[kDepth][kTile + 1], columns[kDepth][kTile + 1];
  const uint32_t tiles_n = (what.n + kTile - 1) / kTile, x = threadIdx.x % 16, y = threadIdx.x / 16;
  const uint32_t row0 = blockIdx.x / tiles_n * kTile, column0 = blockIdx.x % tiles_n * kTile;
  for (uint32_t batch = blockIdx.y; batch < what.batch; batch += gridDim.y) {
    const uint64_t a0 = static_cast<uint64_t>(batch / what.a_share) * what.m, b0 = static_cast<uint64_t>(batch / what.b_share) * what.n;
    int64_t sums[4][4] = {};
    for (uint32_t k0 = 0; k0 < what.k; k0 += kDepth) {
      for (uint32_t i = threadIdx.x; i < kTile * kDepth; i += blockDim.x) {
        const uint32_t r = i / kDepth, k = i % kDepth;
        const bool in_k = k0 + k < what.k;
        rows[k][r] = in_k && row0 + r < what.m ? static_cast<int32_t>(element(a, what.a_type, (a0 + row0 + r) * what.k + k0 + k)) : 0;
        columns[k][r] =
            in_k && column0 + r < what.n ? static_cast<int32_t>(element(b, what.b_type, (b0 + column0 + r) * what.k + k0 + k)) : 0;
      }
      __syncthreads();
#pragma unroll
      for (uint32_t k = 0; k < kDepth; ++k)
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
          for (uint32_t j = 0; j < 4; ++j) sums[i][j] += static_cast<int64_t>(rows[k][y + 16 * i]) * columns[k][x + 16 * j];
      __syncthreads();
    }
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
      for (uint32_t j = 0; j < 4; ++j) {
        const uint32_t row = row0 + y + 16 * i, column = column0 + x + 16 * j;
        if (row < what.m && column < what.n)
          put(out, what.out_type, (static_cast<uint64_t>(batch) * what.m + row) * what.n + column, sums[i][j]);
      }
  }
}

// A best value and where it stands; among equals the lowest place. Sums leave `at` alone.
struct Best {
  int64_t value;
  uint32_t at;
};
__device__ __forceinline__ Best better(uint32_t reduction, const Best& a, const Best& b) {
  if (reduction == 0) return {a.value + b.value, 0};
  const bool wants_high = reduction == 1 || reduction == 3;
  if (a.value == b.value) return a.at < b.at ? a : b;
  return (a.value > b.value) == wants_high ? a : b;
}
__device__ __forceinline__ Best from_lane(const Best& x, uint32_t distance) {
  return {__shfl_xor_sync(0xFFFFFFFFu, x.value, distance), __shfl_xor_sync(0xFFFFFFFFu, x.at, distance)};
}

// A thread's share of a row: every `threads`th element from its own on, several under way at once.
template <typename T>
__device__ __forceinline__ Best best_of(const T* row, uint32_t in_row, const RowReduction& what) {
  constexpr uint32_t kAtOnce = 8;
  const uint32_t first = in_row < what.count ? in_row : 0;
  // Whoever has no element of its own begins with the row's first: it changes no maximum, and a sum begins at
  // 0.
  Best best{what.reduction != 0 || in_row < what.count ? static_cast<int64_t>(row[first]) : 0, first};
  uint32_t i = in_row + what.threads;
  for (; i + (kAtOnce - 1) * what.threads < what.count; i += kAtOnce * what.threads) {
    T some[kAtOnce];
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) some[j] = row[i + j * what.threads];
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) best = better(what.reduction, best, {some[j], i + j * what.threads});
  }
  for (; i < what.count; i += what.threads) best = better(what.reduction, best, {row[i], i});
  return best;
}

// `what.threads` threads a row: a warp, or a whole block.
extern "C" __global__ void __launch_bounds__(1024) reduce_rows(const void* from, void* out, RowReduction what) {
  __shared__ Best partial[32];
  const uint32_t per_block = blockDim.x / what.threads, in_row = threadIdx.x % what.threads;
  for (uint64_t row0 = static_cast<uint64_t>(blockIdx.x) * per_block; row0 < what.rows; row0 += static_cast<uint64_t>(gridDim.x) * per_block) {
    const uint64_t row = row0 + threadIdx.x / what.threads;
    const bool is_there = row < what.rows;
    Best best{0, 0};
    if (is_there) {
      const uint64_t start = row * what.count;
      if (what.type == 0) best = best_of(static_cast<const int8_t*>(from) + start, in_row, what);
      else if (what.type == 1) best = best_of(static_cast<const int16_t*>(from) + start, in_row, what);
      else if (what.type == 2) best = best_of(static_cast<const int32_t*>(from) + start, in_row, what);
      else best = best_of(static_cast<const int64_t*>(from) + start, in_row, what);
    }
    for (uint32_t distance = 16; distance > 0; distance /= 2) best = better(what.reduction, best, from_lane(best, distance));
    if (what.threads > 32) {
      if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = best;
      __syncthreads();
      if (threadIdx.x == 0)
        for (uint32_t i = 1; i < what.threads / 32; ++i) best = better(what.reduction, best, partial[i]);
      __syncthreads();
    }
    if (is_there && in_row == 0) put(out, what.out_type, row, what.reduction >= 3 ? best.at : best.value);
  }
}

// out[index[r], c] += x[c, r], in 32 or 64 bits: sums that fit at the end may wrap on the way.
extern "C" __global__ void __launch_bounds__(256) scatter_rows(const void* x, const void* index, void* out, ScatteredSum what) {
  const uint64_t all = static_cast<uint64_t>(what.width) * what.terms;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += static_cast<uint64_t>(gridDim.x) * blockDim.x) {
    const uint64_t c = i / what.terms, r = i % what.terms;
    const int64_t value = element(x, what.x_type, i);
    const uint64_t at = static_cast<uint64_t>(element(index, what.index_type, r)) * what.width + c;
    if (what.is_wide) atomicAdd(static_cast<unsigned long long*>(out) + at, static_cast<unsigned long long>(value));
    else atomicAdd(static_cast<unsigned int*>(out) + at, static_cast<unsigned int>(value));
  }
}

// 32-bit sums into a narrower type.
extern "C" __global__ void __launch_bounds__(256) narrow_sums(const int32_t* sums, void* out, uint32_t type, uint64_t count) {
  const uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) put(out, type, i, sums[i]);
}
