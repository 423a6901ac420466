// Σ scalar·point over BN254 by buckets (Pippenger), on one thread: what commitments are, docs/zk.md §1. The reference for faster ones. Scalars
// are plain numbers of `words` words of 64 bits, lowest first: four for any scalar, one for small ones, which then take a quarter of the work.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/bn254.hpp"

namespace assay {

// All inverses by one; 0 stays 0.
template <typename Order>
void invert_all(std::span<Field<Order>> numbers) {
  std::vector<Field<Order>> products(numbers.size());
  Field<Order> product = Field<Order>::one();
  for (size_t i = 0; i < numbers.size(); ++i) {
    products[i] = product;
    if (!numbers[i].is_zero()) product = product * numbers[i];
  }
  Field<Order> back = product.inverted();
  for (size_t i = numbers.size(); i-- > 0;) {
    if (numbers[i].is_zero()) continue;
    const Field<Order> own = numbers[i];
    numbers[i] = back * products[i];
    back = back * own;
  }
}

// Bits of a window: about as many buckets as points, so that sums over buckets cost as much as those into them.
inline unsigned msm_window(size_t count) {
  unsigned bits = 2;
  while (bits < 16 && (size_t{8} << bits) < count) ++bits;
  return bits;
}

inline G1 msm(std::span<const G1Affine> points, std::span<const uint64_t> scalars, unsigned words) {
  const size_t count = std::min(points.size(), scalars.size() / words);
  const unsigned width = msm_window(count), all = 64 * words;
  const auto digit = [&](size_t i, unsigned at) {
    const uint64_t* own = scalars.data() + i * words;
    uint64_t bits = own[at / 64] >> (at % 64);
    if (at % 64 + width > 64 && at / 64 + 1 < words) bits |= own[at / 64 + 1] << (64 - at % 64);
    return bits & ((uint64_t{1} << width) - 1);
  };
  G1 sum = G1::infinity();
  std::vector<G1> buckets(size_t{1} << width);
  for (unsigned at = (all - 1) / width * width;; at -= width) {
    for (unsigned i = 0; i < width; ++i) sum = sum.doubled();
    std::fill(buckets.begin(), buckets.end(), G1::infinity());
    for (size_t i = 0; i < count; ++i) {
      if (const uint64_t own = digit(i, at); own != 0) buckets[own] = buckets[own] + points[i];
    }
    // Σ k·bucket_k: each bucket is in as many of the sums from the highest down as its number says.
    G1 running = G1::infinity();
    for (size_t k = buckets.size(); --k > 0;) {
      running = running + buckets[k];
      sum = sum + running;
    }
    if (at == 0) return sum;
  }
}

}  // namespace assay
