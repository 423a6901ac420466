// The `stream` mix: 64 bits from a 1 KiB leaf under a fresh nonce, so that no summary shorter than the leaf
// is enough. docs/hardware-proof.md §5. A leaf is 8 rows of 32 words; lane l owns word l of every row. xor,
// multiply by a nonce-dependent odd number, rotate, add: affine over no ring. The two folds are commutative,
// so any thread layout works.
#pragma once
#include "philox.hpp"

namespace assay::inline ASSAY_CORE {

constexpr uint32_t kLeafBytes = 1024;
constexpr uint32_t kMixLanes = 32;
constexpr uint32_t kMixRows = 8;

struct MixKeys {
  uint32_t mul[kMixRows];  // odd
  uint32_t add[kMixRows];
  uint32_t start;
};

struct Digest {
  uint32_t a, b;  // stored as a, b, little-endian
};

ASSAY_HD MixKeys mix_keys(const uint8_t nonce[32]) {
  MixKeys keys{};
  const PhiloxKey key = philox_key(nonce);
  for (uint32_t j = 0; j < kMixRows; ++j) {
    const Philox4 p = philox4x32_10(key, j, kDomainStream, load_le32(nonce + 8), load_le32(nonce + 12));
    keys.mul[j] = p.w[0] | 1u;
    keys.add[j] = p.w[1];
    if (j == 0) keys.start = p.w[2];
  }
  return keys;
}

// `kept_leaf` counts from the first leaf of the oldest kept round.
ASSAY_HD uint32_t mix_begin(const MixKeys& keys, uint32_t kept_leaf, uint32_t lane) {
  return keys.start ^ (kept_leaf * 0x9E3779B1u) ^ (lane * 0x85EBCA77u);
}

ASSAY_HD uint32_t mix_step(uint32_t x, uint32_t word, uint32_t mul, uint32_t add) {
  return rotl32((x ^ word) * mul, 13) + add;
}

// What one finished lane adds to the digest: `a` is summed mod 2^32 over lanes, `b` is xored.
ASSAY_HD uint32_t mix_fold_a(uint32_t x, uint32_t lane) { return x * (0x9E3779B1u * (2u * lane + 1u)); }
ASSAY_HD uint32_t mix_fold_b(uint32_t x, uint32_t lane) { return rotl32(x * 0xC2B2AE3Du, lane); }

ASSAY_HD Digest mix_leaf(const MixKeys& keys, const uint32_t words[256], uint32_t kept_leaf) {
  Digest d{0, 0};
  for (uint32_t lane = 0; lane < kMixLanes; ++lane) {
    uint32_t x = mix_begin(keys, kept_leaf, lane);
    for (uint32_t j = 0; j < kMixRows; ++j) x = mix_step(x, words[j * kMixLanes + lane], keys.mul[j], keys.add[j]);
    d.a += mix_fold_a(x, lane);
    d.b ^= mix_fold_b(x, lane);
  }
  return d;
}

}  // namespace assay::ASSAY_CORE
