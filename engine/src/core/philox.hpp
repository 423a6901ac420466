// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): any block of a matrix is O(1)
// to find. docs/hardware-proof.md §2 names the counters; vectors/philox.json holds known answers.
#pragma once
#include "portable.hpp"

namespace assay::inline ASSAY_CORE {

struct Philox4 {
  uint32_t w[4];
};

struct PhiloxKey {
  uint32_t k0, k1;
};

// The second counter word: which stream of numbers a block belongs to.
enum PhiloxDomain : uint32_t { kDomainA = 0, kDomainB = 1, kDomainFma = 2, kDomainStream = 3 };

// The key of a round is the first 8 bytes of its seed.
ASSAY_HD PhiloxKey philox_key(const uint8_t seed[32]) { return {load_le32(seed), load_le32(seed + 4)}; }

ASSAY_HD Philox4 philox4x32_10(PhiloxKey key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  uint32_t k0 = key.k0, k1 = key.k1;
#if defined(__CUDACC__)
#pragma unroll
#endif
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t p1 = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace assay::ASSAY_CORE
