// See sha256_host.hpp.
#include "sha256_host.hpp"

#include <cstring>
#include <string_view>

#if defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace assay {

namespace {

void compress_reference(uint32_t state[8], const uint8_t* blocks, size_t count) {
  Sha256State s;
  memcpy(s.h, state, 32);
  for (; count > 0; --count, blocks += 64) {
    uint32_t w[16];
    for (int i = 0; i < 16; ++i) w[i] = byte_swap32(load_le32(blocks + 4 * i));
    sha256_compress(s, w);
  }
  memcpy(state, s.h, 32);
}

// FIPS 180-4 §4.2.2.
alignas(16) constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__aarch64__)
__attribute__((target("+crypto"))) void compress_arm(uint32_t state[8], const uint8_t* blocks, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; --count, blocks += 64) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t w[4];
    for (int i = 0; i < 4; ++i) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const uint32x4_t wk = vaddq_u32(w[i & 3], vld1q_u32(kRoundConstants + 4 * i));
      if (i < 12) {
        w[i & 3] = vsha256su1q_u32(vsha256su0q_u32(w[i & 3], w[(i + 1) & 3]), w[(i + 2) & 3], w[(i + 3) & 3]);
      }
      const uint32x4_t before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, wk);
      efgh = vsha256h2q_u32(efgh, before, wk);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}
bool cpu_has_sha() { return (getauxval(AT_HWCAP) & (1ul << 6)) != 0; }  // HWCAP_SHA2
constexpr Sha256Engine kHardware = {"armv8-sha2", compress_arm};

#elif defined(__x86_64__)
// The instructions want the state as ABEF and CDGH, high word first.
__attribute__((target("sha,sse4.1,ssse3"))) void compress_x86(uint32_t state[8], const uint8_t* blocks, size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  const __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; --count, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks + 16 * i)), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i k = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants + 4 * i));
      const __m128i wk = _mm_add_epi32(w[i & 3], k);
      if (i < 12) {
        const __m128i part = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]),
                                           _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
        w[i & 3] = _mm_sha256msg2_epu32(part, w[(i + 3) & 3]);
      }
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
bool cpu_has_sha() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 29))) return false;
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1");
}
constexpr Sha256Engine kHardware = {"x86-sha-ni", compress_x86};
#endif

constexpr Sha256Engine kReference = {"reference", compress_reference};

void (*best_compress())(uint32_t*, const uint8_t*, size_t) {
  static const auto best = sha256_engines().back().compress;
  return best;
}

void store_state(const uint32_t state[8], Hash& out) {
  for (int i = 0; i < 8; ++i) {
    const uint32_t be = byte_swap32(state[i]);
    memcpy(out.b + 4 * i, &be, 4);
  }
}

// `already` bytes were hashed before these, a multiple of 64.
Hash finish(uint32_t state[8], std::span<const uint8_t> bytes, uint64_t already) {
  const size_t whole = bytes.size() / 64;
  best_compress()(state, bytes.data(), whole);
  uint8_t tail[128] = {};
  const size_t rest = bytes.size() - 64 * whole;
  if (rest > 0) memcpy(tail, bytes.data() + 64 * whole, rest);
  tail[rest] = 0x80;
  const size_t blocks = rest + 9 <= 64 ? 1 : 2;
  const uint64_t bits = (already + bytes.size()) * 8;
  for (int i = 0; i < 8; ++i) tail[64 * blocks - 1 - static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
  best_compress()(state, tail, blocks);
  Hash out;
  store_state(state, out);
  return out;
}

const uint32_t* midstate(Tag tag) {
  struct Midstates {
    uint32_t of[5][8];
    Midstates() {
      constexpr std::string_view names[5] = {"assay/leaf/1", "assay/node/1", "assay/seed/1", "assay/nonce/1", "assay/chase/1"};
      for (int i = 0; i < 5; ++i) {
        const Hash h = sha256_bytes({reinterpret_cast<const uint8_t*>(names[i].data()), names[i].size()});
        uint8_t block[64];
        memcpy(block, h.b, 32);
        memcpy(block + 32, h.b, 32);
        const Sha256State initial = sha256_initial();
        memcpy(of[i], initial.h, 32);
        best_compress()(of[i], block, 1);
      }
    }
  };
  static const Midstates midstates;
  return midstates.of[static_cast<int>(tag)];
}

}  // namespace

std::span<const Sha256Engine> sha256_engines() {
  static const std::vector<Sha256Engine> engines = [] {
    std::vector<Sha256Engine> list = {kReference};
#if defined(__aarch64__) || defined(__x86_64__)
    if (cpu_has_sha()) list.push_back(kHardware);
#endif
    return list;
  }();
  return engines;
}

Hash sha256_bytes(std::span<const uint8_t> bytes) {
  Sha256State state = sha256_initial();
  return finish(state.h, bytes, 0);
}

Hash tagged_hash(Tag tag, std::span<const uint8_t> bytes) {
  uint32_t state[8];
  memcpy(state, midstate(tag), 32);
  return finish(state, bytes, 64);
}

Hash chained_hash(Tag tag, const Hash& before, const Hash& root) {
  uint8_t both[64];
  memcpy(both, before.b, 32);
  memcpy(both + 32, root.b, 32);
  return tagged_hash(tag, both);
}

Hash leaf_hash(const uint8_t leaf[1024]) { return tagged_hash(Tag::leaf, {leaf, 1024}); }

Hash node_hash(const Hash& left, const Hash& right) { return chained_hash(Tag::node, left, right); }

}  // namespace assay
