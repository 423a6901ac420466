// The run of a segment on a card, in whole numbers: what zk/segment_run.cpp does on the host, with the same
// results. Sums of products are exact in any order, so that they may be cut and added up as they come.
#include "core/portable.hpp"
#include "run_shape.hpp"

using namespace assay::cuda;

namespace assay::cuda {

__device__ __forceinline__ uint64_t place_of_thread() { return uint64_t{blockIdx.x} * kRunThreads + threadIdx.x; }

__device__ __forceinline__ uint64_t row_at(const RowOrder& order, uint64_t place) {
  const uint64_t x = order.first + place;
  uint64_t row = 0;
  for (uint32_t j = 0; j < order.bits; ++j) row |= ((x >> order.places[j] & 1) ^ (order.mask >> j & 1)) << j;
  return row;
}

__device__ __forceinline__ int64_t rounded(const RunShape& shape, int64_t sum) { return (sum + (int64_t{1} << (shape.scale - 1))) >> shape.scale; }

__device__ __forceinline__ bool fits(int64_t value, uint32_t bits) { return value < int64_t{1} << (bits - 1) && value > -(int64_t{1} << (bits - 1)); }

__device__ __forceinline__ void note(const RunShape& shape, uint64_t key, uint64_t place, uint32_t kind) {
  atomicMin(shape.first_left, static_cast<unsigned long long>(key + kKeysOfPlace * place + kind));
}

// Sums of a tile, four by four a thread: rows 4·(thread / 16) on, columns thread % 16 and every 16th after
// it. `B`: 32 bits where b's numbers fit.
template <typename B>
__device__ __forceinline__ void tile_sums(const ProductShape& shape, const int64_t* a, const int64_t* b, uint32_t row, uint32_t column, uint32_t from,
                                          uint32_t to, int64_t (&sums)[4][4]) {
  __shared__ int32_t own_a[kTileDeep][kTile + 4];
  __shared__ B own_b[kTileDeep][kTile + 2];
  const uint32_t t = threadIdx.x, y = t / 16 * 4, x = t % 16;
  for (uint32_t k = from; k < to; k += kTileDeep) {
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t i = t + j * kRunThreads;
      // Neighbours in memory by neighbours in a warp.
      const uint32_t ka = shape.a_column == 1 ? i % kTileDeep : i / kTile, ia = shape.a_column == 1 ? i / kTileDeep : i % kTile;
      const uint32_t kb = shape.b_row == 1 ? i % kTileDeep : i / kTile, ib = shape.b_row == 1 ? i / kTileDeep : i % kTile;
      own_a[ka][ia] = k + ka < to && row + ia < shape.rows ? static_cast<int32_t>(a[(row + ia) * shape.a_row + (k + ka) * shape.a_column]) : 0;
      own_b[kb][ib] = k + kb < to && column + ib < shape.columns ? static_cast<B>(b[(k + kb) * shape.b_row + (column + ib) * shape.b_column]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t deep = 0; deep < kTileDeep; ++deep) {
      int32_t left[4];
      B right[4];
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i) left[i] = own_a[deep][y + i], right[i] = own_b[deep][x + 16 * i];
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
        for (uint32_t j = 0; j < 4; ++j) sums[i][j] += static_cast<int64_t>(left[i]) * right[j];
    }
    __syncthreads();
  }
}

}  // namespace assay::cuda

// Adds products to c, which lies in rows of `columns`. Rows of blocks are pieces of the terms.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_product(ProductShape shape, const int64_t* a, const int64_t* b, unsigned long long* c) {
  const uint32_t across = (shape.columns + kTile - 1) / kTile, row = blockIdx.x / across * kTile, column = blockIdx.x % across * kTile;
  const uint32_t from = blockIdx.y * shape.each, to = min(from + shape.each, shape.deep);
  int64_t sums[4][4] = {};
  tile_sums<int64_t>(shape, a, b, row, column, from, to, sums);
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t y = row + threadIdx.x / 16 * 4 + i, x = column + threadIdx.x % 16 + 16 * j;
      if (y < shape.rows && x < shape.columns) atomicAdd(c + uint64_t{y} * shape.columns + x, static_cast<unsigned long long>(sums[i][j]));
    }
}

// Takes products away from c; b's numbers fit 32 bits.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_change(ProductShape shape, const int64_t* a, const int64_t* b, int64_t* c) {
  const uint32_t across = (shape.columns + kTile - 1) / kTile, row = blockIdx.x / across * kTile, column = blockIdx.x % across * kTile;
  int64_t sums[4][4] = {};
  tile_sums<int32_t>(shape, a, b, row, column, 0, shape.deep, sums);
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t y = row + threadIdx.x / 16 * 4 + i, x = column + threadIdx.x % 16 + 16 * j;
      if (y < shape.rows && x < shape.columns) c[uint64_t{y} * shape.columns + x] -= sums[i][j];
    }
}

// Rows of `columns` elements of 2, 4 or 8 bytes become numbers in rows of `width`.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_widen(const void* from, uint32_t bytes, uint64_t count, uint64_t columns, uint64_t width,
                                                                      int64_t* out) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const int64_t number = bytes == 2 ? static_cast<const int16_t*>(from)[i] : bytes == 4 ? static_cast<const int32_t*>(from)[i] : static_cast<const int64_t*>(from)[i];
  out[i / columns * width + i % columns] = number;
}

