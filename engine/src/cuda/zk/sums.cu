// Rounds of sums over cubes (zk/proof_kernels.hpp): values of the next polynomial, and columns with a
// variable less. A row of blocks is a sum; those of one kind and size go together. A thread takes pairs of
// corners that differ in the first variable; along it columns go on by steps, so that values at 0, 1, 2 …
// cost an addition each.
#include "scalars.cuh"

using namespace assay;
using namespace assay::cuda;

namespace assay::cuda {

struct Moving {
  Fr now, step;
  __device__ __forceinline__ void go() { now = now + step; }
};

// Numbers of sums have 62 bits at most, so that differences are numbers too.
__device__ __forceinline__ int64_t number_at(const Source& column, uint64_t i) { return static_cast<const int64_t*>(column.at)[i]; }

__device__ __forceinline__ Moving moving_at(const Source& column, uint64_t i, uint64_t half) {
  if (column.is_numbers != 0) {
    const int64_t low = number_at(column, i);
    return {scalar_of(low), scalar_of(number_at(column, i + half) - low)};
  }
  const Fr low = value_at(column, i);
  return {low, value_at(column, i + half) - low};
}

// Sums of a thread at each point, in shared memory: there are too many for registers. Words of one place lie
// side by side.
struct PointSums {
  uint64_t* words;
  __device__ __forceinline__ Fr get(uint32_t point) const {
    Fr out;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) out.w[k] = words[(4 * point + k) * kListThreads + threadIdx.x];
    return out;
  }
  __device__ __forceinline__ void set(uint32_t point, const Fr& value) const {
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) words[(4 * point + k) * kListThreads + threadIdx.x] = value.w[k];
  }
};

__device__ __forceinline__ void write_sums(const PointSums& sums, uint32_t points, const Fr& others, const Fr& growth, Fr* out) {
  __shared__ Fr shared[kListThreads];
  Fr* own = out + (uint64_t{blockIdx.y} * gridDim.x + blockIdx.x) * kRoundResults;
#pragma unroll 1
  for (uint32_t point = 0; point < kRoundResults; ++point) {
    const Fr mine = point < points ? sums.get(point) : point == kMostPoints ? others : point == kMostPoints + 1 ? growth : Fr::zero();
    const Fr sum = block_sum(mine, shared);
    if (threadIdx.x == 0) store(own + point, sum);
  }
}

// The linear part of what is looked up.
__device__ __forceinline__ Moving linear_part(const PartShape& part, uint32_t values, const Columns& columns, uint64_t i, uint64_t half) {
  Moving sum{part.constant, Fr::zero()};
#pragma unroll 1
  for (uint32_t k = 0; k < values; ++k) {
    if (part.has_by[k] == 0) continue;
    if (columns.column[2 + k].is_numbers != 0) {
      const int64_t low = number_at(columns.column[2 + k], i);
      sum.now = plus_short(sum.now, part.short_by[k], low);
      sum.step = plus_short(sum.step, part.short_by[k], number_at(columns.column[2 + k], i + half) - low);
      continue;
    }
    const Moving value = moving_at(columns.column[2 + k], i, half);
    sum.now = sum.now + part.by[k] * value.now;
    sum.step = sum.step + part.by[k] * value.step;
  }
  return sum;
}

// The left one of two values that are multiplied, with their factor.
__device__ __forceinline__ Moving left_of(const PartShape& part, const Columns& columns, uint64_t i, uint64_t half) {
  const Source& column = columns.column[2 + part.left];
  if (column.is_numbers != 0) {
    const int64_t low = number_at(column, i);
    return {plus_short(Fr::zero(), part.short_product, low), plus_short(Fr::zero(), part.short_product, number_at(column, i + half) - low)};
  }
  const Moving value = moving_at(column, i, half);
  return {value.now * part.product, value.step * part.product};
}

}  // namespace assay::cuda

// Three lookups at a place; at most the last has a product.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_round_lookups(const SumShape* shapes, uint32_t points, uint64_t half, Fr* out) {
  extern __shared__ uint64_t words[];
  __shared__ SumShape shape;
  take_shape(shapes, shape);
  const Columns& columns = shape.columns;
  const Parts& parts = shape.parts;
  const PointSums sums{words};
  for (uint32_t x = 0; x < points; ++x) sums.set(x, Fr::zero());
  Fr others = Fr::zero(), growth = Fr::zero();
  const PartShape& last = parts.part[2];
