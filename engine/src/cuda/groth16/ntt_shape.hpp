// What the kernels of ntt.cu and their launcher (ntt.cpp) agree on.
#pragma once
#include <cstdint>

namespace assay::cuda {

// A block takes so many numbers: columns of 2^bits each.
constexpr uint32_t kNttTile = 1024, kNttThreads = 256, kNttMostBits = 8;
// Powers of a root stand in two tables: of the lowest bits of an exponent, and of the others.
constexpr uint32_t kNttLowBits = 12;

// One of the passes over a list of 2^log2 numbers: it takes the bits from `low` to low + bits of their
// places.
struct NttShape {
  uint32_t log2, low, bits;
  // From numbers in the order of reversed bits, to the plain one; else the other way.
  uint32_t is_back;
};

// Powers of some number: x^i for i below 2^kNttLowBits, and of the (2^kNttLowBits)-th one.
struct PowerTables {
  const void *low, *high;
};

}  // namespace assay::cuda
