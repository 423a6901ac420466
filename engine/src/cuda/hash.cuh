// Merkle trees on the device: leaves of 1 KiB, then level by level, then the top in one block; and the gathering of openings.
// docs/hardware-proof.md §1. Hashes are kept as eight words in SHA-256's own order; the host turns them into bytes.
// Levels lie one after the other from level 0; the root is the last node.
#pragma once
#include "core/sha256.hpp"

namespace assay::cuda {

struct Node {
  uint4 lo, hi;
};

__device__ __forceinline__ Node node_of(const Sha256State& s) {
  return {make_uint4(s.h[0], s.h[1], s.h[2], s.h[3]), make_uint4(s.h[4], s.h[5], s.h[6], s.h[7])};
}

__device__ __forceinline__ Sha256State state_of(const Node& n) {
  return {{n.lo.x, n.lo.y, n.lo.z, n.lo.w, n.hi.x, n.hi.y, n.hi.z, n.hi.w}};
}

// byte_swap32 in one instruction.
__device__ __forceinline__ uint32_t swapped(uint32_t x) { return __byte_perm(x, 0, 0x0123); }

// One thread a leaf. The next 64 bytes are fetched while the last ones are hashed; a thread's four loads share two sectors.
__device__ __forceinline__ void hash_leaf(const uint4* leaf, Sha256State midstate, Node* out) {
  uint4 next[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) next[j] = __ldcs(leaf + j);
  Sha256State state = midstate;
#pragma unroll 1
  for (int block = 0; block < 17; ++block) {
    uint32_t words[16];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      words[4 * j] = swapped(next[j].x);
      words[4 * j + 1] = swapped(next[j].y);
      words[4 * j + 2] = swapped(next[j].z);
      words[4 * j + 3] = swapped(next[j].w);
    }
    if (block < 15) {
#pragma unroll
      for (int j = 0; j < 4; ++j) next[j] = __ldcs(leaf + 4 * (block + 1) + j);
    } else {  // padding: a one bit, and the length with the tag's block, as they lie in memory
#pragma unroll
      for (int j = 0; j < 4; ++j) next[j] = make_uint4(0, 0, 0, 0);
      next[0].x = 0x80u;
      next[3].w = byte_swap32((64 + 1024) * 8);
    }
    sha256_compress(state, words);
  }
  *out = node_of(state);
}

// As sha256_node of core/, but with one copy of the compression's code.
__device__ __forceinline__ Node hash_node(Sha256State state, const Node& left, const Node& right) {
  const Sha256State l = state_of(left), r = state_of(right);
  uint32_t words[16];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    words[j] = l.h[j];
    words[8 + j] = r.h[j];
  }
#pragma unroll 1
  for (int block = 0; block < 2; ++block) {
    sha256_compress(state, words);
#pragma unroll
    for (int j = 0; j < 16; ++j) words[j] = 0;
    words[0] = 0x80000000u;
    words[15] = (64 + 64) * 8;
  }
  return node_of(state);
}

// Node i of the level above `level`, which has `count` nodes.
__device__ __forceinline__ void make_parent(const Node* level, uint32_t count, Node* above, uint32_t i, Sha256State midstate) {
  if (2 * i + 1 < count) above[i] = hash_node(midstate, level[2 * i], level[2 * i + 1]);
  else above[i] = level[2 * i];  // no neighbour: promoted unchanged
}

}  // namespace assay::cuda