#pragma unroll 1
  for (uint64_t i = uint64_t{blockIdx.x} * kListThreads + threadIdx.x; i < half; i += uint64_t{gridDim.x} * kListThreads) {
    Moving e = moving_at(columns.column[0], i, half), g = moving_at(columns.column[1], i, half);
    others = others + g.now;
    growth = growth + g.step;
    Moving a = linear_part(parts.part[0], parts.values, columns, i, half);
    Moving b = linear_part(parts.part[1], parts.values, columns, i, half);
    Moving c = linear_part(last, parts.values, columns, i, half);
    Moving left{Fr::zero(), Fr::zero()}, right{Fr::zero(), Fr::zero()};
    if (last.has_product != 0) {
      left = left_of(last, columns, i, half);
      right = moving_at(columns.column[2 + last.right], i, half);
    }
#pragma unroll 1
    for (uint32_t x = 0; x < points; ++x) {
      const Fr third = last.has_product != 0 ? c.now + left.now * right.now : c.now;
      const Fr ab = a.now * b.now;
      const Fr rest = (g.now * ab - a.now - b.now) * third - ab;
      sums.set(x, sums.get(x) + e.now * rest);
      e.go(), g.go(), a.go(), b.go(), c.go(), left.go(), right.go();
    }
  }
  write_sums(sums, points, others, growth, out);
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_round_lookup(const SumShape* shapes, uint32_t points, uint64_t half, Fr* out) {
  extern __shared__ uint64_t words[];
  __shared__ SumShape shape;
  take_shape(shapes, shape);
  const Columns& columns = shape.columns;
  const Parts& parts = shape.parts;
  const PointSums sums{words};
  for (uint32_t x = 0; x < points; ++x) sums.set(x, Fr::zero());
  Fr others = Fr::zero(), growth = Fr::zero();
#pragma unroll 1
  for (uint64_t i = uint64_t{blockIdx.x} * kListThreads + threadIdx.x; i < half; i += uint64_t{gridDim.x} * kListThreads) {
    Moving e = moving_at(columns.column[0], i, half), g = moving_at(columns.column[1], i, half);
    others = others + g.now;
    growth = growth + g.step;
    Moving a = linear_part(parts.part[0], parts.values, columns, i, half);
    Moving left{Fr::zero(), Fr::zero()}, right{Fr::zero(), Fr::zero()};
    if (parts.part[0].has_product != 0) {
      left = left_of(parts.part[0], columns, i, half);
      right = moving_at(columns.column[2 + parts.part[0].right], i, half);
    }
#pragma unroll 1
    for (uint32_t x = 0; x < points; ++x) {
      const Fr part = a.now + left.now * right.now;
      sums.set(x, sums.get(x) + e.now * (g.now * part - Fr::one()));
      e.go(), g.go(), a.go(), left.go(), right.go();
    }
  }
  write_sums(sums, points, others, growth, out);
}

// e·(g·own − m); what is added apart is g, with its sign turned.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_round_table(const SumShape* shapes, uint32_t points, uint64_t half, Fr* out) {
  extern __shared__ uint64_t words[];
  __shared__ SumShape shape;
  take_shape(shapes, shape);
  const Columns& columns = shape.columns;
  const PointSums sums{words};
  for (uint32_t x = 0; x < points; ++x) sums.set(x, Fr::zero());
  Fr others = Fr::zero(), growth = Fr::zero();
#pragma unroll 1
  for (uint64_t i = uint64_t{blockIdx.x} * kListThreads + threadIdx.x; i < half; i += uint64_t{gridDim.x} * kListThreads) {
    Moving e = moving_at(columns.column[0], i, half), g = moving_at(columns.column[1], i, half), m = moving_at(columns.column[2], i, half),
           own = moving_at(columns.column[3], i, half);
    others = others - g.now;
    growth = growth - g.step;
#pragma unroll 1
    for (uint32_t x = 0; x < points; ++x) {
      sums.set(x, sums.get(x) + e.now * (g.now * own.now - m.now));
      e.go(), g.go(), m.go(), own.go();
    }
  }
  write_sums(sums, points, others, growth, out);
}

// Of two columns, or of three.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_round_product(const SumShape* shapes, uint32_t count, uint32_t points, uint64_t half,
                                                                           Fr* out) {
  extern __shared__ uint64_t words[];
  __shared__ SumShape shape;
  take_shape(shapes, shape);
  const Columns& columns = shape.columns;
  const PointSums sums{words};
  for (uint32_t x = 0; x < points; ++x) sums.set(x, Fr::zero());
#pragma unroll 1
  for (uint64_t i = uint64_t{blockIdx.x} * kListThreads + threadIdx.x; i < half; i += uint64_t{gridDim.x} * kListThreads) {
    Moving a = moving_at(columns.column[0], i, half), b = moving_at(columns.column[1], i, half), c{Fr::one(), Fr::zero()};
    if (count == 3) c = moving_at(columns.column[2], i, half);
#pragma unroll 1
    for (uint32_t x = 0; x < points; ++x) {
      Fr product = a.now * b.now;
      if (count == 3) product = product * c.now;
      sums.set(x, sums.get(x) + product);
      a.go(), b.go(), c.go();
    }
  }
  write_sums(sums, points, Fr::zero(), Fr::zero(), out);
}

// Columns side by side; `count` of them a sum, a row of blocks each.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_fold(const FoldShape* shapes, uint32_t count, uint64_t half, Fr x) {
  const uint64_t i = uint64_t{blockIdx.x} * kListThreads + threadIdx.x;
  if (i >= half) return;
  const FoldShape* shape = shapes + blockIdx.y / count;
  const uint32_t k = blockIdx.y % count;
  const Source column = shape->columns.column[k];
  const Moving own = moving_at(column, i, half);
  store(shape->out + k * half + i, own.now + x * own.step);
}
