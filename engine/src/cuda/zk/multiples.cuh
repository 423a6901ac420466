// Multiples of one point by many scalars, of either group.
#pragma once
#include "powers_shape.hpp"
#include "zk_memory.cuh"

namespace assay::cuda {

// `table`: of each byte of a scalar, lowest first, the 255 multiples that it may ask for.
template <typename F>
__device__ __forceinline__ void multiples(const AffinePoint<F>* table, const Fr* scalars, uint64_t count, AffinePoint<F>* out) {
  const uint64_t from = (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kMultiplesEach;
  if (from >= count) return;
  const uint32_t many = static_cast<uint32_t>(min(uint64_t{kMultiplesEach}, count - from));
  PointSum<F> sums[kMultiplesEach];
  F before[kMultiplesEach], product = F::one();
#pragma unroll 1
  for (uint32_t i = 0; i < many; ++i) {
    const Fr scalar = load(scalars + from + i).plain();
    PointSum<F> sum = PointSum<F>::infinity();
#pragma unroll 1
    for (uint32_t byte = 0; byte < 32; ++byte) {
      const uint32_t digit = static_cast<uint32_t>(scalar.w[byte / 8] >> (8 * (byte % 8))) & 0xFF;
      if (digit != 0) sum = sum + load(table + byte * 255 + digit - 1);
    }
    sums[i] = sum;
    before[i] = product;
    if (!sum.is_infinity()) product = product * sum.zzz;
  }
  F back = product.inverted();
#pragma unroll 1
  for (uint32_t i = many; i-- > 0;) {
    const PointSum<F>& sum = sums[i];
    AffinePoint<F> own{F::zero(), F::zero()};
    if (!sum.is_infinity()) {
      const F inverse = back * before[i], root = inverse * sum.zz;
      back = back * sum.zzz;
      own = {sum.x * root * root, sum.y * inverse};
    }
    store(out + from + i, own);
  }
}

}  // namespace assay::cuda
