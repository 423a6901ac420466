// `chase`: chains of dependent reads. docs/hardware-proof.md §13. The hop is core/'s; here is who does what.
//
// One block, because nothing but the latency of a read binds: a warp follows each chain, all of a leaf in
// flight at once. A fifth warp meanwhile folds the label before and makes F of this interval, in one of its
// lanes: some seven compressions of 1.3 µs against 64 hops of 0.6 µs. They meet once an interval.
#include "core/chase.hpp"
#include "core/sha256.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {

struct Covered {
  const uint64_t* address;
  uint32_t rounds, leaves;
};

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ uint32_t sum_of_warp(uint32_t x) { return __reduce_add_sync(0xFFFFFFFFu, x); }
__device__ __forceinline__ uint32_t xor_of_warp(uint32_t x) { return __reduce_xor_sync(0xFFFFFFFFu, x); }
#else
__device__ __forceinline__ uint32_t sum_of_warp(uint32_t x) {
  for (uint32_t step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, step);
  return x;
}
__device__ __forceinline__ uint32_t xor_of_warp(uint32_t x) {
  for (uint32_t step = 16; step > 0; step /= 2) x ^= __shfl_xor_sync(0xFFFFFFFFu, x, step);
  return x;
}
#endif

// By a whole warp; every lane has the state.
__device__ __forceinline__ uint64_t hop(uint64_t state, const HopTarget& target, const Covered& covered, const MixKeys& keys) {
  const uint32_t lane = threadIdx.x % kMixLanes;
  const uint32_t* words =
      reinterpret_cast<const uint32_t*>(covered.address[target.round]) + uint64_t{target.leaf} * (kLeafBytes / 4) + lane;
  uint32_t row[kMixRows];
#pragma unroll
  for (uint32_t j = 0; j < kMixRows; ++j) row[j] = __ldcg(words + kMixLanes * j);
  uint32_t x = hop_begin(state) ^ lane * 0x85EBCA77u;
#pragma unroll
  for (uint32_t j = 0; j < kMixRows; ++j) x = mix_step(x, row[j], keys.mul[j], keys.add[j]);
  return hop_end(state, {sum_of_warp(mix_fold_a(x, lane)), xor_of_warp(mix_fold_b(x, lane))});
}

// A message in words of SHA-256's order, of one thread. In shared memory, so that all of a chase's hashes
// share one unrolled compression.
struct Message {
  uint32_t words[160];  // the longest has 9 words and 16 nodes, and its padding
  uint32_t count;

  __device__ void add(uint32_t word) { words[count++] = word; }
  __device__ void add_node(const uint32_t (&node)[8]) {
    for (uint32_t i = 0; i < 8; ++i) add(node[i]);
  }
  // The hash, after the tag whose state this is; the message is empty then.
  __device__ __noinline__ void hash(Sha256State state, uint32_t (&out)[8]) {
    const uint32_t bits = (64 + 4 * count) * 8;
    add(0x80000000u);
    while (count % 16 != 14) add(0);
    add(0);
    add(bits);
#pragma unroll 1
    for (uint32_t at = 0; at < count; at += 16) sha256_compress(state, words + at);
    for (uint32_t i = 0; i < 8; ++i) out[i] = state.h[i];
    count = 0;
  }
};

// Takes label `index` into the tree: lefts[j] is the root of the last whole subtree of 2^j labels.
__device__ void fold_label(Message& message, uint32_t (&lefts)[kChaseLevels][8], const Label& label, uint32_t index,
                           const ChaseTags& tags) {
  uint32_t node[8];
  for (uint32_t chain = 0; chain < kChains; ++chain) {
    message.add(byte_swap32(static_cast<uint32_t>(label.of[chain])));
    message.add(byte_swap32(static_cast<uint32_t>(label.of[chain] >> 32)));
  }
  message.hash(tags.leaf, node);
  uint32_t level = 0;
  for (; index >> level & 1; ++level) {
    message.add_node(lefts[level]);
    message.add_node(node);
    message.hash(tags.node, node);
  }
  for (uint32_t i = 0; i < 8; ++i) lefts[level][i] = node[i];
}

