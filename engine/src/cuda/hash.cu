// The kernels of Merkle trees: leaves, levels, the top, and openings; hashing is hash.cuh's.
#include "hash.cuh"
#include "launch_shape.hpp"
#include "tiles.cuh"

using namespace assay;
using namespace assay::cuda;

// Eight blocks a multiprocessor: more leave too few registers, fewer warps than 32 gaps in the ALU's work.
extern "C" __global__ void __launch_bounds__(128, 8) hash_leaves(const uint4* leaves, uint32_t count, Sha256State midstate,
                                                              Node* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) hash_leaf<SpreadSums, false>(leaves + uint64_t{i} * 64, midstate, out + i);
}

// Leaves of the pairs of tiles (gemm_wgmma.cu) from `first` on, one block a pair: those that the product
// left to be hashed after it.
extern "C" __global__ void __launch_bounds__(kTileM) hash_pairs(const uint4* product, uint32_t m, uint32_t n, uint32_t first, Node* nodes,
                                                                Sha256State midstate) {
  const Tile tile = tile_place(first + blockIdx.x, m, n, kPairN);
  const uint64_t leaf = uint64_t{tile.row + threadIdx.x} * (n / kPairN) + tile.column / kPairN;
  hash_leaf<SpreadSums, true>(product + leaf * 64, midstate, nodes + leaf);
}

// Three levels at once: a block turns 256 nodes into 128, 64 and 32, whose parents and children are its own.
__device__ __forceinline__ void three_levels(Node* level, uint32_t count, uint32_t block, const Sha256State& midstate) {
#pragma unroll 1
  for (uint32_t span = 128; span >= 32; span /= 2) {
    Node* above = level + count;
    const uint32_t i = block * span + threadIdx.x;
    if (threadIdx.x < span && i < (count + 1) / 2) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
}
extern "C" __global__ void __launch_bounds__(128) hash_levels(Node* level, uint32_t count, Sha256State midstate) {
  three_levels(level, count, blockIdx.x, midstate);
}

// From a level of `count` nodes to the root, in one block: levels this small cost less than a launch each.
__device__ __forceinline__ const Node* to_the_top(Node* level, uint32_t count, const Sha256State& midstate) {
  while (count > 1) {
    Node* above = level + count;
    for (uint32_t i = threadIdx.x; i < (count + 1) / 2; i += blockDim.x) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
  return level;
}
extern "C" __global__ void __launch_bounds__(512) hash_top(Node* level, uint32_t count, Sha256State midstate) {
  to_the_top(level, count, midstate);
}

// Siblings on the path of node `index` of a tree's lowest level, bottom up, by threads 0 and 1.
__device__ __forceinline__ void gather_path(const Node* tree, uint32_t count, uint32_t index, uint4* path) {
  for (; count > 1; tree += count, count = (count + 1) / 2, index /= 2) {
    const uint32_t sibling = index ^ 1;
    if (sibling >= count) continue;
    if (threadIdx.x < 2) path[threadIdx.x] = threadIdx.x == 0 ? tree[sibling].lo : tree[sibling].hi;
    path += 2;
  }
}

// One block an opening: its leaf and the siblings within its chunk, whose leaves are hashed again, into a
// record of 64 + 64 uint4. The host has the levels above, and knows the length of every path.
extern "C" __global__ void __launch_bounds__(kChunkLeaves) open_leaves(const ChunkAsk* asks, Sha256State leaf_state,
                                                                       Sha256State node_state, uint4* records) {
  __shared__ Node tree[2 * kChunkLeaves];
  const ChunkAsk ask = asks[blockIdx.x];
  const uint4* leaves = reinterpret_cast<const uint4*>(ask.leaves);
  if (threadIdx.x < ask.width) hash_leaf<SpreadSums, true>(leaves + uint64_t{threadIdx.x} * 64, leaf_state, tree + threadIdx.x);
  __syncthreads();
  Node* level = tree;
  for (uint32_t width = ask.width; width > 1; width = (width + 1) / 2) {
    Node* above = level + width;
    if (threadIdx.x < (width + 1) / 2) make_parent(level, width, above, threadIdx.x, node_state);
    __syncthreads();
    level = above;
  }
  uint4* record = records + uint64_t{blockIdx.x} * 128;
  if (threadIdx.x < 64) record[threadIdx.x] = leaves[uint64_t{ask.at} * 64 + threadIdx.x];
  gather_path(tree, ask.width, ask.at, record + 64);
}

// Many trees at once: as many launches as one tree needs. Which tree a block or thread works on is found by
// where its share begins.
__device__ __forceinline__ const TreeWork& work_at(const TreeWork* all, uint32_t count, uint32_t place) {
  uint32_t low = 0, high = count;  // the last whose share begins at or before `place`
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (all[middle].first <= place) low = middle;
    else high = middle;
  }
  return all[low];
}

extern "C" __global__ void __launch_bounds__(128, 8) hash_leaves_of_all(const TreeWork* all, uint32_t trees, uint32_t leaves, Sha256State midstate) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= leaves) return;
  const TreeWork& tree = work_at(all, trees, i);
  const uint32_t leaf = i - tree.first;
  hash_leaf<SpreadSums, false>(reinterpret_cast<const uint4*>(tree.leaves) + uint64_t{leaf} * 64, midstate,
                               reinterpret_cast<Node*>(tree.level) + leaf);
}

extern "C" __global__ void __launch_bounds__(128) hash_levels_of_all(const TreeWork* all, uint32_t trees, Sha256State midstate) {
  const TreeWork& tree = work_at(all, trees, blockIdx.x);
  three_levels(reinterpret_cast<Node*>(tree.level), tree.count, blockIdx.x - tree.first, midstate);
}

// One block a tree: from the level it is at to the root, which goes to `roots`.
extern "C" __global__ void __launch_bounds__(512) hash_tops_of_all(const TreeWork* all, Sha256State midstate, Node* roots) {
  const TreeWork& tree = all[blockIdx.x];
  const Node* root = to_the_top(reinterpret_cast<Node*>(tree.level), tree.count, midstate);
  if (threadIdx.x == 0) roots[blockIdx.x] = *root;
}
