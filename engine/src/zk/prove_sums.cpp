// What is said, and several sums over cubes of different sizes in one, docs/zk.md §5: rounds, from the
// device's values to what is sent.
#include <algorithm>

#include "zk/scalar_lists.hpp"
#include "zk/sum_prover.hpp"

namespace assay::zk {

namespace {

constexpr unsigned kMostDegree = 6;

// For the values at 0 … degree: the coefficients of the polynomials that are 1 at one of these places and 0
// at the others.
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

// 1 where both are the same corner, 0 at other corners; of one variable.
Fr eq_of(const Fr& a, const Fr& b) {
  const Fr both = a * b;
  return Fr::one() - a - b + both + both;
}

void fold_list(ListSum& sum, const Fr& x) {
  for (std::vector<Fr>& column : sum.columns) {
    const size_t half = column.size() / 2;
    for (size_t i = 0; i < half; ++i) column[i] = column[i] + x * (column[i + half] - column[i]);
    column.resize(half);
  }
}

// Values of the next round's polynomial at 0 … degree.
std::vector<Fr> list_round(const ListSum& sum, unsigned degree) {
  const size_t half = sum.columns[0].size() / 2;
  std::vector<Fr> values(degree + 1, Fr::zero()), now(sum.columns.size());
  for (size_t i = 0; i < half; ++i) {
    for (size_t k = 0; k < now.size(); ++k) now[k] = sum.columns[k][i];
    for (unsigned x = 0; x <= degree; ++x) {
      values[x] = values[x] + sum.term(now);
      for (size_t k = 0; k < now.size(); ++k) now[k] = now[k] + sum.columns[k][i + half] - sum.columns[k][i];
    }
  }
  return values;
}

}  // namespace

void SumProver::begin(std::unique_ptr<Dialogue> transcript, const OnPart& on_part) {
  transcript_ = std::move(transcript);
  proof_.clear();
  watch(on_part);
}

void SumProver::watch(const OnPart& on_part) {
  on_part_ = &on_part;
  parts_done_ = 0;
}

void SumProver::part_done() {
  ++parts_done_;
  moment();
}

void SumProver::moment() {
  if (on_part_ != nullptr) (*on_part_)(std::min(parts_done_, parts_), parts_);
}

void SumProver::message(uint8_t kind, const std::vector<uint8_t>& bytes) {
  proof_.insert(proof_.end(), bytes.begin(), bytes.end());
  transcript_->absorb(kind, bytes);
}

void SumProver::send(uint8_t kind, std::span<const Fr> scalars) {
  std::vector<uint8_t> bytes;
  for (const Fr& one : scalars) append(bytes, one);
  message(kind, bytes);
}

SumProver::Rounds SumProver::prove_zeros(uint8_t kind, unsigned degree, const std::vector<Fr>& rho, std::vector<Sum> sums) {
  std::vector<size_t> missing;
  for (const Sum& sum : sums) missing.push_back(rho.size() - sum.variables);
  const std::unique_ptr<Sums> running = memory_.sums(std::move(sums));
  Rounds rounds;
  // Products of eq over the rounds before each; what a device has in its first column begins with a sum's own
  // first round.
  std::vector<Fr> before = {Fr::one()};
  for (size_t round = 0; round < rho.size(); ++round) {
    std::vector<Fr> factors;
    for (unsigned x = 0; x <= degree; ++x) factors.push_back((before[round] * eq_of(rho[round], Fr::of(x))).inverted());
    std::vector<Fr> poly(degree + 1, Fr::zero());
    for (size_t j = 0; j < missing.size(); ++j) {
      // 0 in the rounds of variables that it does not have, since it is 0 at all corners.
      if (round < missing[j]) continue;
      std::vector<Fr> values = running->round(j);
      for (size_t x = 0; x < values.size(); ++x) values[x] = values[x] * factors[x];
      add_polynomial(poly, values, before[missing[j]]);
    }
    poly.erase(poly.begin());
    send(kind, poly);
    const Fr x = transcript_->challenge();
    rounds.point.push_back(x);
    before.push_back(before.back() * eq_of(rho[round], x));
    for (size_t j = 0; j < missing.size(); ++j)
      if (round >= missing[j]) running->fold(j, x);
    moment();
  }
  for (size_t j = 0; j < missing.size(); ++j) rounds.ends.push_back(running->ends(j));
  return rounds;
}

SumProver::Rounds SumProver::prove_list(uint8_t kind, unsigned degree, unsigned bits, std::vector<ListSum> sums) {
  Rounds rounds;
  for (unsigned round = 0; round < bits; ++round) {
    std::vector<Fr> poly(degree + 1, Fr::zero());
    for (const ListSum& sum : sums) add_polynomial(poly, list_round(sum, degree), Fr::one());
    poly.erase(poly.begin() + 1);
    send(kind, poly);
    const Fr x = transcript_->challenge();
    rounds.point.push_back(x);
    for (ListSum& sum : sums) fold_list(sum, x);
  }
  for (const ListSum& sum : sums) {
    std::vector<Fr>& own = rounds.ends.emplace_back();
    for (const std::vector<Fr>& column : sum.columns) own.push_back(column[0]);
  }
  return rounds;
}

std::pair<std::vector<Fr>, std::vector<Fr>> SumProver::prove_products(uint8_t kind, std::vector<Sum> sums) {
  constexpr unsigned kDegree = 3;
  unsigned variables = 0;
  for (const Sum& sum : sums) variables = std::max(variables, sum.variables);
  const unsigned bits = bits_for(sums.size());
  ListSum list{std::vector(3, std::vector<Fr>(size_t{1} << bits, Fr::zero())), [](std::span<const Fr> now) { return now[0] * now[1] * now[2]; }};
  const Fr half = Fr::of(2).inverted();
  for (size_t i = 0; i < sums.size(); ++i) list.columns[0][i] = sums[i].factor * power_of(half, variables - sums[i].variables);
  Rounds cube = prove_sums(kind, kDegree, std::move(sums));
  for (size_t i = 0; i < cube.ends.size(); ++i) {
    list.columns[0][i] = list.columns[0][i] * cube.ends[i][0];
    list.columns[1][i] = cube.ends[i][1];
    list.columns[2][i] = cube.ends[i][2];
  }
  std::vector<ListSum> lists;
  lists.push_back(std::move(list));
  const Rounds all = prove_list(kind, kDegree, bits, std::move(lists));
  send(kind + 1, std::span(all.ends[0]).subspan(1));
  return {std::move(cube.point), eqs_of(all.point)};
}

SumProver::Rounds SumProver::prove_sums(uint8_t kind, unsigned degree, std::vector<Sum> sums) {
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
