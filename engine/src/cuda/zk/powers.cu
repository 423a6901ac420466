// Multiples of one point by many scalars, and the powers of one: what the powers of a known τ are made of
// (docs/zk.md §1, `dev`).
#include "multiples.cuh"

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

extern "C" __global__ void __launch_bounds__(128) zk_multiples(const G1Affine* table, const Fr* scalars, uint64_t count, G1Affine* out) {
  multiples<Fp>(table, scalars, count, out);
}
