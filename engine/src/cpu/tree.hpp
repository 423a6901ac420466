// Merkle trees (docs/hardware-proof.md §1) without holding all leaf hashes: 2^j leaves are a subtree, so only
// the roots of such chunks are kept, and the leaves around opened ones are hashed again, once a chunk.
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

using Levels = std::vector<std::vector<Hash>>;

class ChunkedTree {
 public:
  // chunk_log2 0 keeps every leaf hash: for leaves that are costly to make again. Throws cancelled on `stop`.
  ChunkedTree(ThreadPool& pool, uint64_t leaves, unsigned chunk_log2, LeafHashes hashes, const std::atomic<bool>& stop);
  Hash root() const { return levels_.back()[0]; }
  std::vector<Opening> open(ThreadPool& pool, std::span<const uint32_t> leaves, const LeafBytes& bytes) const;

 private:
  Levels chunk_levels(uint64_t chunk) const;

  uint64_t leaves_;
  unsigned chunk_log2_;
  LeafHashes hashes_;
  Levels levels_;  // from the chunk roots up
};

constexpr unsigned kMaxChunkLog2 = 8;

}  // namespace assay
