// Values of polynomials at all 2^k-th roots of 1, and back. A list of 2^log2 numbers is taken in few passes;
// each brings tiles into shared memory, does up to eight steps of butterflies there, and multiplies by what
// the passes after it take for granted. Passes in one order leave the numbers in the order of reversed bits;
// the same passes turned round take them from there.
#include "cuda/zk/zk_memory.cuh"
#include "ntt_shape.hpp"

namespace assay::cuda {

__device__ __forceinline__ Fr power_at(const PowerTables& of, uint64_t exponent) {
  const Fr low = load(static_cast<const Fr*>(of.low) + (exponent & ((1u << kNttLowBits) - 1)));
  const uint64_t high = exponent >> kNttLowBits;
  return high == 0 ? low : low * load(static_cast<const Fr*>(of.high) + high);
}

__device__ __forceinline__ uint32_t reversed(uint32_t n, uint32_t bits) { return bits == 0 ? 0 : __brev(n) >> (32 - bits); }

// Numbers in shared memory: their halves apart, so that neighbours meet different banks.
struct Tile {
  uint4 halves[2][kNttTile];
  __device__ __forceinline__ Fr get(uint32_t at) const {
    const uint4 a = halves[0][at], b = halves[1][at];
    return {{static_cast<uint64_t>(a.y) << 32 | a.x, static_cast<uint64_t>(a.w) << 32 | a.z, static_cast<uint64_t>(b.y) << 32 | b.x,
             static_cast<uint64_t>(b.w) << 32 | b.z}};
  }
  __device__ __forceinline__ void put(uint32_t at, const Fr& n) {
    halves[0][at] = make_uint4(static_cast<uint32_t>(n.w[0]), static_cast<uint32_t>(n.w[0] >> 32), static_cast<uint32_t>(n.w[1]), static_cast<uint32_t>(n.w[1] >> 32));
    halves[1][at] = make_uint4(static_cast<uint32_t>(n.w[2]), static_cast<uint32_t>(n.w[2] >> 32), static_cast<uint32_t>(n.w[3]), static_cast<uint32_t>(n.w[3] >> 32));
  }
};

// Where a number of a tile stands in the list, and what it is multiplied by between passes.
struct TilePlace {
  uint64_t at, exponent;
  uint32_t slot;
  bool is_there;

  __device__ __forceinline__ TilePlace(const NttShape& shape, uint32_t i) {
    const uint32_t column_bits = 10 - shape.bits;
    // Neighbours in memory go to neighbours among threads.
    const uint32_t m = shape.low == 0 ? i & ((1u << shape.bits) - 1) : i >> column_bits;
    const uint32_t c = shape.low == 0 ? i >> shape.bits : i & ((1u << column_bits) - 1);
    const uint64_t column = (uint64_t{blockIdx.x} << column_bits) + c, lo = column & ((uint64_t{1} << shape.low) - 1);
    is_there = column < uint64_t{1} << (shape.log2 - shape.bits);
    at = (column >> shape.low << (shape.low + shape.bits)) + (uint64_t{m} << shape.low) + lo;
    exponent = lo * reversed(m, shape.bits) << (shape.log2 - shape.low - shape.bits);
    slot = (m << column_bits) + c;
  }
};

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

// `roots`: w^i of the 2^kNttMostBits-th root w, the first half of them. `powers`: of the 2^log2-th root.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_ntt(NttShape shape, const Fr* roots, PowerTables powers, Fr* list) {
  static_assert(kNttTile == 1u << 10);
  __shared__ Tile tile;
  __shared__ Fr own_roots[1u << (kNttMostBits - 1)];
  const uint32_t column_bits = 10 - shape.bits;
  for (uint32_t i = threadIdx.x; i < 1u << (kNttMostBits - 1); i += kNttThreads) own_roots[i] = load(roots + i);
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < kNttTile; i += kNttThreads) {
    const TilePlace place(shape, i);
    if (!place.is_there) continue;
    Fr n = load(list + place.at);
    if (shape.is_back != 0 && place.exponent != 0) n = n * power_at(powers, place.exponent);
    tile.put(place.slot, n);
  }
