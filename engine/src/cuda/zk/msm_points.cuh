// The part of msm.cu that knows points, for both groups: sums of sorted points, of partial sums, and of
// buckets.
#pragma once
#include "msm_shape.hpp"
#include "zk_memory.cuh"

namespace assay::cuda {

// Sums that are few are functions of their own, or they would be most of the code.
template <typename F>
__device__ __noinline__ void add_into(PointSum<F>& sum, const PointSum<F>& other) { sum = sum + other; }

// Adds to the sums of partial results what a thread found: a run of points of one bucket. The first and the
// last run of a thread may go on in its neighbours', so they are left for the next round; one between them is
// the whole bucket.
template <typename F>
struct Runs {
  PointSum<F>* buckets;
  PointSum<F>* items;
  uint32_t* keys;
  bool is_last;  // nobody comes after this thread
  bool has_first = false;

  __device__ __forceinline__ void put(uint32_t thread, uint32_t bucket, const PointSum<F>& sum, bool ends) {
    if (is_last || (has_first && !ends)) {
      store(buckets + bucket, sum);
    } else {
      const uint32_t at = 2 * thread + (has_first ? 1 : 0);
      store(items + at, sum);
      keys[at] = bucket;
    }
    if (!has_first && ends && !is_last) keys[2 * thread + 1] = kNoBucket;
    has_first = true;
  }
};


// Each thread adds `each` points of the sorted list. `count`: of buckets.
template <typename F>
__device__ __forceinline__ void add_points(const AffinePoint<F>* points, const uint32_t* places, const uint32_t* bucket_starts, uint32_t count, uint32_t each, PointSum<F>* buckets, PointSum<F>* items, uint32_t* keys) {
  const uint32_t thread = blockIdx.x * kAddThreads + threadIdx.x, total = bucket_starts[count];
  uint32_t at = thread * each;
  if (uint64_t{thread} * each >= total) {
    keys[2 * thread] = keys[2 * thread + 1] = kNoBucket;
    return;
  }
  const uint32_t end = min(at + each, total);
  // The last bucket that begins here or before, and is not empty.
  uint32_t bucket = 0, above = count;
  while (above - bucket > 1) {
    const uint32_t middle = bucket + (above - bucket) / 2;
    if (bucket_starts[middle] <= at) bucket = middle;
    else above = middle;
  }
  uint32_t bucket_end = bucket_starts[bucket + 1];
  Runs<F> runs{buckets, items, keys, false};
  PointSum<F> sum = PointSum<F>::infinity();
  uint32_t place = places[at];
  for (; at < end; ++at) {
    if (at == bucket_end) {
      runs.put(thread, bucket, sum, false);
      sum = PointSum<F>::infinity();
      do bucket_end = bucket_starts[++bucket + 1];
      while (bucket_end == at);
    }
    AffinePoint<F> point = load(points + (place & ~kNegative));
    if ((place & kNegative) != 0) point.y = F::zero() - point.y;
    if (at + 1 < end) place = places[at + 1];
    sum = sum + point;
  }
  runs.put(thread, bucket, sum, true);
}

// The same for partial sums. `is_last`: one thread has all of them.
template <typename F>
__device__ __forceinline__ void join(const PointSum<F>* from, const uint32_t* from_keys, uint32_t count, uint32_t is_last, PointSum<F>* buckets, PointSum<F>* items, uint32_t* keys) {
  const uint32_t thread = blockIdx.x * kAddThreads + threadIdx.x, first = thread * kJoinEach;
  if (first >= count) return;
  const uint32_t end = min(first + kJoinEach, count);
  Runs<F> runs{buckets, items, keys, is_last != 0};
  PointSum<F> sum = PointSum<F>::infinity();
  uint32_t bucket = kNoBucket;
  for (uint32_t at = first; at < end; ++at) {
    const uint32_t own = from_keys[at];
    if (own == kNoBucket) continue;
    if (own != bucket && bucket != kNoBucket) {
      runs.put(thread, bucket, sum, false);
      sum = PointSum<F>::infinity();
    }
    bucket = own;
    const PointSum<F> item = load(from + at);
    add_into(sum, item);
  }
  if (bucket != kNoBucket) runs.put(thread, bucket, sum, true);
  else if (is_last == 0) keys[2 * thread] = keys[2 * thread + 1] = kNoBucket;
}

// Σ i·sum_i of `each` sums a thread, 2^scale times, added to what was found of them before, and their plain
// sum. A row of blocks is a window.
template <typename F>
__device__ __forceinline__ void weigh(const PointSum<F>* sums, const PointSum<F>* weighed, uint32_t count, uint32_t each, uint32_t scale, PointSum<F>* sums_out, PointSum<F>* weighed_out) {
  const uint32_t thread = blockIdx.x * kAddThreads + threadIdx.x, groups = count / each;
  if (thread >= groups) return;
  const uint64_t in = uint64_t{blockIdx.y} * count + uint64_t{thread} * each, out = uint64_t{blockIdx.y} * groups + thread;
  PointSum<F> running = PointSum<F>::infinity(), own = PointSum<F>::infinity();
#pragma unroll 1
  for (uint32_t i = each; i-- > 0;) {
    const PointSum<F> one = load(sums + in + i);
    add_into(running, one);
    if (i > 0) add_into(own, running);
  }
#pragma unroll 1
  for (uint32_t i = 0; i < scale; ++i) own = own.doubled();
  if (weighed != nullptr) {
#pragma unroll 1
    for (uint32_t i = 0; i < each; ++i) {
      const PointSum<F> one = load(weighed + in + i);
      add_into(own, one);
    }
  }
  store(sums_out + out, running);
  store(weighed_out + out, own);
}

}  // namespace assay::cuda
