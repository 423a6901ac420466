// Multiples of one point by many scalars, and the powers of one: what the powers of a known τ are made of (docs/zk.md §1, `dev`).
#include "powers_shape.hpp"
#include "zk_memory.cuh"

namespace assay::cuda {

__device__ Fr power(const Fr& x, uint64_t exponent) {
  Fr result = Fr::one();
#pragma unroll 1
  for (int bit = 63 - __clzll(static_cast<long long>(exponent | 1)); bit >= 0; --bit) {
    result = result * result;
    if ((exponent >> bit & 1) != 0) result = result * x;
  }
  return result;
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

// first·x^i.
extern "C" __global__ void __launch_bounds__(256) zk_powers(Fr first, Fr x, uint64_t count, Fr* out) {
  const uint64_t from = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPowersEach;
  if (from >= count) return;
  Fr own = first * power(x, from);
#pragma unroll 1
  for (uint64_t i = from; i < min(from + kPowersEach, count); ++i) {
    store(out + i, own);
    own = own * x;
  }
}

// `table`: of each byte of a scalar, lowest first, the 255 multiples that it may ask for.
extern "C" __global__ void __launch_bounds__(128) zk_multiples(const G1Affine* table, const Fr* scalars, uint64_t count, G1Affine* out) {
  const uint64_t from = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kMultiplesEach;
  if (from >= count) return;
  const uint32_t many = static_cast<uint32_t>(min(uint64_t{kMultiplesEach}, count - from));
  G1 sums[kMultiplesEach];
  Fp before[kMultiplesEach], product = Fp::one();
#pragma unroll 1
  for (uint32_t i = 0; i < many; ++i) {
    const Fr scalar = load(scalars + from + i).plain();
    G1 sum = G1::infinity();
#pragma unroll 1
    for (uint32_t byte = 0; byte < 32; ++byte) {
      const uint32_t digit = static_cast<uint32_t>(scalar.w[byte / 8] >> (8 * (byte % 8))) & 0xFF;
      if (digit != 0) sum = sum + load(table + byte * 255 + digit - 1);
    }
    sums[i] = sum;
    before[i] = product;
    if (!sum.is_infinity()) product = product * sum.zzz;
  }
  Fp back = product.inverted();
#pragma unroll 1
  for (uint32_t i = many; i-- > 0;) {
    const G1& sum = sums[i];
    G1Affine own{Fp::zero(), Fp::zero()};
    if (!sum.is_infinity()) {
      const Fp inverse = back * before[i], root = inverse * sum.zz;
      back = back * sum.zzz;
      own = {sum.x * root * root, sum.y * inverse};
    }
    store(out + from + i, own);
  }
}
