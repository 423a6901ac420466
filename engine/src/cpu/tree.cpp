// See tree.hpp.
#include "tree.hpp"

#include <cstring>

#include "sha256_host.hpp"

namespace assay {

namespace {

// One level up, in place; returns its width. The last one without a neighbour is promoted unchanged.
uint64_t level_up(Hash* nodes, uint64_t width) {
  for (uint64_t i = 0; i < width / 2; ++i) nodes[i] = node_hash(nodes[2 * i], nodes[2 * i + 1]);
  if (width % 2 == 1) nodes[width / 2] = nodes[width - 1];
  return (width + 1) / 2;
}

}  // namespace

ChunkedTree::ChunkedTree(ThreadPool& pool, uint64_t leaves, unsigned chunk_log2, LeafHashes hashes,
                         const std::atomic<bool>& stop)
    : leaves_(leaves), chunk_log2_(chunk_log2), hashes_(std::move(hashes)) {
  const uint64_t chunk = uint64_t{1} << chunk_log2;
  // Also without keeping chunks the work is handed out in batches.
  const uint64_t batch = chunk_log2 == 0 ? 16 : chunk;
  std::vector<Hash> roots((leaves + chunk - 1) / chunk);
  pool.run((leaves + batch - 1) / batch, [&](uint64_t i) {
    if (stop.load(std::memory_order_relaxed)) return;
    const uint64_t first = i * batch;
    const uint32_t count = static_cast<uint32_t>(std::min(batch, leaves - first));
    if (chunk_log2_ == 0) {
      hashes_(first, count, roots.data() + first);
      return;
    }
    Hash nodes[1u << kMaxChunkLog2];
    hashes_(first, count, nodes);
    for (uint64_t width = count; width > 1;) width = level_up(nodes, width);
    roots[i] = nodes[0];
  });
  if (stop) throw EngineError(ErrorCode::cancelled, "stopped");
  levels_.push_back(std::move(roots));
  while (levels_.back().size() > 1) {
    const std::vector<Hash>& below = levels_.back();
    std::vector<Hash> level((below.size() + 1) / 2);
    for (size_t i = 0; i < below.size() / 2; ++i) level[i] = node_hash(below[2 * i], below[2 * i + 1]);
    if (below.size() % 2 == 1) level.back() = below.back();
    levels_.push_back(std::move(level));
  }
}

std::vector<Hash> ChunkedTree::path(uint64_t leaf) const {
  std::vector<Hash> path;
  if (chunk_log2_ > 0) {
    const uint64_t first = leaf >> chunk_log2_ << chunk_log2_;
    Hash nodes[1u << kMaxChunkLog2];
    uint64_t width = std::min(uint64_t{1} << chunk_log2_, leaves_ - first);
    hashes_(first, static_cast<uint32_t>(width), nodes);
    for (uint64_t i = leaf - first; width > 1; i /= 2) {
      if ((i ^ 1) < width) path.push_back(nodes[i ^ 1]);
      width = level_up(nodes, width);
    }
  }
  uint64_t i = leaf >> chunk_log2_;
  for (const std::vector<Hash>& level : levels_) {
    if ((i ^ 1) < level.size()) path.push_back(level[i ^ 1]);
    i /= 2;
  }
  return path;
}

std::vector<Opening> ChunkedTree::open(ThreadPool& pool, std::span<const uint32_t> leaves, const LeafBytes& bytes) const {
  std::vector<Opening> openings(leaves.size());
  pool.run(leaves.size(), [&](uint64_t i) {
    openings[i].index = leaves[i];
    openings[i].leaf.resize(1024);
    bytes(leaves[i], openings[i].leaf.data());
    openings[i].path = path(leaves[i]);
  });
  return openings;
}

}  // namespace assay
