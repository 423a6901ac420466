// Σ scalar·point over BN254 by buckets (Pippenger), on one thread: what commitments are, docs/zk.md §1. The
// reference for faster ones. Also many multiples of one point. Scalars are plain numbers of `words` words of
// 64 bits, lowest first: four for any scalar, one for small ones, which then take a quarter of the work.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/bn254.hpp"

namespace assay {

// All inverses by one; 0 stays 0.
template <typename F>
void invert_all(std::span<F> numbers) {
  std::vector<F> products(numbers.size());
  F product = F::one();
  for (size_t i = 0; i < numbers.size(); ++i) {
    products[i] = product;
    if (!numbers[i].is_zero()) product = product * numbers[i];
  }
  F back = product.inverted();
  for (size_t i = numbers.size(); i-- > 0;) {
    if (numbers[i].is_zero()) continue;
    const F own = numbers[i];
    numbers[i] = back * products[i];
    back = back * own;
  }
}

// Bits of a window: about as many buckets as points, so that sums over buckets cost as much as those into
// them.
inline unsigned msm_window(size_t count) {
  unsigned bits = 2;
  while (bits < 16 && (size_t{8} << bits) < count) ++bits;
  return bits;
}

template <typename F>
PointSum<F> msm_of(std::span<const AffinePoint<F>> points, std::span<const uint64_t> scalars, unsigned words) {
  using Sum = PointSum<F>;
  const size_t count = std::min(points.size(), scalars.size() / words);
  const unsigned width = msm_window(count), all = 64 * words;
  const auto digit = [&](size_t i, unsigned at) {
    const uint64_t* own = scalars.data() + i * words;
    uint64_t bits = own[at / 64] >> (at % 64);
    if (at % 64 + width > 64 && at / 64 + 1 < words) bits |= own[at / 64 + 1] << (64 - at % 64);
    return bits & ((uint64_t{1} << width) - 1);
  };
  Sum sum = Sum::infinity();
  std::vector<Sum> buckets(size_t{1} << width);
  for (unsigned at = (all - 1) / width * width;; at -= width) {
    for (unsigned i = 0; i < width; ++i) sum = sum.doubled();
    std::fill(buckets.begin(), buckets.end(), Sum::infinity());
    for (size_t i = 0; i < count; ++i) {
      if (const uint64_t own = digit(i, at); own != 0) buckets[own] = buckets[own] + points[i];
    }
    // Σ k·bucket_k: each bucket is in as many of the sums from the highest down as its number says.
    Sum running = Sum::infinity();
    for (size_t k = buckets.size(); --k > 0;) {
      running = running + buckets[k];
      sum = sum + running;
    }
    if (at == 0) return sum;
  }
}

inline G1 msm(std::span<const G1Affine> points, std::span<const uint64_t> scalars, unsigned words) { return msm_of<Fp>(points, scalars, words); }

template <typename F>
PointSum<F> times_scalar(const AffinePoint<F>& point, const Fr& scalar) {
  const Fr plain = scalar.plain();
  return msm_of<F>(std::span(&point, 1), plain.w, 4);
}

// Of many at once, by one inverse.
template <typename F>
std::vector<AffinePoint<F>> to_affine(std::span<const PointSum<F>> points) {
  std::vector<F> backs;
  for (const PointSum<F>& point : points) backs.push_back(point.zzz);
  invert_all(std::span(backs));
  std::vector<AffinePoint<F>> list;
  for (size_t i = 0; i < points.size(); ++i) {
    const F root = backs[i] * points[i].zz;
    list.push_back({points[i].x * root * root, points[i].y * backs[i]});
  }
  return list;
}

constexpr unsigned kTableBytes = 32, kTableDigits = 255;

// For each byte of a scalar, lowest first, the 255 multiples of a point that it may ask for.
template <typename F>
std::vector<AffinePoint<F>> multiples_table(const AffinePoint<F>& point) {
  std::vector<PointSum<F>> table;
  PointSum<F> unit = PointSum<F>::of(point);
  for (unsigned byte = 0; byte < kTableBytes; ++byte) {
    PointSum<F> own = PointSum<F>::infinity();
    for (unsigned digit = 0; digit < kTableDigits; ++digit) table.push_back(own = own + unit);
    unit = own + unit;
  }
  return to_affine<F>(table);
}

// scalar·point, by the point's table.
template <typename F>
PointSum<F> multiple_of(std::span<const AffinePoint<F>> table, const Fr& scalar) {
  const Fr plain = scalar.plain();
  PointSum<F> sum = PointSum<F>::infinity();
  for (unsigned byte = 0; byte < kTableBytes; ++byte) {
    const unsigned digit = static_cast<unsigned>(plain.w[byte / 8] >> (8 * (byte % 8))) & 0xFF;
    if (digit != 0) sum = sum + table[kTableDigits * byte + digit - 1];
  }
  return sum;
}

}  // namespace assay