// `one` at each row's class.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_labels(const int32_t* labels, uint64_t rows, uint64_t width, int64_t one, int64_t* out) {
  const uint64_t row = place_of_thread();
  if (row < rows) out[row * width + static_cast<uint64_t>(labels[row])] = one;
}

// What enters the first link, of all places.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_enter(const __grid_constant__ RowOrder order, const int64_t* features, uint64_t width,
                                                                      uint64_t count, int64_t* out) {
  const uint64_t i = place_of_thread();
  if (i < count) out[i] = features[row_at(order, i / width) * width + i % width];
}

// Of the sums of a batch: what is rounded, its positive part, and what enters the next link. `a` is null for
// the last link, which has none of these.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_take(const __grid_constant__ RunShape shape, const int64_t* z, uint64_t count,
                                                                     uint32_t bias, int64_t* h, int64_t* a, int64_t* m, int64_t* entering,
                                                                     int64_t* last) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const uint64_t place = i / shape.width;
  const int64_t value = rounded(shape, z[i]);
  if (!fits(value, shape.h)) note(shape, shape.key, place, 1);
  h[i] = value;
  if (a == nullptr) return;
  const int64_t positive = value > 0 ? value : 0;
  a[i] = positive;
  m[i] = value > 0 ? 1 : 0;
  int64_t enters = positive;
  if (i % shape.width == bias) {
    last[place] = positive;
    enters += int64_t{1} << shape.activation;
    if (!fits(enters, shape.h)) note(shape, shape.next_key, place, 0);
  }
  entering[i] = enters;
}

// Gradients of a batch, of the last link. `first`: of the batch's places.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_loss(const __grid_constant__ RunShape shape, const __grid_constant__ RowOrder order,
                                                                     uint64_t first, const int64_t* h, const int64_t* labels, uint64_t count, int64_t* d) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const uint64_t place = i / shape.width;
  const int64_t value = (h[i] - labels[row_at(order, first + place) * shape.width + i % shape.width]) * (int64_t{1} << (shape.gradient - shape.activation));
  if (!fits(value, shape.d)) note(shape, shape.key, place, 1);
  d[i] = value;
}

// Of any other.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_back(const __grid_constant__ RunShape shape, const int64_t* q, const int64_t* m,
                                                                     uint64_t count, int64_t* d) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const int64_t value = m[i] == 0 ? 0 : rounded(shape, q[i]);
  if (!fits(value, shape.d)) note(shape, shape.key, i / shape.width, 1);
  d[i] = value;
}

// The lower bits of what rounding leaves; of what came back where `back` is there.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_rest(const __grid_constant__ RunShape shape, const int64_t* z, const int64_t* h,
                                                                     const int64_t* q, const int64_t* m, const int64_t* d, uint64_t count, int64_t* low,
                                                                     int64_t* back) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const int64_t half = int64_t{1} << (shape.scale - 1), one = int64_t{1} << shape.scale, mask = (int64_t{1} << shape.low_bits) - 1;
  low[i] = (z[i] + half - h[i] * one) & mask;
  if (back != nullptr) back[i] = (m[i] * (q[i] + half) - d[i] * one) & mask;
}

// `bits` bits of x + by from `shift` on. A sum that is below 0, or has more than `all` bits, left its range.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_limb(const __grid_constant__ RunShape shape, const int64_t* numbers, int64_t by, uint32_t all,
                                                                     uint32_t shift, uint32_t bits, uint64_t count, int64_t* out) {
  const uint64_t i = place_of_thread();
  if (i >= count) return;
  const int64_t whole = numbers[i] + by;
  if (whole < 0 || whole >> all != 0) note(shape, shape.key, 0, 0);
  out[i] = whole >> shift & ((int64_t{1} << bits) - 1);
}

// How often each row of a table is looked up. Rows of blocks are pieces of the table.
extern "C" __global__ void __launch_bounds__(kRunThreads) zk_run_count(const __grid_constant__ CountShape shape, const int64_t* x, const int64_t* y,
                                                                      const int64_t* w, unsigned long long* table) {
  __shared__ uint32_t own[kCountedRows];
  for (uint32_t k = threadIdx.x; k < kCountedRows; k += kRunThreads) own[k] = 0;
  __syncthreads();
  const uint64_t first = uint64_t{blockIdx.y} * kCountedRows, rows = uint64_t{1} << shape.table_bits;
  const int64_t half = int64_t{1} << (shape.scale - 1), one = int64_t{1} << shape.scale;
  for (uint64_t i = place_of_thread(); i < shape.count; i += uint64_t{gridDim.x} * kRunThreads) {
    const int64_t number = x[i] + shape.by;
    int64_t row = number;
    if (shape.kind == CountShape::with_sign) row = number == 0 ? static_cast<int64_t>(rows) - 1 : number + static_cast<int64_t>(rows) / 2 - 1;
    if (shape.kind == CountShape::rest) row = (number + half - y[i] * one) >> shape.low_bits;
    if (shape.kind == CountShape::rest_back) row = (w[i] * (number + half) - y[i] * one) >> shape.low_bits;
    if (shape.kind == CountShape::limb) row = number >> shape.shift & static_cast<int64_t>(rows - 1);
    const uint64_t at = static_cast<uint64_t>(row) - first;
    if (at < kCountedRows && static_cast<uint64_t>(row) < rows) atomicAdd(own + at, 1u);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < kCountedRows; k += kRunThreads)
    if (own[k] != 0) atomicAdd(table + first + k, static_cast<unsigned long long>(own[k]));
}
