// See segment_prover.hpp. Lookups are in prove_lookups.cpp, sums in prove_sums.cpp, what joins all claims in
// prove_claims.cpp, the opening in prove_opening.cpp.
#include "zk/segment_prover.hpp"

#include <algorithm>

#include "cpu/msm.hpp"
#include "zk/run/poseidon.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

namespace {

// Values, helpers, four sums, the opening.
constexpr uint32_t kParts = 7;

}  // namespace

RunLists lists_of(ProofMemory& memory, const ProofPlan& plan, SegmentRun& run) {
  const auto take = [&](std::vector<int64_t>& numbers) {
    ListPtr list = memory.numbers(numbers);
    std::vector<int64_t>().swap(numbers);
    return list;
  };
  RunLists lists;
  lists.order = run.order;
  lists.first_place = run.first_place;
  for (unsigned g = 0; g < kHelpers; ++g) lists.groups[g] = take(run.groups[g]);
  for (size_t l = 0; l < plan.links(); ++l) {
    lists.z.push_back(take(run.z[l]));
    lists.q.push_back(plan.is_last(l) ? nullptr : take(run.q[l]));
    lists.entering.push_back(take(run.entering[l]));
    lists.last.push_back(plan.is_last(l) ? nullptr : take(run.last[l]));
    lists.stepped.push_back(run.stepped[l].empty() ? nullptr : take(run.stepped[l]));
  }
  for (unsigned i = 0; i < kSoftmaxLists; ++i) lists.softmax[i] = plan.is_softmax() ? take(run.softmax[i]) : nullptr;
  return lists;
}

SegmentProver::SegmentProver(const ProofPlan& plan, ProofMemory& memory, RunLists run, std::optional<Blinders> blinders)
    : SumProver(memory, kParts), plan_(plan), order_(std::move(run.order)), first_place_(run.first_place), blinders_(std::move(blinders)), z_(std::move(run.z)), q_(std::move(run.q)),
      entering_(std::move(run.entering)), last_(std::move(run.last)), stepped_(std::move(run.stepped)), softmax_(std::move(run.softmax)) {
  std::copy(run.groups.begin(), run.groups.end(), groups_.begin());
}

std::vector<uint8_t> SegmentProver::points_of(GroupNumber group) {
  // Some at a time: between them it can be stopped.
  constexpr uint64_t kAtOnce = 16;
  std::vector<uint8_t> bytes;
  std::vector<G1Affine> own;
  for (uint64_t from = 0; from < plan_.groups[group].chunks; from += kAtOnce) {
    std::vector<Slice> chunks;
    for (uint64_t i = from; i < std::min(from + kAtOnce, plan_.groups[group].chunks); ++i)
      chunks.push_back({groups_[group], i << plan_.chunk_bits, plan_.chunk()});
    for (const G1Affine& plain : memory_.commit(chunks)) {
      const G1Affine point = blinders_ ? (times_scalar(blinders_->power, blinders_->of_chunks[group].at(own.size())) + plain).affine() : plain;
      append(bytes, point);
      own.push_back(point);
    }
    moment();
  }
  points_[group] = std::move(own);
  return bytes;
}

std::vector<uint8_t> SegmentProver::statement_points(const OnPart& on_part) {
  watch(on_part);
  std::vector<uint8_t> bytes;
  for (const GroupNumber group : {kFeatures, kLabels, kBefore, kAfter}) {
    const std::vector<uint8_t> own = points_of(group);
    bytes.insert(bytes.end(), own.begin(), own.end());
  }
  return bytes;
}

Slice SegmentProver::column(Column column, size_t of) const {
  const Block& block = plan_.block(column, of);
  const GroupNumber group = group_of(column);
  return {groups_[group], block.at - (plan_.groups[group].first_chunk << plan_.chunk_bits), uint64_t{1} << block.bits};
}

ClaimTerm SegmentProver::at(Column column, size_t of, std::vector<Fr> point, const Fr& factor) const {
  return {plan_.block(column, of).at, std::move(point), factor, 0, {}};
}

// A point of the data's rows, from one of (step, place in the batch).
std::vector<Fr> SegmentProver::row_point(std::span<const Fr> place) const {
  std::vector<Fr> point;
  for (unsigned j = plan_.row_bits; j-- > 0;) {
    const unsigned from = order_.places[j];
    const Fr value = from < place.size() ? place[place.size() - 1 - from] : Fr::of(first_place_ >> from & 1);
    point.push_back((order_.mask >> j & 1) != 0 ? Fr::one() - value : value);
  }
  return point;
}