#pragma unroll 1
  for (uint32_t step = 0; step < shape.bits; ++step) {
    const uint32_t half_bits = shape.is_back != 0 ? step : shape.bits - 1 - step, half = 1u << half_bits;
    __syncthreads();
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < kNttTile / 2; i += kNttThreads) {
      const uint32_t c = i & ((1u << column_bits) - 1), pair = i >> column_bits, j = pair & (half - 1);
      const uint32_t first = (((pair >> half_bits << (half_bits + 1)) + j) << column_bits) + c, second = first + (half << column_bits);
      const Fr root = own_roots[j << (kNttMostBits - 1 - half_bits)];
      const Fr u = tile.get(first);
      Fr v = tile.get(second);
      if (shape.is_back != 0) {
        v = v * root;
        tile.put(first, u + v);
        tile.put(second, u - v);
      } else {
        tile.put(first, u + v);
        tile.put(second, (u - v) * root);
      }
    }
  }
  __syncthreads();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < kNttTile; i += kNttThreads) {
    const TilePlace place(shape, i);
    if (!place.is_there) continue;
    Fr n = tile.get(place.slot);
    if (shape.is_back == 0 && place.exponent != 0) n = n * power_at(powers, place.exponent);
    store(list + place.at, n);
  }
}

// Between the plain order and that of reversed bits.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_reorder(uint32_t log2, Fr* list) {
  const uint64_t i = uint64_t{blockIdx.x} * kNttThreads + threadIdx.x;
  if (i >= uint64_t{1} << log2) return;
  const uint64_t other = reversed(static_cast<uint32_t>(i), log2);
  if (other <= i) return;
  const Fr a = load(list + i), b = load(list + other);
  store(list + i, b);
  store(list + other, a);
}

// Each number times x^i, where i is its place, or its place with bits reversed.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_times_powers(uint32_t log2, uint32_t is_reversed, PowerTables powers, Fr* list) {
  const uint64_t i = uint64_t{blockIdx.x} * kNttThreads + threadIdx.x;
  if (i >= uint64_t{1} << log2) return;
  const uint64_t exponent = is_reversed != 0 ? reversed(static_cast<uint32_t>(i), log2) : i;
  // The first of the high powers is a factor of all.
  const Fr low = load(static_cast<const Fr*>(powers.low) + (exponent & ((1u << kNttLowBits) - 1)));
  const Fr high = load(static_cast<const Fr*>(powers.high) + (exponent >> kNttLowBits));
  store(list + i, load(list + i) * (low * high));
}

// (a·b - c)·factor, in the place of a.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_divide_out(uint64_t count, Fr factor, const Fr* b, const Fr* c, Fr* a) {
  const uint64_t i = uint64_t{blockIdx.x} * kNttThreads + threadIdx.x;
  if (i >= count) return;
  store(a + i, (load(a + i) * load(b + i) - load(c + i)) * factor);
}

// Values of a and b in the order of reversed bits to factor·(a(x)·b(1/x) + a(1/x)·b(x)), in the place of a.
// In this order a root and its inverse have the same first bit, and all bits after it differ.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_cross_values(uint64_t count, Fr factor, const Fr* b, Fr* a) {
  const uint64_t i = uint64_t{blockIdx.x} * kNttThreads + threadIdx.x;
  if (i >= count) return;
  const uint64_t other = i == 0 ? 0 : i ^ ((uint64_t{1} << (63 - __clzll(static_cast<long long>(i)))) - 1);
  // One of the two does it for both.
  if (other < i) return;
  const Fr value = Fr::products(load(a + i), load(b + other), load(a + other), load(b + i)) * factor;
  store(a + i, value);
  if (other != i) store(a + other, value);
}

// Coefficients of the powers 1 … of what was crossed, then a 0: `count` in all. The last power's times
// `last`.
extern "C" __global__ void __launch_bounds__(kNttThreads) zk_take_crossed(const Fr* from, uint64_t count, Fr last, Fr* out) {
  const uint64_t i = uint64_t{blockIdx.x} * kNttThreads + threadIdx.x;
  if (i >= count) return;
  Fr value = Fr::zero();
  if (i + 1 < count) value = load(from + i + 1);
  if (i + 2 == count) value = value * last;
  store(out + i, value);
}
