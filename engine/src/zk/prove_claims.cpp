// What the sums say of blocks, joined in one sum over all values, docs/zk.md §5, 4. Values stand in pieces,
// and a kernel is eq at a point: seen from one piece, a number times eq at the point's last variables, its
// tail. There are few tails; so the rounds over pieces need each piece's sum with each tail, and nothing else
// of the values.
#include <algorithm>

#include "cpu/msm.hpp"
#include "zk/scalar_lists.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

namespace {

constexpr unsigned kMostPieceBits = 20;

}  // namespace

struct SegmentProver::Tails {
  struct Tail {
    std::vector<Fr> point;
    // In each piece, for blocks that are smaller.
    uint64_t at;
    // Of a claim with weights along an axis: what counts there, in the place of eq at the point.
    std::vector<Fr> kernel;
  };
  unsigned bits;
  std::vector<Tail> list;
  // By how much each counts in each piece: (piece, tail), with zeros up to a power of two of tails.
  unsigned count_bits;
  std::vector<Fr> factors;
};

SegmentProver::Tails SegmentProver::tails_of_claims(const Fr& eta) const {
  struct Use {
    uint64_t piece;
    size_t tail;
    Fr factor;
  };
  Tails tails{std::min(plan_.chunk_bits, kMostPieceBits), {}, 0, {}};
  std::vector<Use> uses;
  const auto number_of = [&](std::span<const Fr> point, uint64_t at) {
    const auto same = [&](const Tails::Tail& one) { return one.at == at && one.kernel.empty() && std::equal(one.point.begin(), one.point.end(), point.begin(), point.end()); };
    const auto found = std::find_if(tails.list.begin(), tails.list.end(), same);
    if (found != tails.list.end()) return static_cast<size_t>(found - tails.list.begin());
    tails.list.push_back({list_of(point), at, {}});
    return tails.list.size() - 1;
  };
  const auto number_of_weighted = [&](const ClaimTerm& term, size_t high, uint64_t at) {
    const std::span<const Fr> point(term.point);
    const std::vector<Fr> before = eqs_of(point.subspan(high, term.after - high)), then = eqs_of(point.subspan(term.after));
    std::vector<Fr> kernel;
    for (const Fr& a : before)
      for (const Fr& weight : term.weights) {
        const Fr both = a * weight;
        for (const Fr& b : then) kernel.push_back(both * b);
      }
    tails.list.push_back({{}, at, std::move(kernel)});
    return tails.list.size() - 1;
  };
  Fr power = Fr::one();
  for (const Claim& claim : claims_) {
    for (const ClaimTerm& term : claim) {
      const std::span<const Fr> point(term.point);
      const size_t size = point.size() + (term.weights.empty() ? 0 : bits_for(term.weights.size()));
      // The plan sees to it that no axis begins in another piece.
      const size_t high = size > tails.bits ? size - tails.bits : 0;
      const uint64_t place = high > 0 ? 0 : term.at & ((uint64_t{1} << tails.bits) - 1);
      const size_t tail = term.weights.empty() ? number_of(point.subspan(high), place) : number_of_weighted(term, high, place);
      const std::vector<Fr> shares = eqs_of(point.first(high));
      for (size_t i = 0; i < shares.size(); ++i) uses.push_back({(term.at >> tails.bits) + i, tail, power * term.factor * shares[i]});
    }
    power = power * eta;
  }
  tails.count_bits = bits_for(tails.list.size());
  tails.factors.assign(uint64_t{1} << (plan_.bits - tails.bits + tails.count_bits), Fr::zero());
  for (const Use& use : uses) {
    Fr& own = tails.factors[(use.piece << tails.count_bits) + use.tail];
    own = own + use.factor;
  }
  return tails;
}

// All that are not zeros throughout, and their numbers.
std::vector<Slice> SegmentProver::pieces_of(unsigned bits, std::vector<uint64_t>& numbers) const {
  std::vector<Slice> pieces;
  for (unsigned g = 0; g < kGroups; ++g)
    for (uint64_t i = 0; i < plan_.groups[g].chunks << (plan_.chunk_bits - bits); ++i) {
      pieces.push_back({groups_[g], i << bits, uint64_t{1} << bits});
      numbers.push_back((plan_.groups[g].first_chunk << (plan_.chunk_bits - bits)) + i);
    }
  return pieces;
}

