// Lists of scalars: eq tables, inner products, folds, inverses, and polynomials by their coefficients. What
// each does is said in zk/proof_kernels.hpp; here is how it is spread over threads.
#include "scalars.cuh"

using namespace assay;
using namespace assay::cuda;

namespace assay::cuda {

__device__ __forceinline__ uint64_t own_place() { return uint64_t{blockIdx.x} * kListThreads + threadIdx.x; }

__device__ __forceinline__ Fr part_at(const PartShape& part, uint32_t values, const Columns& columns, uint64_t i) {
  Fr sum = part.constant;
#pragma unroll 1
  for (uint32_t k = 0; k < values; ++k) {
    if (part.has_by[k] == 0) continue;
    const Source& column = columns.column[k];
    if (column.is_numbers != 0) sum = plus_short(sum, part.short_by[k], static_cast<const int64_t*>(column.at)[i]);
    else sum = sum + part.by[k] * value_at(column, i);
  }
  if (part.has_product == 0) return sum;
  const Source &left = columns.column[part.left], &right = columns.column[part.right];
  if (left.is_numbers == 0 || right.is_numbers == 0) return sum + part.product * value_at(left, i) * value_at(right, i);
  const Fr once = plus_short(Fr::zero(), part.shortest_product, static_cast<const int64_t*>(left.at)[i]);
  return plus_short(sum, once, static_cast<const int64_t*>(right.at)[i]);
}

// Σ 1/part as above/below; parts that are 0 count for nothing.
__device__ __forceinline__ void fraction_at(const Columns& columns, const Parts& parts, uint64_t i, Fr& above, Fr& below) {
  above = Fr::zero();
  below = Fr::one();
#pragma unroll 1
  for (uint32_t k = 0; k < parts.count; ++k) {
    const Fr part = part_at(parts.part[k], parts.values, columns, i);
    if (part.is_zero()) continue;
    above = above * part + below;
    below = below * part;
  }
}

__device__ __noinline__ Fr inverse_of(const Fr& x) { return x.inverted(); }

// A thread takes every `threads`th place, and inverts the product of all that is below: `out` keeps the
// products before each.
template <typename At>
__device__ __forceinline__ void divide_all(uint64_t count, Fr* out, const At& at) {
  const uint64_t threads = uint64_t{gridDim.x} * kListThreads, first = own_place();
  Fr product = Fr::one(), above, below;
#pragma unroll 1
  for (uint64_t i = first; i < count; i += threads) {
    at(i, above, below);
    store(out + i, product);
    if (!below.is_zero()) product = product * below;
  }
  if (first >= count) return;
  Fr back = inverse_of(product);
#pragma unroll 1
  for (uint64_t i = first + (count - 1 - first) / threads * threads;; i -= threads) {
    at(i, above, below);
    const Fr inverse = back * load(out + i);
    if (below.is_zero()) {
      store(out + i, Fr::zero());
    } else {
      store(out + i, above * inverse);
      back = back * below;
    }
    if (i < threads) break;
  }
}

}  // namespace assay::cuda

extern "C" __global__ void __launch_bounds__(kListThreads) zk_convert(Source from, uint64_t count, Fr* out) {
  const uint64_t i = own_place();
  if (i < count) store(out + i, value_at(from, i));
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_eq(const Fr* point, uint32_t variables, Fr* out) {
  const uint64_t i = own_place();
  if (i >> variables != 0) return;
  Fr product = Fr::one();
#pragma unroll 1
  for (uint32_t k = 0; k < variables; ++k) {
    const Fr x = load(point + k);
    product = product * ((i >> (variables - 1 - k) & 1) != 0 ? x : Fr::one() - x);
  }
  store(out + i, product);
}

// Each of a with each of b.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_outer(const Fr* a, const Fr* b, uint32_t b_log2, uint64_t count, Fr* out) {
  const uint64_t i = own_place();
  if (i < count) store(out + i, load(a + (i >> b_log2)) * load(b + (i & ((uint64_t{1} << b_log2) - 1))));
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_repeat(Source from, uint64_t times, uint64_t count, Fr* out) {
  const uint64_t i = own_place();
  if (i < count) store(out + i, value_at(from, i / times));
}

// A sum for each block.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_dot(Source a, Source b, uint64_t count, Fr* out) {
  __shared__ Fr shared[kListThreads];
  const uint64_t threads = uint64_t{gridDim.x} * kListThreads;
  const Fr sum = block_sum(sum_of_products(a, b, own_place(), count, threads, [](uint64_t i) { return i; }), shared);
  if (threadIdx.x == 0) store(out + blockIdx.x, sum);
}

// A kernel with a slab of a piece: a sum for each block.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_dots(const Source* pieces, const KernelSource* kernels, uint32_t count, uint32_t slabs,
                                                                  Fr* out) {
  __shared__ Fr shared[kListThreads];
  const uint32_t kernel = blockIdx.x % count, slab = blockIdx.x / count % slabs, piece = blockIdx.x / count / slabs, many = gridDim.x / count / slabs;
  const KernelSource by = kernels[kernel];
  const uint64_t each = (by.count + slabs - 1) / slabs, first = slab * each, end = min(first + each, by.count);
  const Fr own = sum_of_products(pieces[piece], by.values, first + threadIdx.x, end, kListThreads, [&](uint64_t i) { return by.at + i; });
  const Fr sum = block_sum(own, shared);
  if (threadIdx.x == 0) store(out + (uint64_t{slab} * count + kernel) * many + piece, sum);
}

