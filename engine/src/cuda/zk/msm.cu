// Σ scalar·point by buckets. Scalars become signed digits; the places of points are sorted by window and
// bucket, without order inside a bucket; each thread adds the same number of them, however many a bucket has;
// then buckets are summed, each as often as its number says. Sums of points are the same in any order, so the
// result is that of cpu/msm.hpp.
#include "msm_points.cuh"

namespace assay::cuda {

// Signed digits of a number of four words, lowest window first.
__device__ __forceinline__ void write_digits(const MsmShape& shape, uint32_t i, const uint64_t w[4], uint32_t sign, uint32_t* digits) {
  uint32_t carry = 0;
  const uint32_t half = 1u << (shape.width - 1);
#pragma unroll 1
  for (uint32_t window = 0; window < shape.windows; ++window) {
    const uint32_t at = window * shape.width, word = at / 64, shift = at % 64;
    uint64_t low = 0, high = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      if (k == word) low = w[k];
      if (k == word + 1) high = w[k];
    }
    uint64_t bits = low >> shift;
    if (shift + shape.width > 64) bits |= high << (64 - shift);
    uint32_t digit = (static_cast<uint32_t>(bits) & (2 * half - 1)) + carry;
    carry = digit > half;
    if (carry != 0) digit = (2 * half - digit) | kNegative;
    // 2^width becomes 0 and a carry.
    digits[uint64_t{window} * shape.count + i] = (digit & ~kNegative) == 0 ? 0 : digit ^ sign;
  }
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

// Scalars in Montgomery's form.
extern "C" __global__ void __launch_bounds__(256) zk_digits(MsmShape shape, const Fr* scalars, uint32_t* digits) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= shape.count) return;
  const Fr plain = load(scalars + i).plain();
  write_digits(shape, i, plain.w, 0, digits);
}

extern "C" __global__ void __launch_bounds__(256) zk_small_digits(MsmShape shape, const int64_t* numbers, uint32_t* digits) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= shape.count) return;
  const int64_t number = numbers[i];
  const uint64_t w[4] = {number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number), 0, 0, 0};
  write_digits(shape, i, w, number < 0 ? kNegative : 0, digits);
}

// All bits that any |number| has.
extern "C" __global__ void __launch_bounds__(256) zk_widest(const int64_t* numbers, uint32_t count, unsigned long long* bits) {
  uint64_t own = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int64_t number = numbers[i];
    own |= number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  }
  for (uint32_t step = 1; step < 32; step *= 2) own |= __shfl_xor_sync(~0u, own, step);
  if (threadIdx.x % 32 == 0 && own != 0) atomicOr(bits, own);
}

// How many digits each partition has. A row of blocks is a window.
extern "C" __global__ void __launch_bounds__(kTileThreads) zk_count(MsmShape shape, const uint32_t* digits, uint32_t* counts) {
  extern __shared__ uint32_t own[];
  const uint32_t partitions = 1u << shape.partition_bits, window = blockIdx.y;
  for (uint32_t k = threadIdx.x; k < partitions; k += kTileThreads) own[k] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * kTileThreads + threadIdx.x; i < shape.count; i += gridDim.x * kTileThreads) {
    const uint32_t digit = digits[uint64_t{window} * shape.count + i] & ~kNegative;
    if (digit != 0) atomicAdd(own + ((digit - 1) >> shape.rest_bits), 1u);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < partitions; k += kTileThreads)
    if (own[k] != 0) atomicAdd(counts + window * partitions + k, own[k]);
}