// A point of rows is this, row by row, times a point of (step, place in the batch) and 1.
std::vector<Fr> SegmentProver::row_matrix() const {
  const unsigned own = plan_.place_bits();
  const std::vector<Fr> zero = row_point(std::vector<Fr>(own, Fr::zero()));
  std::vector<std::vector<Fr>> units;
  for (unsigned i = 0; i < own; ++i) {
    std::vector<Fr> corner(own, Fr::zero());
    corner[i] = Fr::one();
    units.push_back(row_point(corner));
  }
  std::vector<Fr> matrix;
  for (size_t row = 0; row < zero.size(); ++row) {
    for (const std::vector<Fr>& unit : units) matrix.push_back(unit[row] - zero[row]);
    matrix.push_back(zero[row]);
  }
  return matrix;
}

// But for the bias, which is known.
ClaimTerm SegmentProver::entering(size_t link, std::span<const Fr> place, std::span<const Fr> spot, std::span<const Fr> unit, const Fr& factor) const {
  if (plan_.windows[link]) {
    // Each number of the picture counts as often as patches have it.
    const Window& window = *plan_.windows[link];
    const std::vector<Fr> spots = eqs_of(spot), columns = eqs_of(unit);
    ClaimTerm term = link == 0 ? at(Column::features, 0, row_point(place), factor) : at(Column::a, link - 1, list_of(place), factor);
    term.after = term.point.size();
    term.weights.assign(plan_.width(link), Fr::zero());
    for (uint64_t p = 0; p < window.places(); ++p)
      for (uint64_t k = 0; k + 1 < window.columns(); ++k)
        if (const int64_t pixel = window.pixel(p, k); pixel >= 0) term.weights[static_cast<size_t>(pixel)] = term.weights[static_cast<size_t>(pixel)] + spots[p] * columns[k];
    return term;
  }
  return link == 0 ? at(Column::features, 0, joined(row_point(place), unit), factor) : at(Column::a, link - 1, joined(place, unit), factor);
}

std::vector<uint8_t> SegmentProver::prove(const Hash& statement, const OnPart& on_part) {
  begin(std::make_unique<Transcript>(statement), on_part);
  const LeftOpen left = prove_all_sums(nullptr);
  open(left.poly, left.blinder, left.commitment, left.point, left.value);
  part_done();
  return std::move(proof_);
}

ProvenPart SegmentProver::prove_part(const Hash& statement, const Fr& nonce, const OnPart& on_part) {
  constexpr uint8_t kSegment = 32;
  auto transcript = std::make_unique<PoseidonTranscript>();
  const PoseidonTranscript& heard = *transcript;
  transcript->hear(kSegment, joined(halves_of(statement.b), row_matrix()));
  begin(std::move(transcript), on_part);
  LeftOpen left = prove_all_sums(&nonce);
  part_done();
  return {std::move(proof_), std::move(left), heard.digest()};
}

LeftOpen SegmentProver::prove_all_sums(const Fr* nonce) {
  constexpr uint8_t kNonce = 36;
  claims_.clear();
  message(1, points_of(kValues));
  part_done();
  alpha_ = transcript_->challenge();
  beta_ = transcript_->challenge();
  add_helpers();
  message(2, points_of(kHelpers));
  if (nonce != nullptr) send(kNonce, std::span(nonce, 1));
  part_done();
  const LookupEnds ends = lookups();
  part_done();
  std::vector<WeightUse> uses = products(ends);
  part_done();
  weights(std::move(uses), ends);
  part_done();
  bytes();
  return join();
}

// z of a link, or q of the link before a plain one: what enters it, or its gradients, times its weights of
// each step.
Sum SegmentProver::product_of(size_t link, bool is_back, std::span<const Fr> at, const Fr& factor) {
  // Each place of a window is a row of its own.
  const unsigned spots = is_back ? 0 : plan_.spot_bits(link);
  const size_t steps = plan_.steps(), batch = plan_.batch() << spots;
  const ListPtr unit = memory_.eqs(at.subspan(plan_.place_bits() + spots));
  const uint64_t outputs = uint64_t{1} << plan_.output_bits(link), inputs = uint64_t{1} << plan_.input_bits(link), inner = is_back ? outputs : inputs;
  const Slice entering = all_of(entering_[link]), d = column(Column::d, link), before = column(Column::before, link);
  const Slice operand = is_back ? d : entering, other = is_back ? entering : d;
  const ListPtr same = memory_.eqs(at.first(plan_.step_bits)), place = memory_.eqs(at.subspan(plan_.step_bits, plan_.batch_bits + spots));
  const ListPtr base = is_back ? memory_.folded(before, outputs, inputs, 1, all_of(unit)) : memory_.folded(before, 1, outputs, inputs, all_of(unit));
  const ListPtr by = memory_.folded(other, steps * batch, is_back ? inputs : outputs, 1, all_of(unit));
  return {Sum::Kind::product,
          plan_.step_bits + (is_back ? plan_.output_bits(link) : plan_.input_bits(link)),
          3,
          {all_of(memory_.repeated(all_of(same), inner)), all_of(memory_.folded(operand, steps, batch, inner, all_of(place))),
           all_of(memory_.before_steps(all_of(base), operand, steps, batch, all_of(by)))},
          {},
          factor,
          Fr::zero()};
}

