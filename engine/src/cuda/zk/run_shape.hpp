// What the kernels of segment.cu and their launcher (cuda_run.cpp) agree on.
#pragma once
#include <cstdint>

namespace assay::cuda {

constexpr uint32_t kRunThreads = 256;
// A block makes kTile × kTile sums, kTileDeep terms at a time.
constexpr uint32_t kTile = 64, kTileDeep = 16;
// Rows of a table that a block counts.
constexpr uint32_t kCountedRows = 4096;

// Σ_k a(i, k)·b(k, j): a matrix's elements lie `a_row` and `a_column` apart; `deep` terms in all, `each` of
// them a block.
struct ProductShape {
  uint32_t rows, columns, deep, each;
  uint64_t a_row, a_column, b_row, b_column;
};

// Which row of the data stands at a place of the segment (zk/segment_run.cpp).
struct RowOrder {
  uint64_t first, mask;
  uint32_t bits;
  uint8_t places[32];
};

// Rounding of sums, and where the first value that left its range is noted: the least of all keys.
struct RunShape {
  uint32_t width, scale, low_bits, h, d, activation, gradient;
  // Of the step and link, for the places of its batch; of the next link.
  uint64_t key, next_key;
  unsigned long long* first_left;
};

// One value outside: places of a batch, each with two kinds.
constexpr uint64_t kKeysOfPlace = 2;

// What is counted of numbers x, y, w: x; a row of a signed table, for x + by; the higher bits of what
// rounding x to y leaves; the same where w says whether; some bits of x + by.
struct CountShape {
  enum Kind : uint32_t { plain, with_sign, rest, rest_back, limb };
  Kind kind;
  uint32_t table_bits, scale, low_bits, shift;
  int64_t by;
  uint64_t count;
};

}  // namespace assay::cuda