// Where each partition begins, and how many digits there are in all; `cursors` are the same, to be moved. By
// one block.
extern "C" __global__ void __launch_bounds__(kScanThreads) zk_scan(uint32_t count, const uint32_t* counts, uint32_t* starts, uint32_t* cursors) {
  __shared__ uint32_t sums[kScanThreads];
  const uint32_t each = (count + kScanThreads - 1) / kScanThreads, first = min(threadIdx.x * each, count), end = min(first + each, count);
  uint32_t own = 0;
  for (uint32_t k = first; k < end; ++k) own += counts[k];
  sums[threadIdx.x] = own;
  __syncthreads();
  for (uint32_t step = 1; step < kScanThreads; step *= 2) {
    const uint32_t other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  uint32_t at = sums[threadIdx.x] - own;
  for (uint32_t k = first; k < end; ++k) {
    starts[k] = cursors[k] = at;
    at += counts[k];
  }
  if (threadIdx.x == kScanThreads - 1) starts[count] = sums[kScanThreads - 1];
}

// Brings the places of points into their partitions; with them, where a partition is more than a bucket, the
// rest of the bucket's number.
extern "C" __global__ void __launch_bounds__(kTileThreads) zk_partition(MsmShape shape, const uint32_t* digits, uint32_t* cursors,
                                                                       uint2* partitioned, uint32_t* places) {
  extern __shared__ uint32_t own[];
  const uint32_t partitions = 1u << shape.partition_bits, window = blockIdx.y, first = blockIdx.x * kTileDigits;
  for (uint32_t k = threadIdx.x; k < partitions; k += kTileThreads) own[k] = 0;
  __syncthreads();
  uint32_t digit[kTileEach], rank[kTileEach];
#pragma unroll
  for (uint32_t j = 0; j < kTileEach; ++j) {
    const uint32_t i = first + j * kTileThreads + threadIdx.x;
    digit[j] = i < shape.count ? digits[uint64_t{window} * shape.count + i] : 0;
    const uint32_t size = digit[j] & ~kNegative;
    if (size != 0) rank[j] = atomicAdd(own + ((size - 1) >> shape.rest_bits), 1u);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < partitions; k += kTileThreads)
    if (own[k] != 0) own[k] = atomicAdd(cursors + window * partitions + k, own[k]);
  __syncthreads();
#pragma unroll
  for (uint32_t j = 0; j < kTileEach; ++j) {
    const uint32_t size = digit[j] & ~kNegative;
    if (size == 0) continue;
    const uint32_t at = own[(size - 1) >> shape.rest_bits] + rank[j];
    const uint32_t place = (first + j * kTileThreads + threadIdx.x) | (digit[j] & kNegative);
    if (shape.rest_bits == 0) places[at] = place;
    else partitioned[at] = make_uint2(place, (size - 1) & ((1u << shape.rest_bits) - 1));
  }
}

// Sorts a partition by buckets, and says where each bucket begins. A block is a partition.
extern "C" __global__ void __launch_bounds__(kSortThreads) zk_sort(MsmShape shape, const uint32_t* partition_starts, const uint2* partitioned,
                                                                  uint32_t* bucket_starts, uint32_t* places) {
  __shared__ uint32_t cursors[1u << kMostRestBits];
  __shared__ uint32_t sums[kSortThreads];
  const uint32_t buckets = 1u << shape.rest_bits, first = partition_starts[blockIdx.x], end = partition_starts[blockIdx.x + 1];
  for (uint32_t k = threadIdx.x; k < buckets; k += kSortThreads) cursors[k] = 0;
  __syncthreads();
  for (uint32_t i = first + threadIdx.x; i < end; i += kSortThreads) atomicAdd(cursors + partitioned[i].y, 1u);
  __syncthreads();
  const uint32_t each = (buckets + kSortThreads - 1) / kSortThreads, from = min(threadIdx.x * each, buckets), to = min(from + each, buckets);
  uint32_t own = 0;
  for (uint32_t k = from; k < to; ++k) own += cursors[k];
  sums[threadIdx.x] = own;
  __syncthreads();
  for (uint32_t step = 1; step < kSortThreads; step *= 2) {
    const uint32_t other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
    __syncthreads();
  }
  uint32_t at = first + sums[threadIdx.x] - own;
  for (uint32_t k = from; k < to; ++k) {
    const uint32_t many = cursors[k];
    bucket_starts[blockIdx.x * buckets + k] = cursors[k] = at;
    at += many;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) bucket_starts[gridDim.x * buckets] = end;
  __syncthreads();
  for (uint32_t i = first + threadIdx.x; i < end; i += kSortThreads) {
    const uint2 one = partitioned[i];
    places[atomicAdd(cursors + one.y, 1u)] = one.x;
  }
}

extern "C" __global__ void __launch_bounds__(kAddThreads, 4) zk_add_points(const G1Affine* points, const uint32_t* places, const uint32_t* bucket_starts,
                                                                          uint32_t count, uint32_t each, G1* buckets, G1* items, uint32_t* keys) {
  add_points<Fp>(points, places, bucket_starts, count, each, buckets, items, keys);
}

extern "C" __global__ void __launch_bounds__(kAddThreads) zk_join(const G1* from, const uint32_t* from_keys, uint32_t count, uint32_t is_last, G1* buckets,
                                                                 G1* items, uint32_t* keys) {
  join<Fp>(from, from_keys, count, is_last, buckets, items, keys);
}

extern "C" __global__ void __launch_bounds__(kAddThreads) zk_weigh(const G1* sums, const G1* weighed, uint32_t count, uint32_t each, uint32_t scale,
                                                                  G1* sums_out, G1* weighed_out) {
  weigh<Fp>(sums, weighed, count, each, scale, sums_out, weighed_out);
}
