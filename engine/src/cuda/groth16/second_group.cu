// Sums and multiples of points of the second group: cuda/zk/msm.cu and powers.cu have those of the first one.
#include "cuda/zk/msm_points.cuh"
#include "cuda/zk/multiples.cuh"

using namespace assay;
using namespace assay::cuda;

extern "C" __global__ void __launch_bounds__(kAddThreads, 2) zk_add_points_2(const G2Affine* points, const uint32_t* places, const uint32_t* bucket_starts,
                                                                            uint32_t count, uint32_t each, G2* buckets, G2* items, uint32_t* keys) {
  add_points<Fp2>(points, places, bucket_starts, count, each, buckets, items, keys);
}

extern "C" __global__ void __launch_bounds__(kAddThreads) zk_join_2(const G2* from, const uint32_t* from_keys, uint32_t count, uint32_t is_last, G2* buckets,
                                                                   G2* items, uint32_t* keys) {
  join<Fp2>(from, from_keys, count, is_last, buckets, items, keys);
}

extern "C" __global__ void __launch_bounds__(kAddThreads) zk_weigh_2(const G2* sums, const G2* weighed, uint32_t count, uint32_t each, uint32_t scale,
                                                                    G2* sums_out, G2* weighed_out) {
  weigh<Fp2>(sums, weighed, count, each, scale, sums_out, weighed_out);
}

extern "C" __global__ void __launch_bounds__(128) zk_multiples_2(const G2Affine* table, const Fr* scalars, uint64_t count, G2Affine* out) {
  multiples<Fp2>(table, scalars, count, out);
}
