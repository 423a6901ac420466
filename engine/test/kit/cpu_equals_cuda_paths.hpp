// What a verifier does with an opening, for cpu_equals_cuda: the path to the root, and single elements and
// lanes from the seed alone. Written from docs/hardware-proof.md §1, §3, §4, §6 with core/ only, so that
// neither backend checks itself.
#pragma once
#include <cstring>

#include "core/recurrence.hpp"
#include "probe/probe_kernels.hpp"

namespace assay {

inline void store_hash(const Sha256State& state, Hash& hash) {
  for (int i = 0; i < 32; ++i) hash.b[i] = static_cast<uint8_t>(state.h[i / 4] >> (24 - 8 * (i % 4)));
}

inline Sha256State load_hash(const Hash& hash) {
  Sha256State state;
  for (int i = 0; i < 8; ++i) state.h[i] = byte_swap32(load_le32(hash.b + 4 * i));
  return state;
}

// The state after the block SHA256(tag) ‖ SHA256(tag).
inline Sha256State midstate_of(const char* tag) {
  uint8_t bytes[64] = {};
  const size_t length = std::strlen(tag);
  std::memcpy(bytes, tag, length);
  bytes[length] = 0x80;
  bytes[63] = static_cast<uint8_t>(8 * length);
  uint32_t block[16];
  for (int i = 0; i < 16; ++i) block[i] = byte_swap32(load_le32(bytes + 4 * i));
  Sha256State tag_hash = sha256_initial();
  sha256_compress(tag_hash, block);
  Sha256State state = sha256_initial();
  for (int i = 0; i < 16; ++i) block[i] = tag_hash.h[i % 8];
  sha256_compress(state, block);
  return state;
}

inline bool path_leads_to(const Opening& opening, uint32_t count, const Hash& root) {
  static const Sha256State leaf_tag = midstate_of("assay/leaf/1"), node_tag = midstate_of("assay/node/1");
  if (opening.leaf.size() != 1024 || opening.index >= count) return false;
  uint32_t words[256];
  std::memcpy(words, opening.leaf.data(), sizeof words);
  Sha256State state = sha256_leaf(leaf_tag, words);
  size_t used = 0;
  for (uint32_t index = opening.index; count > 1; index /= 2, count = (count + 1) / 2) {
    if ((index ^ 1) >= count) continue;
    if (used == opening.path.size()) return false;
    const Sha256State sibling = load_hash(opening.path[used++]);
    state = index % 2 == 0 ? sha256_node(node_tag, state, sibling) : sha256_node(node_tag, sibling, state);
  }
  Hash hash;
  store_hash(state, hash);
  return used == opening.path.size() && std::memcmp(hash.b, root.b, 32) == 0;
}

inline uint16_t leaf_element(const Opening& opening, uint32_t at) {
  return static_cast<uint16_t>(opening.leaf[2 * at] | opening.leaf[2 * at + 1] << 8);
}

inline uint16_t product_element(const GemmSpec& spec, const Seed& seed, uint32_t leaf, uint32_t at) {
  const uint64_t row = leaf / (spec.n / 512), column = uint64_t{512} * (leaf % (spec.n / 512)) + at;
  const PhiloxKey key = philox_key(seed.b);
  int64_t sum = 0;
  for (uint64_t i = 0; i < spec.k; ++i)
    sum += int64_t{matrix_entry(spec.precision, key, kDomainA, row * spec.k + i)} *
           matrix_entry(spec.precision, key, kDomainB, column * spec.k + i);
  return static_cast<uint16_t>(sum);
}

inline uint64_t lane_in_leaf(const FmaSpec& spec, const Opening& opening, uint32_t at) {
  const size_t bytes = spec.precision == Precision::fp64 ? 8 : 4;
  uint64_t bits = 0;
  std::memcpy(&bits, opening.leaf.data() + at * bytes, bytes);
  return bits;
}

inline uint64_t lane_from_seed(const FmaSpec& spec, const Seed& seed, uint32_t lane) {
  const PhiloxKey key = philox_key(seed.b);
  if (spec.precision == Precision::fp32) return run_lane<LaneF32>(key, lane, spec.steps);
  if (spec.precision == Precision::fp64) return run_lane<LaneF64>(key, lane, spec.steps);
  return run_lane<LaneI32>(key, lane, spec.steps);
}

}  // namespace assay