// Σ factor·slice at each place; the factors of numbers are 2^64 times as large.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_combine(const Source* slices, const Fr* factors, uint32_t count, uint64_t places, Fr* out) {
  const uint64_t i = own_place();
  if (i >= places) return;
  Fr sum = Fr::zero();
#pragma unroll 1
  for (uint32_t j = 0; j < count; ++j) {
    const Source slice = slices[j];
    const Fr factor = load(factors + j);
    if (slice.is_numbers != 0) sum = plus_short(sum, factor, static_cast<const int64_t*>(slice.at)[i]);
    else sum = sum + factor * value_at(slice, i);
  }
  store(out + i, sum);
}

// Sums of columns of a matrix; a block is a column, a row of blocks a matrix.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_add_up(const Fr* from, uint32_t rows, Fr* out) {
  __shared__ Fr shared[kListThreads];
  Fr sum = Fr::zero();
#pragma unroll 1
  for (uint32_t row = threadIdx.x; row < rows; row += kListThreads) sum = sum + load(from + (uint64_t{blockIdx.y} * rows + row) * gridDim.x + blockIdx.x);
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) store(out + uint64_t{blockIdx.y} * gridDim.x + blockIdx.x, sum);
}

// The middle axis of (a, b, c) is cut into gridDim.y pieces, each with a sum of its own.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_fold_middle(Source from, uint64_t a, uint64_t b, uint64_t c, Source by, Fr* out) {
  const uint64_t at = own_place(), all = a * c;
  if (at >= all) return;
  const uint64_t piece = (b + gridDim.y - 1) / gridDim.y, first = blockIdx.y * piece, end = min(first + piece, b);
  const uint64_t i = at / c, k = at % c;
  store(out + blockIdx.y * all + at, sum_of_products(from, by, first, end, 1, [&](uint64_t j) { return (i * b + j) * c + k; }));
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_add_pieces(const Fr* from, uint64_t count, uint32_t pieces, Fr* out) {
  const uint64_t i = own_place();
  if (i >= count) return;
  Fr sum = load(from + i);
#pragma unroll 1
  for (uint32_t k = 1; k < pieces; ++k) sum = sum + load(from + k * count + i);
  store(out + i, sum);
}

// By how much each step takes away.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_step_sums(Source column, uint64_t steps, uint64_t batch, uint64_t count, Source by,
                                                                       Fr* out) {
  const uint64_t step = own_place() / count, k = own_place() % count;
  if (step >= steps) return;
  store(out + step * count + k, sum_of_products(column, by, step * batch, (step + 1) * batch, 1, [&](uint64_t p) { return p * count + k; }));
}

// In place: what was there before each step.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_before(Source base, uint64_t steps, uint64_t count, Fr* list) {
  const uint64_t k = own_place();
  if (k >= count) return;
  Fr now = value_at(base, k);
#pragma unroll 1
  for (uint64_t step = 0; step < steps; ++step) {
    Fr* own = list + step * count + k;
    const Fr less = load(own);
    store(own, now);
    now = now - less;
  }
}

// A row of blocks is a list of its own.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_inverse_sums(const InverseShape* shapes, uint64_t count) {
  __shared__ InverseShape shape;
  take_shape(shapes, shape);
  divide_all(count, shape.out, [&](uint64_t i, Fr& above, Fr& below) { fraction_at(shape.sum.columns, shape.sum.parts, i, above, below); });
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_quotients(Source above_list, Source below_list, uint64_t count, Fr* out) {
  divide_all(count, out, [&](uint64_t i, Fr& above, Fr& below) {
    above = value_at(above_list, i);
    below = above.is_zero() ? Fr::zero() : value_at(below_list, i);
  });
}

extern "C" __global__ void __launch_bounds__(kListThreads) zk_add_times(Fr* into, Source from, Fr factor, uint64_t count) {
  const uint64_t i = own_place();
  if (i < count) store(into + i, load(into + i) + factor * value_at(from, i));
}

// `each` coefficients a thread: Σ coefficient·x^(its place - first).
extern "C" __global__ void __launch_bounds__(kListThreads) zk_horner(Source from, uint64_t count, uint64_t each, Fr x, Fr* out) {
  const uint64_t at = own_place(), first = at * each, end = min(first + each, count);
  if (first >= count) return;
  Fr sum = Fr::zero();
#pragma unroll 1
  for (uint64_t i = end; i-- > first;) sum = sum * x + value_at(from, i);
  store(out + at, sum);
}

// The quotient by X - x. `carries`: it for the last coefficient of each thread; null: 0.
extern "C" __global__ void __launch_bounds__(kListThreads) zk_divide(Source from, uint64_t count, uint64_t each, Fr x, const Fr* carries, Fr* out) {
  const uint64_t at = own_place(), first = at * each, end = min(first + each, count);
  if (first >= count) return;
  Fr carry = carries == nullptr ? Fr::zero() : load(carries + at);
#pragma unroll 1
  for (uint64_t i = end; i-- > first;) {
    const Fr own = value_at(from, i);
    store(out + i, carry);
    carry = own + x * carry;
  }
}
