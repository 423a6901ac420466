// Walks an opening's path as docs/hardware-proof.md §1 says, on core/ alone: the verifier's side of a tree.
#pragma once
#include "check.hpp"
#include "core/sha256.hpp"

namespace assay_test {

inline assay::Sha256State midstate_of(const char* tag) {
  using namespace assay;
  // Tags are shorter than a block's 55 bytes.
  uint8_t block[64] = {};
  const size_t length = strlen(tag);
  memcpy(block, tag, length);
  block[length] = 0x80;
  block[63] = static_cast<uint8_t>(8 * length);
  uint32_t words[16];
  for (int i = 0; i < 16; ++i) words[i] = byte_swap32(load_le32(block + 4 * i));
  Sha256State inner = sha256_initial();
  sha256_compress(inner, words);
  for (int i = 0; i < 16; ++i) words[i] = inner.h[i % 8];
  Sha256State state = sha256_initial();
  sha256_compress(state, words);
  return state;
}

inline assay::Hash bytes_of(const assay::Sha256State& state) {
  assay::Hash h;
  for (int i = 0; i < 32; ++i) h.b[i] = static_cast<uint8_t>(state.h[i / 4] >> (24 - 8 * (i % 4)));
  return h;
}

inline assay::Sha256State state_of(const assay::Hash& h) {
  assay::Sha256State s;
  for (int i = 0; i < 8; ++i) s.h[i] = assay::byte_swap32(assay::load_le32(h.b + 4 * i));
  return s;
}

inline assay::Hash reference_leaf(const std::vector<uint8_t>& leaf) {
  uint32_t words[256];
  memcpy(words, leaf.data(), 1024);
  return bytes_of(assay::sha256_leaf(midstate_of("assay/leaf/1"), words));
}

inline assay::Hash reference_node(const assay::Hash& left, const assay::Hash& right) {
  return bytes_of(assay::sha256_node(midstate_of("assay/node/1"), state_of(left), state_of(right)));
}

// True when the path leads from the leaf to the root and has exactly the nodes that (index, leaves) demands.
inline bool leads_to(const assay::Opening& opening, uint64_t leaves, const assay::Hash& root) {
  if (opening.leaf.size() != 1024 || opening.index >= leaves) return false;
  assay::Hash h = reference_leaf(opening.leaf);
  size_t used = 0;
  uint64_t i = opening.index;
  for (uint64_t width = leaves; width > 1; width = (width + 1) / 2, i /= 2) {
    if ((i ^ 1) >= width) continue;
    if (used == opening.path.size()) return false;
    const assay::Hash& sibling = opening.path[used++];
    h = i % 2 == 1 ? reference_node(sibling, h) : reference_node(h, sibling);
  }
  return used == opening.path.size() && same(h, root);
}

// The root over leaves, level by level, the slow way.
inline assay::Hash reference_root(const std::vector<std::vector<uint8_t>>& leaves) {
  std::vector<assay::Hash> level;
  for (const auto& leaf : leaves) level.push_back(reference_leaf(leaf));
  while (level.size() > 1) {
    std::vector<assay::Hash> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(reference_node(level[i], level[i + 1]));
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

}  // namespace assay_test
