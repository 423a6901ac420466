// Several sums over cubes of different sizes in one, docs/zk.md §5: rounds, from the device's values to what is sent.
#include "zk/scalar_lists.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

namespace {

constexpr unsigned kMostDegree = 6;

// For the values at 0 … degree: the coefficients of the polynomials that are 1 at one of these places and 0 at the others.
std::vector<std::vector<Fr>> bases_of(unsigned count) {
  std::vector<std::vector<Fr>> bases;
  for (unsigned i = 0; i < count; ++i) {
    std::vector<Fr> basis = {Fr::one()};
    Fr divisor = Fr::one();
    for (unsigned j = 0; j < count; ++j) {
      if (j == i) continue;
      std::vector<Fr> next(basis.size() + 1, Fr::zero());
      for (size_t k = 0; k < basis.size(); ++k) {
        next[k] = next[k] - Fr::of(j) * basis[k];
        next[k + 1] = next[k + 1] + basis[k];
      }
      basis = std::move(next);
      divisor = divisor * scalar_of(static_cast<int64_t>(i) - static_cast<int64_t>(j));
    }
    const Fr factor = divisor.inverted();
    for (Fr& one : basis) one = one * factor;
    bases.push_back(std::move(basis));
  }
  return bases;
}

const std::vector<std::vector<Fr>>& known_bases(unsigned count) {
  static const std::vector<std::vector<std::vector<Fr>>> all = [] {
    std::vector<std::vector<std::vector<Fr>>> list;
    for (unsigned i = 0; i <= kMostDegree + 1; ++i) list.push_back(bases_of(i));
    return list;
  }();
  return all[count];
}

// Coefficients of the polynomial with these values at 0, 1, 2, …, added to `poly` by a factor.
void add_polynomial(std::vector<Fr>& poly, const std::vector<Fr>& values, const Fr& factor) {
  const auto& bases = known_bases(static_cast<unsigned>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const Fr value = values[i] * factor;
    for (size_t k = 0; k < values.size(); ++k) poly[k] = poly[k] + value * bases[i][k];
  }
}

}  // namespace

SegmentProver::Rounds SegmentProver::prove_sums(uint8_t kind, unsigned degree, std::vector<Sum> sums) {
  const Fr half = Fr::of(2).inverted();
  unsigned variables = 0;
  for (const Sum& sum : sums) variables = std::max(variables, sum.variables);
  std::vector<unsigned> missing;
  for (const Sum& sum : sums) missing.push_back(variables - sum.variables);
  const std::unique_ptr<Sums> running = memory_.sums(std::move(sums));
  std::vector<Fr> shares, wholes;
  for (size_t j = 0; j < missing.size(); ++j) {
    shares.push_back(power_of(half, missing[j]));
    wholes.push_back(missing[j] == 0 ? Fr::zero() : running->whole(j));
  }
  Rounds rounds;
  for (unsigned round = 0; round < variables; ++round) {
    std::vector<Fr> poly(degree + 1, Fr::zero());
    for (size_t j = 0; j < missing.size(); ++j) {
      // Constant along variables that it does not have; divided by the corners of those.
      if (round < missing[j]) {
        wholes[j] = wholes[j] * half;
        poly[0] = poly[0] + wholes[j];
      } else {
        add_polynomial(poly, running->round(j), shares[j]);
      }
    }
    poly.erase(poly.begin() + 1);
    send(kind, poly);
    const Fr x = transcript_->challenge();
    rounds.point.push_back(x);
    for (size_t j = 0; j < missing.size(); ++j)
      if (round >= missing[j]) running->fold(j, x);
    moment();
  }
  for (size_t j = 0; j < missing.size(); ++j) rounds.ends.push_back(running->ends(j));
  return rounds;
}

}  // namespace assay::zk
