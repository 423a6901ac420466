// The `fma` recurrences: lanes of x <- fma(x, x, c) in fp32 and fp64, x <- rotl(x*x + c, 7) in int32.
// docs/hardware-proof.md §6 says why c lies in [-2, -1.96875) and why the integer one rotates.
// Every kBlockSteps steps the lane starts again from a mix of its own bits, so that no cycle can be ridden.
#pragma once
#include <cmath>
#include <cstring>

#include "philox.hpp"

namespace assay::inline ASSAY_CORE {

constexpr uint32_t kBlockSteps = 512;

template <typename To, typename From>
ASSAY_HD To bit_copy(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

ASSAY_HD uint32_t lane_salt(uint32_t lane, uint32_t block) { return lane * 0x9E3779B1u + block * 0x85EBCA77u; }

// counter = (lane, kDomainFma, precision number, 0)
ASSAY_HD Philox4 lane_block(PhiloxKey key, uint32_t lane, uint32_t precision) {
  return philox4x32_10(key, lane, kDomainFma, precision, 0);
}

struct LaneF32 {
  float x, c;
  // The upper 24 bits -> [-1, 1), exact, in as few instructions as a card has for it.
  ASSAY_HD static float unit(uint32_t h) {
    return fmaf(static_cast<float>(h & 0xFFFFFF00u), 0x1p-31f, -1.0f);
  }
  ASSAY_HD static LaneF32 begin(PhiloxKey key, uint32_t lane) {
    const Philox4 p = lane_block(key, lane, 5);
    // Exact: ulp in [1,2) is 2^-23.
    return {unit(p.w[2]), -2.0f + static_cast<float>(p.w[0] >> 14) * 0x1p-23f};
  }
  ASSAY_HD void step() { x = fmaf(x, x, c); }
  ASSAY_HD void reseed(uint32_t lane, uint32_t block) { x = unit(fmix32(bits() ^ lane_salt(lane, block))); }
  ASSAY_HD uint32_t bits() const { return bit_copy<uint32_t>(x); }
};

struct LaneF64 {
  double x, c;
  ASSAY_HD static double unit(uint32_t hi, uint32_t lo) {  // 53 bits -> [-1, 1), exact
    const int64_t u = static_cast<int64_t>(static_cast<uint64_t>(hi >> 11) << 32 | lo) - (int64_t{1} << 52);
    return static_cast<double>(u) * 0x1p-52;
  }
  ASSAY_HD static LaneF64 begin(PhiloxKey key, uint32_t lane) {
    const Philox4 p = lane_block(key, lane, 6);
    const uint64_t t = static_cast<uint64_t>(p.w[0] & 0x7FFFu) << 32 | p.w[1];  // 47 bits
    return {unit(p.w[2], p.w[3]), -2.0 + static_cast<double>(t) * 0x1p-52};
  }
  ASSAY_HD void step() { x = ::fma(x, x, c); }
  ASSAY_HD void reseed(uint32_t lane, uint32_t block) {
    const uint64_t b = bits();
    const uint32_t lo = static_cast<uint32_t>(b), hi = static_cast<uint32_t>(b >> 32);
    const uint32_t h1 = fmix32(lo ^ lane_salt(lane, block));
    const uint32_t h2 = fmix32(hi ^ h1 ^ 0x27D4EB2Fu);
    x = unit(h2, h1);
  }
  ASSAY_HD uint64_t bits() const { return bit_copy<uint64_t>(x); }
};

struct LaneI32 {
  uint32_t x, c;
  ASSAY_HD static LaneI32 begin(PhiloxKey key, uint32_t lane) {
    const Philox4 p = lane_block(key, lane, 7);
    return {p.w[2], p.w[0] | 1u};
  }
  ASSAY_HD void step() { x = rotl32(x * x + c, 7); }
  ASSAY_HD void reseed(uint32_t lane, uint32_t block) { x = fmix32(x ^ lane_salt(lane, block)); }
  ASSAY_HD uint32_t bits() const { return x; }
};

// The whole life of one lane: what the verifier runs again. `steps` is a multiple of kBlockSteps.
template <typename Lane>
ASSAY_HD auto run_lane(PhiloxKey key, uint32_t lane, uint32_t steps) {
  Lane l = Lane::begin(key, lane);
  for (uint32_t block = 0; block < steps / kBlockSteps; ++block) {
    if (block > 0) l.reseed(lane, block);
    for (uint32_t s = 0; s < kBlockSteps; ++s) l.step();
  }
  return l.bits();
}

}  // namespace assay::ASSAY_CORE
