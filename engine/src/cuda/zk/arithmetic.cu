// Sums, differences, products and inverses of lists of numbers, and sums of points: for the comparison with
// the CPU (test/proofs_equal_cuda.cpp).
#include "zk_memory.cuh"

namespace assay::cuda {

// Six results for each pair.
template <typename F>
__device__ __forceinline__ void all_operations(const F* a, const F* b, uint32_t count, F* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const F x = load(a + i), y = load(b + i);
  store(out + 6 * i, x + y);
  store(out + 6 * i + 1, x - y);
  store(out + 6 * i + 2, x * y);
  store(out + 6 * i + 3, F::products(x, y, x, x));
  store(out + 6 * i + 4, x.plain());
  store(out + 6 * i + 5, x.inverted());
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

extern "C" __global__ void __launch_bounds__(128) zk_scalar_operations(const Fr* a, const Fr* b, uint32_t count, Fr* out) {
  all_operations(a, b, count, out);
}

extern "C" __global__ void __launch_bounds__(128) zk_coordinate_operations(const Fp* a, const Fp* b, uint32_t count, Fp* out) {
  all_operations(a, b, count, out);
}

// sum + point, sum + (sum of the next place), twice the sum.
extern "C" __global__ void __launch_bounds__(128) zk_point_operations(const G1* sums, const G1Affine* points, uint32_t count, G1* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const G1 sum = load(sums + i);
  store(out + 3 * i, sum + load(points + i));
  store(out + 3 * i + 1, sum + load(sums + (i + 1) % count));
  store(out + 3 * i + 2, sum.doubled());
}
