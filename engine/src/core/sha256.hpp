// SHA-256 (FIPS 180-4) and the BIP-340-style tagged hashes of the protocol, portable for host and device. A
// tag fills exactly one block (SHA256(tag) twice), so each tag is a fixed midstate. docs/hardware-proof.md
// §1. Faster host versions live in cpu/sha256_host.*; this one is the reference they are tested against.
#pragma once
#include "portable.hpp"

namespace assay::inline ASSAY_CORE {

struct Hash {
  uint8_t b[32];
};

struct Sha256State {
  uint32_t h[8];
};

ASSAY_HD uint32_t rotr32(uint32_t x, uint32_t r) { return (x >> r) | (x << (32u - r)); }

ASSAY_HD Sha256State sha256_initial() {
  return {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

struct RoundWords {
  uint32_t w[64];
};

// FIPS 180-4 §4.2.2: what a round adds besides the message.
ASSAY_HD constexpr RoundWords round_constants() {
  return {{
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
      0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
      0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
      0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
      0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
      0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}};
}

// One compression. `block` is 16 words already in SHA-256's big-endian order.
ASSAY_HD void sha256_compress(Sha256State& state, const uint32_t block[16]) {
  // Function-local: on the device, unrolled, they become immediates.
  constexpr RoundWords k = round_constants();
  uint32_t w[16];
#if defined(__CUDACC__)
#pragma unroll
#endif
  for (int i = 0; i < 16; ++i) w[i] = block[i];
  uint32_t a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3];
  uint32_t e = state.h[4], f = state.h[5], g = state.h[6], h = state.h[7];
#if defined(__CUDACC__)
#pragma unroll
#endif
  for (int i = 0; i < 64; ++i) {
    if (i >= 16) {
      const uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
      const uint32_t s0 = rotr32(w15, 7) ^ rotr32(w15, 18) ^ (w15 >> 3);
      const uint32_t s1 = rotr32(w2, 17) ^ rotr32(w2, 19) ^ (w2 >> 10);
      w[i & 15] += s0 + w[(i + 9) & 15] + s1;
    }
    const uint32_t t1 =
        h + (rotr32(e, 6) ^ rotr32(e, 11) ^ rotr32(e, 25)) + ((e & f) ^ (~e & g)) + k.w[i] + w[i & 15];
    const uint32_t t2 = (rotr32(a, 2) ^ rotr32(a, 13) ^ rotr32(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const uint32_t last[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state.h[i] += last[i];
}

ASSAY_HD uint32_t byte_swap32(uint32_t x) {
  return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24);
}

// A leaf (1024 bytes, as 256 little-endian words) from its tag's midstate: 16 blocks and the padding.
ASSAY_HD Sha256State sha256_leaf(Sha256State midstate, const uint32_t words[256]) {
  uint32_t block[16];
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) block[j] = byte_swap32(words[16 * i + j]);
    sha256_compress(midstate, block);
  }
  for (int j = 0; j < 16; ++j) block[j] = 0;
  block[0] = 0x80000000u;
  block[15] = (64 + 1024) * 8;  // bits hashed, the tag's block included
  sha256_compress(midstate, block);
  return midstate;
}

// A node: two child hashes, given as states (their words are already big-endian order).
ASSAY_HD Sha256State sha256_node(Sha256State midstate, const Sha256State& left, const Sha256State& right) {
  uint32_t block[16];
  for (int j = 0; j < 8; ++j) {
    block[j] = left.h[j];
    block[8 + j] = right.h[j];
  }
  sha256_compress(midstate, block);
  for (int j = 0; j < 16; ++j) block[j] = 0;
  block[0] = 0x80000000u;
  block[15] = (64 + 64) * 8;
  sha256_compress(midstate, block);
  return midstate;
}

}  // namespace assay::ASSAY_CORE
