// Short lists of scalars on the host: points, and what is 1 at one corner of a cube.
#pragma once
#include <span>
#include <vector>

#include "core/bn254.hpp"

namespace assay::zk {

inline std::vector<Fr> list_of(std::span<const Fr> list) { return {list.begin(), list.end()}; }

inline std::vector<Fr> joined(std::span<const Fr> a, std::span<const Fr> b) {
  std::vector<Fr> list = list_of(a);
  list.insert(list.end(), b.begin(), b.end());
  return list;
}

// A whole number, below 0 too.
inline Fr scalar_of(int64_t number) {
  return number < 0 ? Fr::zero() - Fr::of(uint64_t{0} - static_cast<uint64_t>(number)) : Fr::of(static_cast<uint64_t>(number));
}

inline Fr two_to(unsigned bits) { return Fr::of(uint64_t{1} << bits); }

inline Fr power_of(Fr base, uint64_t exponent) {
  Fr result = Fr::one();
  for (; exponent != 0; exponent >>= 1, base = base * base)
    if ((exponent & 1) != 0) result = result * base;
  return result;
}

// eq(point, i) for all i; the first of the point is the highest bit.
inline std::vector<Fr> eqs_of(std::span<const Fr> point) {
  std::vector<Fr> list = {Fr::one()};
  for (const Fr& one : point) {
    std::vector<Fr> next(2 * list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      next[2 * i + 1] = list[i] * one;
      next[2 * i] = list[i] - next[2 * i + 1];
    }
    list = std::move(next);
  }
  return list;
}

inline Fr eq_at_corner(std::span<const Fr> point, uint64_t corner) {
  Fr product = Fr::one();
  for (size_t i = 0; i < point.size(); ++i)
    product = product * ((corner >> (point.size() - 1 - i) & 1) != 0 ? point[i] : Fr::one() - point[i]);
  return product;
}

}  // namespace assay::zk
