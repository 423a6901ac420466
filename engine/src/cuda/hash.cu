// The kernels of Merkle trees: leaves, levels, the top, and the gathering of openings; hashing is hash.cuh's.
#include "hash.cuh"
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
extern "C" __global__ void __launch_bounds__(128) hash_levels(Node* level, uint32_t count, Sha256State midstate) {
#pragma unroll 1
  for (uint32_t span = 128; span >= 32; span /= 2) {
    Node* above = level + count;
    const uint32_t i = blockIdx.x * span + threadIdx.x;
    if (threadIdx.x < span && i < (count + 1) / 2) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
}

// From a level of `count` nodes to the root, in one block: levels this small cost less than a launch each.
extern "C" __global__ void __launch_bounds__(512) hash_top(Node* level, uint32_t count, Sha256State midstate) {
  while (count > 1) {
    Node* above = level + count;
    for (uint32_t i = threadIdx.x; i < (count + 1) / 2; i += blockDim.x) make_parent(level, count, above, i, midstate);
    __syncthreads();
    level = above;
    count = (count + 1) / 2;
  }
}

// One block an opening: its leaf (unless there is none to copy) and the siblings on its path, bottom up, into
// a record of 64 + 64 uint4. The host knows the length of every path.
extern "C" __global__ void __launch_bounds__(64) gather_openings(const uint4* leaves, const Node* tree, uint32_t count,
                                                                 const uint32_t* indices, uint4* records) {
  uint32_t index = indices[blockIdx.x];
  uint4* record = records + uint64_t{blockIdx.x} * 128;
  if (leaves != nullptr) record[threadIdx.x] = leaves[uint64_t{index} * 64 + threadIdx.x];
  if (threadIdx.x >= 2) return;
  uint4* path = record + 64;
  for (; count > 1; tree += count, count = (count + 1) / 2, index /= 2) {
    const uint32_t sibling = index ^ 1;
    if (sibling >= count) continue;
    path[threadIdx.x] = threadIdx.x == 0 ? tree[sibling].lo : tree[sibling].hi;
    path += 2;
  }
}