// q of the link before a convolution, over (step, output, column): gradients of all places whose patch has
// the unit in that column, times the weights.
Sum SegmentProver::product_of_patches(size_t link, std::span<const Fr> at, const Fr& factor) {
  const Window& window = *plan_.windows[link];
  const size_t steps = plan_.steps(), spots = size_t{1} << plan_.spot_bits(link);
  const size_t outputs = size_t{1} << plan_.output_bits(link), inputs = size_t{1} << plan_.input_bits(link), inner = outputs * inputs;
  const ListPtr same = memory_.eqs(at.first(plan_.step_bits)), place = memory_.eqs(at.subspan(plan_.step_bits, plan_.batch_bits));
  const std::vector<Fr> picture = eqs_of(at.subspan(plan_.place_bits()));
  const std::vector<Fr> gradients = memory_.read(all_of(memory_.folded(column(Column::d, link), steps, plan_.batch(), spots * outputs, all_of(place))));
  std::vector<Fr> operand(steps * inner, Fr::zero());
  for (size_t t = 0; t < steps; ++t)
    for (size_t p = 0; p < window.places(); ++p)
      for (size_t k = 0; k + 1 < window.columns(); ++k) {
        const int64_t pixel = window.pixel(p, k);
        if (pixel < 0) continue;
        for (size_t o = 0; o < outputs; ++o) {
          Fr& own = operand[(t * outputs + o) * inputs + k];
          own = own + picture[static_cast<size_t>(pixel)] * gradients[(t * spots + p) * outputs + o];
        }
      }
  return {Sum::Kind::product,
          plan_.step_bits + plan_.output_bits(link) + plan_.input_bits(link),
          3,
          {all_of(memory_.repeated(all_of(same), inner)), all_of(memory_.scalars(operand)), all_of(stepped_[link])},
          {},
          factor,
          Fr::zero()};
}

std::vector<WeightUse> SegmentProver::products(const LookupEnds& ends) {
  struct Wanted {
    size_t link;
    bool is_back;
    const std::vector<Fr>* point;
    Fr factor;
  };
  const Fr mu = transcript_->challenge();
  std::vector<Wanted> wanted;
  for (size_t l = 0; l < plan_.links(); ++l) wanted.push_back({l, false, &ends.units[l], ends.among[l]});
  for (size_t l = 0; l + 1 < plan_.links(); ++l) wanted.push_back({l + 1, true, &ends.units[l], mu * ends.among[l]});
  std::vector<Sum> sums;
  for (const auto& [link, is_back, point, factor] : wanted)
    sums.push_back(is_back && plan_.windows[link] ? product_of_patches(link, *point, factor) : product_of(link, is_back, *point, factor));
  std::vector<unsigned> variables;
  for (const Sum& sum : sums) variables.push_back(sum.variables);
  const auto [point, among] = prove_products(5, std::move(sums));
  std::vector<WeightUse> uses;
  Claim operands;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto& [link, is_back, own, factor] = wanted[i];
    const std::span<const Fr> end = std::span(point).subspan(point.size() - variables[i]), at_units(*own);
    const std::span<const Fr> step = end.first(plan_.step_bits), inner = end.subspan(plan_.step_bits), unit = at_units.subspan(plan_.place_bits());
    const std::vector<Fr> place = joined(step, at_units.subspan(plan_.step_bits, plan_.batch_bits));
    if (is_back && plan_.windows[link]) {
      const Window& window = *plan_.windows[link];
      const std::span<const Fr> output = inner.first(plan_.output_bits(link)), input = inner.subspan(plan_.output_bits(link));
      const std::vector<Fr> picture = eqs_of(unit), columns = eqs_of(input);
      ClaimTerm term = at(Column::d, link, joined(place, output), among[i]);
      term.after = place.size();
      term.weights.assign(size_t{1} << plan_.spot_bits(link), Fr::zero());
      for (uint64_t p = 0; p < window.places(); ++p)
        for (uint64_t k = 0; k + 1 < window.columns(); ++k)
          if (const int64_t pixel = window.pixel(p, k); pixel >= 0) term.weights[p] = term.weights[p] + picture[static_cast<size_t>(pixel)] * columns[k];
      operands.push_back(std::move(term));
      uses.push_back({link, false, list_of(step), list_of(input), list_of(output), among[i]});
    } else if (is_back) {
      operands.push_back(at(Column::d, link, joined(place, inner), among[i]));
      uses.push_back({link, false, list_of(step), list_of(unit), list_of(inner), among[i]});
    } else {
      const unsigned spots = plan_.spot_bits(link);
      operands.push_back(entering(link, place, unit.first(spots), inner, among[i]));
      uses.push_back({link, false, list_of(step), list_of(inner), list_of(unit.subspan(spots)), among[i]});
    }
  }
  claims_.push_back(std::move(operands));
  return uses;
}

