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

alignas(16) constexpr RoundWords kRoundConstants = round_constants();

#if defined(__aarch64__)
__attribute__((target("+crypto"))) void compress_arm(uint32_t state[8], const uint8_t* blocks, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; --count, blocks += 64) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t w[4];
    for (int i = 0; i < 4; ++i) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const uint32x4_t wk = vaddq_u32(w[i & 3], vld1q_u32(kRoundConstants.w + 4 * i));
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
      const __m128i k = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants.w + 4 * i));
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

// `already` bytes were hashed before these, a multiple of 64.
Hash finish(Sha256State state, std::span<const uint8_t> bytes, uint64_t already) {
  const size_t whole = bytes.size() / 64;
  best_compress()(state.h, bytes.data(), whole);
  uint8_t tail[128] = {};
  const size_t rest = bytes.size() - 64 * whole;
  if (rest > 0) memcpy(tail, bytes.data() + 64 * whole, rest);
  tail[rest] = 0x80;
  const size_t blocks = rest + 9 <= 64 ? 1 : 2;
  const uint64_t bits = (already + bytes.size()) * 8;
  for (int i = 0; i < 8; ++i) tail[64 * blocks - 1 - static_cast<size_t>(i)] = static_cast<uint8_t>(bits >> (8 * i));
  best_compress()(state.h, tail, blocks);
  return hash_of(state);
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

Hash hash_of(const Sha256State& state) {
  Hash out;
  for (int i = 0; i < 32; ++i) out.b[i] = static_cast<uint8_t>(state.h[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

const Sha256State& tag_midstate(Tag tag) {
  static const std::vector<Sha256State> states = [] {
    std::vector<Sha256State> made;
    for (const std::string_view name : {"assay/leaf/1", "assay/node/1", "assay/seed/1", "assay/nonce/1", "assay/chase/1"}) {
      const Hash h = sha256_bytes({reinterpret_cast<const uint8_t*>(name.data()), name.size()}), twice[2] = {h, h};
      best_compress()(made.emplace_back(sha256_initial()).h, reinterpret_cast<const uint8_t*>(twice), 1);
    }
    return made;
  }();
  return states[static_cast<size_t>(tag)];
}

Hash sha256_bytes(std::span<const uint8_t> bytes) { return finish(sha256_initial(), bytes, 0); }

Hash tagged_hash(Tag tag, std::span<const uint8_t> bytes) { return finish(tag_midstate(tag), bytes, 64); }

Hash chained_hash(Tag tag, const Hash& before, const Hash& root) {
  uint8_t both[64];
  memcpy(both, before.b, 32);
  memcpy(both + 32, root.b, 32);
  return tagged_hash(tag, both);
}

Hash leaf_hash(const uint8_t leaf[1024]) { return tagged_hash(Tag::leaf, {leaf, 1024}); }

Hash node_hash(const Hash& left, const Hash& right) { return chained_hash(Tag::node, left, right); }

}  // namespace assay
