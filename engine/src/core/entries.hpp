// The entries of A and B: from a Philox block to numbers that every precision holds and sums exactly.
// docs/hardware-proof.md §3. Entry (row, col) of a row-major matrix with k columns has index row*k + col.
#pragma once
#include "philox.hpp"

namespace assay::inline ASSAY_CORE {

enum class Precision : uint8_t { int8 = 0, fp8 = 1, fp16 = 2, bf16 = 3, tf32 = 4, fp32 = 5, fp64 = 6, int32 = 7 };

constexpr bool is_gemm_precision(Precision p) { return static_cast<uint8_t>(p) <= 4; }
constexpr bool is_fma_precision(Precision p) { return static_cast<uint8_t>(p) >= 5 && static_cast<uint8_t>(p) <= 7; }

// int8 and fp8 take 16 entries of 8 bits from a block; fp16, bf16 and tf32 take 8 entries of 16 bits.
ASSAY_HD constexpr uint32_t entries_per_block(Precision p) {
  return (p == Precision::int8 || p == Precision::fp8) ? 16u : 8u;
}

// Raw draw -> entry. `u` is 8 bits for int8/fp8 and 16 bits for the others.
ASSAY_HD int32_t entry_from_raw(Precision p, uint32_t u) {
  if (p == Precision::int8) return static_cast<int8_t>(static_cast<uint8_t>(u));
  if (p == Precision::fp8) return static_cast<int32_t>((u * 17u) >> 8) - 8;
  return static_cast<int32_t>((u * 363u) >> 16) - 181;
}

// Entry `i` (0..entries_per_block-1) of a block: bytes, or 16-bit halves, in little-endian order.
ASSAY_HD int32_t entry_in_block(Precision p, const Philox4& b, uint32_t i) {
  if (entries_per_block(p) == 16) return entry_from_raw(p, (b.w[i >> 2] >> (8 * (i & 3))) & 0xFFu);
  return entry_from_raw(p, (b.w[i >> 1] >> (16 * (i & 1))) & 0xFFFFu);
}

// One entry alone; `matrix` is kDomainA or kDomainB.
ASSAY_HD int32_t matrix_entry(Precision p, PhiloxKey key, uint32_t matrix, uint64_t index) {
  const uint32_t per = entries_per_block(p);
  const Philox4 b = philox4x32_10(key, static_cast<uint32_t>(index / per), matrix, 0, 0);
  return entry_in_block(p, b, static_cast<uint32_t>(index % per));
}

}  // namespace assay::ASSAY_CORE