void SegmentProver::weights(std::vector<WeightUse> uses, const LookupEnds& ends) {
  const Fr nu = transcript_->challenge();
  for (size_t l = 0; l < plan_.links(); ++l) {
    const std::span<const Fr> own(ends.weights[l]);
    const unsigned outputs = plan_.output_bits(l);
    uses.push_back({l, true, {}, list_of(own.subspan(outputs)), list_of(own.first(outputs)), nu * ends.among[l]});
  }
  Fr start = Fr::zero();
  Claim starts, entered, gradients;
  for (const WeightUse& use : uses) {
    std::vector<Fr> point = joined(use.output, use.input);
    start = start + use.factor * memory_.dot(column(Column::before, use.link), all_of(memory_.eqs(point)));
    starts.push_back(at(Column::before, use.link, std::move(point), use.factor));
  }
  send(7, std::span(&start, 1));
  std::vector<Sum> sums;
  for (const WeightUse& use : uses) {
    // Steps before that one; all of them for the end.
    std::vector<Fr> counts(plan_.steps(), Fr::one());
    if (!use.is_end) {
      const std::vector<Fr> at_step = eqs_of(use.step);
      Fr later = Fr::zero();
      for (size_t s = counts.size(); s-- > 0;) {
        counts[s] = later;
        later = later + at_step[s];
      }
    }
    const unsigned spots = plan_.spot_bits(use.link);
    const auto folded = [&](const Slice& from, const std::vector<Fr>& point) {
      return all_of(memory_.folded(from, plan_.places() << spots, size_t{1} << point.size(), 1, all_of(memory_.eqs(point))));
    };
    sums.push_back({Sum::Kind::product,
                    plan_.place_bits() + spots,
                    3,
                    {all_of(memory_.repeated(all_of(memory_.scalars(counts)), plan_.batch() << spots)), folded(all_of(entering_[use.link]), use.input),
                     folded(column(Column::d, use.link), use.output)},
                    {},
                    use.factor,
                    Fr::zero()});
  }
  const auto [point, among] = prove_products(8, std::move(sums));
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::span<const Fr> own = std::span(point).subspan(point.size() - plan_.place_bits() - plan_.spot_bits(uses[i].link));
    entered.push_back(entering(uses[i].link, own.first(plan_.place_bits()), own.subspan(plan_.place_bits()), uses[i].input, among[i]));
    gradients.push_back(at(Column::d, uses[i].link, joined(own, uses[i].output), among[i]));
  }
  for (Claim* claim : {&starts, &entered, &gradients}) claims_.push_back(std::move(*claim));
}

void SegmentProver::bytes() {
  unsigned most = 0;
  for (unsigned g = 0; g < kValues; ++g) most = std::max(most, plan_.groups[g].bits);
  const std::vector<Fr> point = transcript_->challenges(most);
  std::vector<Fr> values;
  for (unsigned g = 0; g < kValues; ++g) {
    const auto own = std::span(point).subspan(most - plan_.groups[g].bits);
    const ListPtr kernel = memory_.eqs(own);
    values.push_back(memory_.dot(all_of(groups_[g]), {kernel, 0, groups_[g]->size()}));
    claims_.push_back({{plan_.groups[g].first_chunk << plan_.chunk_bits, list_of(own), Fr::one(), 0, {}}});
  }
  send(10, values);
}

}  // namespace assay::zk
