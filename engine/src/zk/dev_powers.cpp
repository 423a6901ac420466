// See dev_powers.hpp.
#include "zk/dev_powers.hpp"

#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

namespace {

constexpr size_t kAtOnce = 1024;

}  // namespace

Fr dev_tau() {
  constexpr char kName[] = "assay/zk/dev";
  return scalar_mod_order(keccak256(reinterpret_cast<const uint8_t*>(kName), sizeof kName - 1));
}

std::vector<G1Affine> powers_of(const Fr& tau, size_t count, const std::atomic<bool>& stop) {
  const std::vector<G1Affine> table = multiples_table<Fp>({Fp::one(), Fp::of(2)});
  std::vector<G1Affine> powers;
  powers.reserve(count);
  Fr scalar = Fr::one();
  while (powers.size() < count) {
    throw_if(stop);
    std::vector<G1> some;
    for (; some.size() < kAtOnce && powers.size() + some.size() < count; scalar = scalar * tau) some.push_back(multiple_of<Fp>(table, scalar));
    const std::vector<G1Affine> done = to_affine<Fp>(some);
    powers.insert(powers.end(), done.begin(), done.end());
  }
  return powers;
}

}  // namespace assay::zk
