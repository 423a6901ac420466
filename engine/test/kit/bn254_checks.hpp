// BN254, sums of points and keccak256 against vectors/bn254.json, whose numbers are those of bigints.
#pragma once
#include "check.hpp"
#include "core/keccak.hpp"
#include "cpu/msm.hpp"
#include "vector_file.hpp"

namespace assay_test {

template <typename F>
F number_of(const std::string& hex) {
  const std::vector<uint8_t> bytes = from_hex(hex);
  F out = F::zero();
  check(bytes.size() == 32 && F::from_bytes(bytes.data(), out), "a number below its order: " + hex);
  return out;
}

template <typename F>
std::string hex_of(const F& number) {
  uint8_t bytes[32];
  number.to_bytes(bytes);
  return to_hex(bytes, 32);
}

inline std::string hex_of(const assay::G1Affine& p) { return hex_of(p.x) + hex_of(p.y); }

inline assay::G1Affine point_of(const std::string& hex) {
  return {number_of<assay::Fp>(hex.substr(0, 64)), number_of<assay::Fp>(hex.substr(64, 64))};
}

template <typename F>
void check_numbers(const Row& r) {
  const F a = number_of<F>(r.text("a")), b = number_of<F>(r.text("b"));
  const std::string name = "bn254.json " + r.text("kind") + " " + r.text("a");
  check(hex_of(a + b) == r.text("sum"), name + ": sum");
  check(hex_of(a - b) == r.text("difference"), name + ": difference");
  check(hex_of(a * b) == r.text("product"), name + ": product");
  check(hex_of(a.inverted()) == r.text("inverse"), name + ": inverse");
  std::vector<F> both = {a, F::zero(), b, a * b};
  assay::invert_all(std::span<F>(both));
  check(both[0] == a.inverted() && both[1].is_zero() && both[2] == b.inverted() && both[3] == (a * b).inverted(), name + ": all inverses");
}

inline void check_sums(const Row& r) {
  using namespace assay;
  std::vector<G1Affine> points;
  std::vector<uint64_t> scalars, small;
  const std::string &places = r.text("points"), &factors = r.text("scalars");
  bool is_small = true;
  for (size_t i = 0; 128 * i < places.size(); ++i) {
    points.push_back(point_of(places.substr(128 * i, 128)));
    check(points.back().is_on_curve(), "a point is on the curve");
    const Fr scalar = number_of<Fr>(factors.substr(64 * i, 64)).plain();
    scalars.insert(scalars.end(), scalar.w, scalar.w + 4);
    small.push_back(scalar.w[0]);
    is_small = is_small && (scalar.w[1] | scalar.w[2] | scalar.w[3]) == 0;
  }
  const std::string name = "bn254.json msm of " + std::to_string(points.size());
  check(hex_of(msm(points, scalars, 4).affine()) == r.text("sum"), name);
  if (is_small) check(hex_of(msm(points, small, 1).affine()) == r.text("sum"), name + ", small");
  G1 slow = G1::infinity();
  for (size_t i = 0; i < points.size(); ++i) {
    G1 term = G1::infinity();
    for (int bit = 255; bit >= 0; --bit) {
      term = term.doubled();
      if ((scalars[4 * i + bit / 64] >> (bit % 64) & 1) != 0) term = term + points[i];
    }
    slow = slow + term;
  }
  check(slow.affine() == msm(points, scalars, 4).affine(), name + ": bit by bit");
}

inline void check_edges() {
  using namespace assay;
  uint8_t bytes[32];
  Fp out = Fp::zero();
  const std::string order = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47";
  check(!Fp::from_bytes(from_hex(order).data(), out), "the order is no number below it");
  memset(bytes, 0xff, 32);
  check(!Fp::from_bytes(bytes, out), "2^256 - 1 is no number below the order");
  const G1Affine g = {Fp::one(), Fp::of(2)}, none = {Fp::zero(), Fp::zero()};
  check(g.is_on_curve() && none.is_on_curve() && !G1Affine{Fp::one(), Fp::one()}.is_on_curve(), "who is on the curve");
  const G1 one = G1::of(g);
  check((one + G1::of(-g)).is_infinity() && (one + -g).is_infinity(), "opposite points give none");
  check((one + g).affine() == one.doubled().affine() && (one + one).affine() == one.doubled().affine(), "a point and itself");
  check((one + none).affine() == g && (G1::infinity() + g).affine() == g && (G1::infinity() + one).affine() == g, "nothing added");
  check(G1::infinity().doubled().is_infinity() && (G1::infinity() + G1::infinity()).is_infinity(), "nothing doubled");
  // The same point in another spelling of its denominator.
  const G1 three = one.doubled() + g, again = G1::of(three.affine());
  check((three + again).affine() == three.doubled().affine() && (three + -again.affine()).is_infinity(), "denominators count for nothing");
  check(msm({}, {}, 4).is_infinity(), "a sum of nothing");
}

inline void test_bn254(const std::string& folder) {
  check_edges();
  for (const Row& r : read_vectors(folder, "bn254")) {
    const std::string& kind = r.text("kind");
    if (kind == "scalar") check_numbers<assay::Fr>(r);
    if (kind == "coordinate") check_numbers<assay::Fp>(r);
    if (kind == "msm") check_sums(r);
    if (kind == "keccak") {
      const std::vector<uint8_t> bytes = from_hex(r.text("a"));
      check(to_hex(assay::keccak256(bytes.data(), bytes.size()).b, 32) == r.text("sum"), "bn254.json keccak");
    }
  }
}

}  // namespace assay_test
