// See tree.hpp.
#include "tree.hpp"

#include <algorithm>
#include <map>

#include "sha256_host.hpp"

namespace assay {

namespace {

// One level up, in place; returns its width. The last one without a neighbour is promoted unchanged.
uint64_t level_up(Hash* nodes, uint64_t width) {
  for (uint64_t i = 0; i < width / 2; ++i) nodes[i] = node_hash(nodes[2 * i], nodes[2 * i + 1]);
  if (width % 2 == 1) nodes[width / 2] = nodes[width - 1];
  return (width + 1) / 2;
}

// All levels from the lowest on; the last is the root alone.
Levels levels_above(std::vector<Hash> lowest) {
  Levels levels{std::move(lowest)};
  while (levels.back().size() > 1) {
    std::vector<Hash> level = levels.back();
    level.resize(level_up(level.data(), level.size()));
    levels.push_back(std::move(level));
  }
  return levels;
}

void add_siblings(std::vector<Hash>& path, const Levels& levels, uint64_t index) {
  for (const std::vector<Hash>& level : levels) {
    if ((index ^ 1) < level.size()) path.push_back(level[index ^ 1]);
    index /= 2;
  }
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
  throw_if(stop);
  levels_ = levels_above(std::move(roots));
}

// Of one chunk, the leaves' hashes first; its root, which levels_ has too, last.
Levels ChunkedTree::chunk_levels(uint64_t chunk) const {
  const uint64_t first = chunk << chunk_log2_;
  std::vector<Hash> hashes(std::min(uint64_t{1} << chunk_log2_, leaves_ - first));
  if (hashes.size() == 1) return {};
  hashes_(first, static_cast<uint32_t>(hashes.size()), hashes.data());
  return levels_above(std::move(hashes));
}

std::vector<Opening> ChunkedTree::open(ThreadPool& pool, std::span<const uint32_t> leaves, const LeafBytes& bytes) const {
  std::map<uint64_t, std::vector<size_t>> wanted;  // chunk -> which of `leaves`
  for (size_t i = 0; i < leaves.size(); ++i) wanted[leaves[i] >> chunk_log2_].push_back(i);
  const std::vector<std::pair<uint64_t, std::vector<size_t>>> chunks(wanted.begin(), wanted.end());
  std::vector<Opening> openings(leaves.size());
  pool.run(chunks.size(), [&](uint64_t task) {
    const auto& [chunk, which] = chunks[task];
    const Levels levels = chunk_levels(chunk);
    for (const size_t i : which) {
      openings[i] = {leaves[i], std::vector<uint8_t>(kLeafBytes), {}};
      bytes(leaves[i], openings[i].leaf.data());
      add_siblings(openings[i].path, levels, leaves[i] - (chunk << chunk_log2_));
      add_siblings(openings[i].path, levels_, chunk);
    }
  });
  return openings;
}

}  // namespace assay
