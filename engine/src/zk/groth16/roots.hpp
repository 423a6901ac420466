// Roots of 1 among the scalars, and values of polynomials at them.
#pragma once
#include "cpu/thread_pool.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

constexpr unsigned kMostRootBits = 28;
// No power of it below the 2^28-th root is 1, so that it is at no root's place: the coset of Groth16's
// quotient.
inline Fr coset_shift() { return Fr::of(5); }

// Of order 2^log2: powers of 5^((r - 1)/2^28), as 5 has no square root.
inline Fr root_of_one(unsigned log2) {
  // (r - 1)/2^28
  constexpr uint64_t kExponent[4] = {0x9b9709143e1f593f, 0x181585d2833e8487, 0x131a029b85045b68, 0x000000030644e72e};
  Fr root = Fr::one();
  for (int bit = 255; bit >= 0; --bit) {
    root = root * root;
    if ((kExponent[bit / 64] >> (bit % 64) & 1) != 0) root = root * coset_shift();
  }
  for (unsigned i = log2; i < kMostRootBits; ++i) root = root * root;
  return root;
}

// From coefficients to values at root^0, root^1 …, in place; a power of two of them.
void transform(ThreadPool& pool, std::span<Fr> list, const Fr& root);
// From coefficients of a and b to those of a(X)·b(1/X) + a(1/X)·b(X) modulo X^size − 1, in the place of a; b
// is used up. Powers k and −k have the same one.
void cross(ThreadPool& pool, std::span<Fr> a, std::span<Fr> b);
// What `cross` takes for lists of so many coefficients: 2^this many, at least 2. Powers from −last to last
// are apart then, but for the last ones themselves.
inline unsigned cross_bits(size_t count) {
  unsigned bits = 1;
  while ((size_t{1} << bits) < 2 * (count - 1)) ++bits;
  return bits;
}
// list_i times first·x^i.
void times_powers(ThreadPool& pool, std::span<Fr> list, const Fr& x, const Fr& first);

}  // namespace assay::zk