// The rounds over the variables that tell pieces apart, and those over what is left.
std::vector<Fr> SegmentProver::join_pieces(const Tails& tails, const std::vector<Slice>& pieces, const std::vector<uint64_t>& numbers) {
  const unsigned variables = plan_.bits - tails.bits;
  std::vector<Fr> point;
  std::vector<ListPtr> kernels;
  for (const Tails::Tail& tail : tails.list) kernels.push_back(tail.kernel.empty() ? memory_.eqs(tail.point) : memory_.scalars(tail.kernel));
  if (variables > 0) {
    std::vector<Kernel> placed;
    for (size_t t = 0; t < kernels.size(); ++t) placed.push_back({all_of(kernels[t]), tails.list[t].at});
    const std::vector<Fr> dots = memory_.dots(pieces, placed);
    std::vector<Fr> sums(tails.factors.size(), Fr::zero());
    for (size_t i = 0; i < pieces.size(); ++i)
      for (size_t t = 0; t < kernels.size(); ++t) sums[(numbers[i] << tails.count_bits) + t] = dots[t * pieces.size() + i];
    std::vector<Sum> list;
    list.push_back({Sum::Kind::product, variables + tails.count_bits, 2, {all_of(memory_.scalars(tails.factors)), all_of(memory_.scalars(sums))}, {}, Fr::one(), Fr::zero()});
    const std::unique_ptr<Sums> running = memory_.sums(std::move(list));
    const Fr half = Fr::of(2).inverted();
    for (unsigned round = 0; round < variables; ++round) {
      const std::vector<Fr> values = running->round(0);
      const std::vector<Fr> poly = {values[0], (values[0] - values[1] - values[1] + values[2]) * half};
      send(11, poly);
      point.push_back(transcript_->challenge());
      running->fold(0, point.back());
      moment();
    }
  }
  const std::vector<Fr> shares = eqs_of(point);
  std::vector<Fr> factors;
  for (const uint64_t number : numbers) factors.push_back(shares[number]);
  const ListPtr kernel = memory_.zeros(uint64_t{1} << tails.bits);
  for (size_t t = 0; t < kernels.size(); ++t) {
    Fr factor = Fr::zero();
    for (size_t i = 0; i < shares.size(); ++i) factor = factor + shares[i] * tails.factors[(i << tails.count_bits) + t];
    memory_.add_times(kernel, tails.list[t].at, all_of(kernels[t]), factor);
  }
  kernels.clear();
  std::vector<Sum> list;
  list.push_back({Sum::Kind::product, tails.bits, 2, {all_of(kernel), all_of(memory_.combined(pieces, factors))}, {}, Fr::one(), Fr::zero()});
  const Rounds rounds = prove_sums(11, 2, std::move(list));
  point.insert(point.end(), rounds.point.begin(), rounds.point.end());
  point.push_back(rounds.ends[0][1]);
  return point;
}

LeftOpen SegmentProver::join() {
  const Tails tails = tails_of_claims(transcript_->challenge());
  std::vector<uint64_t> numbers;
  const std::vector<Slice> pieces = pieces_of(tails.bits, numbers);
  std::vector<Fr> point = join_pieces(tails, pieces, numbers);
  const Fr value = point.back();
  point.pop_back();
  send(12, std::span(&value, 1));
  part_done();
  const size_t high = plan_.bits - plan_.chunk_bits;
  const std::vector<Fr> shares = eqs_of(std::span(point).first(high));
  std::vector<uint64_t> chunk_numbers, words;
  const std::vector<Slice> chunks = pieces_of(plan_.chunk_bits, chunk_numbers);
  std::vector<Fr> factors;
  std::vector<G1Affine> points;
  Fr blinder = Fr::zero();
  for (const std::vector<G1Affine>& own : points_) points.insert(points.end(), own.begin(), own.end());
  for (const uint64_t number : chunk_numbers) {
    factors.push_back(shares[number]);
    const Fr plain = factors.back().plain();
    words.insert(words.end(), plain.w, plain.w + 4);
  }
  if (blinders_) {
    size_t number = 0;
    for (const std::vector<Fr>& own : blinders_->of_chunks)
      for (const Fr& one : own) blinder = blinder + factors[number++] * one;
  }
  return {memory_.combined(chunks, factors), blinder, msm(points, words, 4).affine(), list_of(std::span(point).subspan(high)), value};
}

}  // namespace assay::zk
