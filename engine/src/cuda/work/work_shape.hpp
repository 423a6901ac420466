// What the kernels of work.cu and their launcher (cuda_work.cpp) agree on. Types are numbers: 0 i8, 1 i16, 2
// i32, 3 i64.
#pragma once
#include <cstdint>

namespace assay::cuda {

struct PlaneSplit {
  uint8_t* planes[4];  // the lowest byte first
  uint32_t count;
  uint64_t pitch;  // bytes from one row to the next, a multiple of 16
};

struct PlainProduct {
  uint32_t batch, m, n, k;
  uint32_t a_share, b_share;  // how many batches of the output read one of the operand
  uint32_t a_type, b_type, out_type;
};

// Of thin_product.cu.
constexpr uint32_t kThinWarps = 8;     // of a block
constexpr uint32_t kMostThinRows = 64;  // of A
struct ThinProduct {
  uint32_t batch, m, n, k;
  uint32_t a_share, b_share;  // how many batches of the output read one of the operand
  uint32_t depth;             // warps that share K: a divisor of kThinWarps
  uint32_t is_wide;           // out is i64, else i32
};

struct RowReduction {
  uint64_t rows;
  uint32_t count;      // of a row
  uint32_t reduction;  // 0 sum, 1 max, 2 min, 3 argmax, 4 argmin
  uint32_t type, out_type;
  uint32_t threads;  // of a row: 32, or all of a block
};

struct ScatteredSum {
  uint32_t width, terms;
  uint32_t x_type, index_type;
  uint32_t is_wide;  // sums in 64 bits, else in 32
};

}  // namespace assay::cuda
