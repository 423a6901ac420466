// `chase`: reads each of which tells where the next one goes. docs/hardware-proof.md §13. The digest of a
// leaf is that of core/mix.hpp, begun from the state; here is what leads from one leaf to the next.
#pragma once
#include "mix.hpp"

namespace assay::inline ASSAY_CORE {

constexpr uint32_t kChains = 4, kIntervalHops = 64;

// The states of all chains at an interval's end, or the four words of an F; 32 bytes, little-endian.
struct Label {
  uint64_t of[kChains];
};

ASSAY_HD uint64_t upper_product(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
#endif
}

// The covered leaf that a state reads, and where it lies: q / leaves is found without a division, because
// rounding (s·rounds·leaves) / 2^64 down first does not change it.
struct HopTarget {
  uint64_t q;
  uint32_t round, leaf;
};

ASSAY_HD HopTarget hop_target(uint64_t state, uint32_t rounds, uint32_t leaves) {
  const uint64_t q = upper_product(state, uint64_t{rounds} * leaves);
  const auto round = static_cast<uint32_t>(upper_product(state, rounds));
  return {q, round, static_cast<uint32_t>(q - uint64_t{round} * leaves)};
}

// What stands in the place of §5's start and kept leaf: the state's two words.
ASSAY_HD uint32_t hop_begin(uint64_t state) {
  return static_cast<uint32_t>(state) ^ static_cast<uint32_t>(state >> 32) * 0x9E3779B1u;
}

ASSAY_HD uint64_t hop_end(uint64_t state, Digest read) {
  uint64_t h = state ^ (read.a | static_cast<uint64_t>(read.b) << 32);
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDull;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53ull;
  return h ^ h >> 33;
}

}  // namespace assay::ASSAY_CORE
