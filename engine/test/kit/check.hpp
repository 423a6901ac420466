// Counts what holds and what does not. Each test program ends by printing "N passed, N failed" (report).
#pragma once
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "probe/probe_kernels.hpp"

namespace assay_test {

inline unsigned passed = 0, failed = 0;

inline bool check(bool holds, const std::string& what) {
  ++(holds ? passed : failed);
  if (!holds) {
    printf("FAILED %s\n", what.c_str());
    fflush(stdout);
  }
  return holds;
}

inline int report() {
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

inline bool same(const assay::Hash& a, const assay::Hash& b) { return memcmp(a.b, b.b, 32) == 0; }

inline std::vector<uint8_t> from_hex(const std::string& hex) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return out;
}

inline std::string to_hex(const uint8_t* bytes, size_t count) {
  std::string out;
  char two[3];
  for (size_t i = 0; i < count; ++i) {
    snprintf(two, sizeof two, "%02x", bytes[i]);
    out += two;
  }
  return out;
}

inline assay::Hash hash_from_hex(const std::string& hex) {
  assay::Hash h{};
  const std::vector<uint8_t> bytes = from_hex(hex);
  if (bytes.size() == 32) memcpy(h.b, bytes.data(), 32);
  else check(false, "a vector's hash has 32 bytes");
  return h;
}

// A seed that is all a test case's own.
inline assay::Seed seed_of(uint32_t number) {
  assay::Seed seed;
  for (uint32_t i = 0; i < 32; ++i) seed.b[i] = static_cast<uint8_t>(number * 37 + i * 11 + (number >> 8));
  return seed;
}

inline assay::Precision precision_named(const std::string& name) {
  for (uint8_t p = 0; p < 8; ++p)
    if (name == assay::kPrecisionNames[p]) return static_cast<assay::Precision>(p);
  check(false, "precision " + name);
  return assay::Precision::int8;
}

}  // namespace assay_test
