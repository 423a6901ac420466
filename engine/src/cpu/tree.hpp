// Merkle trees on the CPU without holding all leaf hashes: a run of 2^j leaves is a subtree of its own, so
// only the roots of such chunks are kept, and the leaves around opened ones are hashed again, once a chunk.
// docs/hardware-proof.md §1.
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "probe/probe_kernels.hpp"
#include "thread_pool.hpp"

namespace assay {

// Leaf hashes of `count` leaves from `first` on, into `out`.
using LeafHashes = std::function<void(uint64_t first, uint32_t count, Hash* out)>;
// The 1024 bytes of one leaf.
using LeafBytes = std::function<void(uint64_t index, uint8_t* out)>;

class ChunkedTree {
 public:
  // chunk_log2 0 keeps every leaf hash: for leaves that are expensive to make again. Throws cancelled on
  // `stop`.
  ChunkedTree(ThreadPool& pool, uint64_t leaves, unsigned chunk_log2, LeafHashes hashes, const std::atomic<bool>& stop);
  Hash root() const { return levels_.back()[0]; }
  std::vector<Hash> path(uint64_t leaf) const;
  std::vector<Opening> open(ThreadPool& pool, std::span<const uint32_t> leaves, const LeafBytes& bytes) const;

 private:
  // Of one chunk, the leaves' hashes first; its root, which levels_ has too, last.
  std::vector<std::vector<Hash>> chunk_levels(uint64_t chunk) const;
  std::vector<Hash> path_from(uint64_t leaf, const std::vector<std::vector<Hash>>& chunk) const;

  uint64_t leaves_;
  unsigned chunk_log2_;
  LeafHashes hashes_;
  std::vector<std::vector<Hash>> levels_;  // from the chunk roots up
};

constexpr unsigned kMaxChunkLog2 = 8;

}  // namespace assay
