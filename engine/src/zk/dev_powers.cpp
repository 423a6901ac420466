// See dev_powers.hpp.
#include "zk/dev_powers.hpp"

#include <cstring>

#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

namespace {

constexpr unsigned kWindow = 8, kWindows = 32, kDigits = 1 << kWindow;
constexpr size_t kAtOnce = 1024;

std::vector<G1Affine> to_affine(std::span<const G1> points) {
  std::vector<Fp> backs;
  for (const G1& point : points) backs.push_back(point.zzz);
  invert_all(std::span(backs));
  std::vector<G1Affine> list;
  for (size_t i = 0; i < points.size(); ++i) {
    const Fp root = backs[i] * points[i].zz;
    list.push_back({points[i].x * root * root, points[i].y * backs[i]});
  }
  return list;
}

// digit·2^(8·window) times the generator; digit 0 is the point at infinity.
std::vector<G1Affine> generator_table() {
  std::vector<G1> table;
  G1 base = G1::of({Fp::one(), Fp::of(2)});
  for (unsigned window = 0; window < kWindows; ++window) {
    G1 sum = G1::infinity();
    for (unsigned digit = 0; digit < kDigits; ++digit, sum = sum + base) table.push_back(sum);
    base = sum;
  }
  return to_affine(table);
}

}  // namespace

Fr dev_tau() {
  constexpr char kName[] = "assay/zk/dev";
  return scalar_mod_order(keccak256(reinterpret_cast<const uint8_t*>(kName), sizeof kName - 1));
}

std::vector<G1Affine> powers_of(const Fr& tau, size_t count, const std::atomic<bool>& stop) {
  const std::vector<G1Affine> table = generator_table();
  std::vector<G1Affine> powers;
  powers.reserve(count);
  Fr scalar = Fr::one();
  while (powers.size() < count) {
    throw_if(stop);
    std::vector<G1> some;
    for (; some.size() < kAtOnce && powers.size() + some.size() < count; scalar = scalar * tau) {
      const Fr plain = scalar.plain();
      G1 sum = G1::infinity();
      for (unsigned window = 0; window < kWindows; ++window)
        sum = sum + table[window * kDigits + (plain.w[window / 8] >> (8 * (window % 8)) & (kDigits - 1))];
      some.push_back(sum);
    }
    const std::vector<G1Affine> done = to_affine(some);
    powers.insert(powers.end(), done.begin(), done.end());
  }
  return powers;
}

}  // namespace assay::zk
