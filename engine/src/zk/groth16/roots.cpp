// See roots.hpp.
#include "zk/groth16/roots.hpp"

#include <bit>

#include "zk/cpu/cpu_list.hpp"

namespace assay::zk {

namespace {

constexpr size_t kAtLeast = 2048;

std::vector<Fr> first_powers(ThreadPool& pool, const Fr& x, size_t count) {
  std::vector<Fr> list(count, Fr::one());
  times_powers(pool, list, x, Fr::one());
  return list;
}

}  // namespace

void times_powers(ThreadPool& pool, std::span<Fr> list, const Fr& x, const Fr& first) {
  in_pieces(pool, list.size(), kAtLeast, [&](size_t from, size_t to, size_t) {
    Fr factor = first * power_of(x, from);
    for (size_t i = from; i < to; ++i, factor = factor * x) list[i] = list[i] * factor;
  });
}

void transform(ThreadPool& pool, std::span<Fr> list, const Fr& root) {
  const size_t count = list.size();
  const unsigned log2 = static_cast<unsigned>(std::countr_zero(count));
  if (log2 == 0) return;
  // Each pair is swapped by one of its two.
  in_pieces(pool, count, kAtLeast, [&](size_t from, size_t to, size_t) {
    for (size_t i = from; i < to; ++i) {
      size_t other = 0;
      for (unsigned bit = 0; bit < log2; ++bit) other |= (i >> bit & 1) << (log2 - 1 - bit);
      if (other > i) std::swap(list[i], list[other]);
    }
  });
  const std::vector<Fr> powers = first_powers(pool, root, count / 2);
  for (unsigned half_bits = 0; half_bits < log2; ++half_bits) {
    const size_t half = size_t{1} << half_bits;
    in_pieces(pool, count / 2, kAtLeast, [&](size_t from, size_t to, size_t) {
      for (size_t pair = from; pair < to; ++pair) {
        const size_t j = pair & (half - 1), at = ((pair >> half_bits) << (half_bits + 1)) + j;
        const Fr u = list[at], v = list[at + half] * powers[j << (log2 - 1 - half_bits)];
        list[at] = u + v;
        list[at + half] = u - v;
      }
    });
  }
}

void cross(ThreadPool& pool, std::span<Fr> a, std::span<Fr> b) {
  const size_t count = a.size();
  const Fr root = root_of_one(static_cast<unsigned>(std::countr_zero(count))), share = Fr::of(count).inverted();
  transform(pool, a, root);
  transform(pool, b, root);
  // A root and its inverse see the same value.
  in_pieces(pool, count / 2 + 1, kAtLeast, [&](size_t from, size_t to, size_t) {
    for (size_t i = from; i < to; ++i) {
      const size_t other = (count - i) % count;
      a[i] = a[other] = Fr::products(a[i], b[other], a[other], b[i]) * share;
    }
  });
  // Symmetric, so that it does not matter which of the two roots it is.
  transform(pool, a, root);
}

}  // namespace assay::zk
