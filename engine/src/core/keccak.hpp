// keccak256 as Ethereum has it (padding 0x01): the hash of transcripts, docs/zk.md §2. Portable for host and
// device.
#pragma once
#include <cstddef>

#include "sha256.hpp"

namespace assay::inline ASSAY_CORE {

ASSAY_HD uint64_t rotl64(uint64_t x, unsigned r) { return r == 0 ? x : (x << r) | (x >> (64 - r)); }

// Keccak-f[1600]; lane x, y is state[x + 5 * y].
ASSAY_HD void keccak_permute(uint64_t state[25]) {
  constexpr uint64_t rounds[24] = {
      0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
      0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
      0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
      0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};
  constexpr uint8_t turns[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};
  for (const uint64_t round : rounds) {
    uint64_t column[5], turned[25];
    for (int x = 0; x < 5; ++x) column[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
    for (int x = 0; x < 5; ++x) {
      const uint64_t mixed = column[(x + 4) % 5] ^ rotl64(column[(x + 1) % 5], 1);
      for (int y = 0; y < 5; ++y) turned[y + 5 * ((2 * x + 3 * y) % 5)] = rotl64(state[x + 5 * y] ^ mixed, turns[x + 5 * y]);
    }
    for (int y = 0; y < 25; y += 5) {
      for (int x = 0; x < 5; ++x) state[x + y] = turned[x + y] ^ (~turned[(x + 1) % 5 + y] & turned[(x + 2) % 5 + y]);
    }
    state[0] ^= round;
  }
}

ASSAY_HD Hash keccak256(const uint8_t* bytes, size_t count) {
  constexpr size_t rate = 136;
  uint64_t state[25] = {};
  const auto mix = [&state](size_t at, uint8_t byte) { state[at / 8] ^= static_cast<uint64_t>(byte) << (8 * (at % 8)); };
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    mix(at, bytes[i]);
    if (++at == rate) {
      keccak_permute(state);
      at = 0;
    }
  }
  mix(at, 0x01);
  mix(rate - 1, 0x80);
  keccak_permute(state);
  Hash hash;
  for (size_t i = 0; i < 32; ++i) hash.b[i] = static_cast<uint8_t>(state[i / 8] >> (8 * (i % 8)));
  return hash;
}

}  // namespace assay::ASSAY_CORE