__device__ void make_feed(Message& message, const uint32_t (&lefts)[kChaseLevels][8], uint32_t interval, const ChaseTags& tags,
                          Label& feed) {
  message.add_node(tags.nonce);
  message.add(byte_swap32(interval));
  for (uint32_t level = 0; interval >> level > 0; ++level)
    if (interval >> level & 1) message.add_node(lefts[level]);
  uint32_t hash[8];
  message.hash(tags.chase, hash);
  for (uint32_t chain = 0; chain < kChains; ++chain)
    feed.of[chain] = byte_swap32(hash[2 * chain]) | static_cast<uint64_t>(byte_swap32(hash[2 * chain + 1])) << 32;
}

}  // namespace assay::cuda

using namespace assay;
using namespace assay::cuda;

// Intervals first … end-1. What the next launch goes on from is left in `carried`.
extern "C" __global__ void __launch_bounds__(kChaseThreads)
    chase(const uint64_t* addresses, uint32_t rounds, uint32_t leaves, const __grid_constant__ MixKeys keys,
          const __grid_constant__ ChaseTags tags, ChaseCarried* carried, Label* labels, uint32_t first, uint32_t end) {
  __shared__ uint64_t near[kNearRounds];
  __shared__ Label ends[2], feeds[2];  // of even and of odd intervals
  __shared__ Message message;
  __shared__ uint32_t lefts[kChaseLevels][8];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool hops = warp < kChains, hashes = threadIdx.x == 32 * kChains;
  if (rounds <= kNearRounds)
    for (uint32_t i = threadIdx.x; i < rounds; i += kChaseThreads) near[i] = addresses[i];
  const Covered covered{rounds <= kNearRounds ? near : addresses, rounds, leaves};
  if (threadIdx.x < 8 * kChaseLevels) lefts[threadIdx.x / 8][threadIdx.x % 8] = carried->lefts[threadIdx.x / 8][threadIdx.x % 8];
  if (hashes) {
    message.count = 0;
    if (first == 0) feeds[0] = carried->start;  // the first interval starts from its own F
    else ends[(first - 1) & 1] = labels[first - 1];
  }
  uint64_t state = hops ? carried->start.of[warp] : 0;
  __syncthreads();
#pragma unroll 1
  for (uint32_t r = first; r < end; ++r) {
    if (hops) {
#pragma unroll 1
      for (uint32_t i = 0; i < kIntervalHops; ++i) state = hop(state, hop_target(state, rounds, leaves), covered, keys);
      if (lane == 0) ends[r & 1].of[warp] = labels[r].of[warp] = state;
    } else if (hashes && r > 0) {
      fold_label(message, lefts, ends[(r - 1) & 1], r - 1, tags);
      make_feed(message, lefts, r, tags, feeds[r & 1]);
    }
    __syncthreads();
    if (hops) state ^= feeds[r & 1].of[warp];
  }
  if (hops && lane == 0) carried->start.of[warp] = state;
  if (threadIdx.x < 8 * kChaseLevels) carried->lefts[threadIdx.x / 8][threadIdx.x % 8] = lefts[threadIdx.x / 8][threadIdx.x % 8];
}

// One warp a start: where the hops of its interval go.
extern "C" __global__ void __launch_bounds__(32) hop_targets(const uint64_t* addresses, uint32_t rounds, uint32_t leaves,
                                                             const __grid_constant__ MixKeys keys, const uint64_t* starts,
                                                             uint64_t* targets) {
  uint64_t state = starts[blockIdx.x];
#pragma unroll 1
  for (uint32_t i = 0; i < kIntervalHops; ++i) {
    const HopTarget target = hop_target(state, rounds, leaves);
    if (threadIdx.x == 0) targets[blockIdx.x * kIntervalHops + i] = target.q;
    state = hop(state, target, {addresses, rounds, leaves}, keys);
  }
}
