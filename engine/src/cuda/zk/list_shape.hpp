// What the kernels of lists.cu and sums.cu and their launchers agree on.
#pragma once
#include "core/bn254.hpp"

namespace assay::cuda {

constexpr uint32_t kListThreads = 128;

// Part of a list: scalars, or whole numbers of 64 bits with a sign.
struct Source {
  const void* at;
  uint32_t is_numbers;
};

// Values that stand at a place of a piece.
struct KernelSource {
  Source values;
  uint64_t at, count;
};

constexpr uint32_t kMostValues = 5, kMostParts = 3, kMostColumns = 2 + kMostValues;
struct Columns {
  Source column[kMostColumns];
};

// What is looked up (zk/proof_kernels.hpp): constant + Σ by[k]·values[k] +
// product·values[left]·values[right]. For values that are numbers, which take short products, factors stand
// here 2^64 times as large too, and that of a product of two 2^128 times.
struct PartShape {
  Fr constant, by[kMostValues], short_by[kMostValues], product, short_product, shortest_product;
  uint32_t has_by[kMostValues];
  uint32_t has_product, left, right;
};
struct Parts {
  PartShape part[kMostParts];
  uint32_t count, values;
};

// One of several sums that are done at once, and where it has its columns with a variable less.
struct SumShape {
  Columns columns;
  Parts parts;
};
struct FoldShape {
  Columns columns;
  Fr* out;
};
struct InverseShape {
  SumShape sum;  // without the first two columns
  Fr* out;
};

// Values of a round at 0 … 6 at most; then what is added apart, Σ g at 0 and how much it grows.
constexpr uint32_t kMostPoints = 7, kRoundResults = kMostPoints + 2;

}  // namespace assay::cuda
