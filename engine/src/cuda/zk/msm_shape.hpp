// What the kernels of msm.cu and their launcher (msm.cpp) agree on.
#pragma once
#include <cstdint>

#include "core/portable.hpp"

namespace assay::cuda {

// A block brings so many digits of one window into its partitions at once.
constexpr uint32_t kTileThreads = 512, kTileEach = 16, kTileDigits = kTileThreads * kTileEach;
// Partitions of a window: by the upper bits of a bucket's number. Up to 2^12 buckets are partitions
// themselves; where there are more, a block sorts each partition by the rest.
constexpr uint32_t kMostPartitionBits = 12, kPartitionBits = 10, kMostRestBits = 10;
constexpr uint32_t kSortThreads = 512;
constexpr uint32_t kScanThreads = 1024;
// Points that a thread adds one after the other; partial sums that a thread joins.
constexpr uint32_t kJoinEach = 16;
constexpr uint32_t kAddThreads = 128;
// A digit or a place among the points whose point is taken away.
constexpr uint32_t kNegative = 1u << 31;
constexpr uint32_t kNoBucket = ~0u;

// Scalars cut into `windows` digits of `width` bits, from -2^(width-1) to 2^(width-1). A window has
// 2^(width-1) buckets: the points of digit d are added in bucket |d| - 1.
struct MsmShape {
  uint32_t count, width, windows;
  uint32_t partition_bits, rest_bits;
  ASSAY_HD uint32_t buckets_log2() const { return width - 1; }
  ASSAY_HD uint32_t buckets() const { return windows << (width - 1); }
  ASSAY_HD uint32_t partitions() const { return windows << partition_bits; }
};

}  // namespace assay::cuda
