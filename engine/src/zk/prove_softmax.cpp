// Softmax in a segment's proof, docs/zk.md §14: which of its numbers is looked up in which table, and what is
// said of them.
#include "zk/scalar_lists.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

namespace {

// Where `ends` of lists have what belongs to softmax: behind those of links and tables.
enum SoftmaxEnds : size_t { kScoreEnds = 6, kInverseEnds, kRemainderEnds, kRestEnds, kTopEnds };

}  // namespace

void SegmentProver::add_softmax_terms(std::vector<LookupTerm>& terms) const {
  const size_t last = plan_.links() - 1;
  const unsigned places = plan_.place_bits(), units = places + plan_.size_bits(last + 1), lost = plan_.quotient - plan_.gradient;
  const Fr beta2 = beta_ * beta_, none = Fr::zero();
  const TwoParts score = plan_.score_parts(), inverse = plan_.inverse_parts(), sum = plan_.sum_parts();
  const auto range = [&](unsigned bits, size_t values) { return part(plan_.range_table(bits), values); };
  // e, the lower part, ⌊2^K / Σ e⌋, distance, score; padding.
  LookupTerm scores{Lookup::score, last, units, 5, column(Column::score_helper, last),
                    {column(Column::exp, last), column(Column::low_score, last), all_of(softmax_[kWideInverse]), all_of(softmax_[kDistance]), all_of(softmax_[kScore]),
                     all_of(softmax_[kPadding])},
                    {range(score.low, 6), range(score.high, 6), part(plan_.exp_table(), 6)}, 1};
  scores.parts[0].by[1] = none - beta_;
  const Fr up = beta_ * two_to(score.low).inverted();
  scores.parts[1].by[1] = up;
  scores.parts[1].by[4] = up * two_to(lost);
  scores.parts[1].constant = scores.parts[1].constant - up * two_to(lost - 1);
  scores.parts[1].product = none - up;
  scores.parts[1].left = 0;
  scores.parts[1].right = 2;
  scores.parts[2].by[3] = none - beta_;
  scores.parts[2].by[0] = none - beta2;
  scores.parts[2].by[5] = none - beta2 * two_to(plan_.gradient);
  terms.push_back(std::move(scores));
  // The lower part of a number, and the rest of it: constant + Σ by·value + product·value·value.
  const auto parts = [&](const TwoParts& bits, size_t values, const Fr& constant, const std::vector<Fr>& by, const Fr& product) {
    std::vector<Part> both = {range(bits.low, values), range(bits.high, values)};
    const Fr shift = beta_ * two_to(bits.low).inverted();
    both[0].by[0] = none - beta_;
    both[1].by[0] = shift;
    for (size_t i = 1; i < values; ++i) both[1].by[i] = none - shift * by[i];
    both[1].constant = both[1].constant - shift * constant;
    both[1].product = none - shift * product;
    both[1].left = 1;
    both[1].right = 2;
    return both;
  };
  const Fr one = Fr::one(), whole = two_to(plan_.quotient);
  const Slice quotient = column(Column::inverse, last), sums = all_of(softmax_[kRowSum]);
  terms.push_back({Lookup::inverse, last, places, 3, column(Column::inverse_helper, last), {column(Column::inverse0, last), quotient},
                   parts(inverse, 2, none, {none, one}, none), 0});
  terms.push_back({Lookup::remainder, last, places, 4, column(Column::remainder_helper, last), {column(Column::remainder0, last), sums, quotient},
                   parts(sum, 3, whole, {none, none, none}, none - one), 0});
  terms.push_back({Lookup::rest, last, places, 4, column(Column::rest_helper, last), {column(Column::rest0, last), sums, quotient},
                   parts(sum, 3, none - one - whole, {none, one, none}, one), 0});
}

// top·(distance + padding), of which everybody knows the padding.
ListSum SegmentProver::listed_top(size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const {
  const size_t last = plan_.links() - 1;
  const std::vector<Fr>& own = ends.back();
  Fr distance = Fr::zero(), padding = Fr::zero();
  for (size_t i = 0; i < terms_.size(); ++i)
    if (terms_[i].kind == Lookup::score) {
      distance = ends[i][5];
      padding = ends[i][7];
    }
  ListSum list{std::vector(3, std::vector<Fr>(members, Fr::zero())), [padding](std::span<const Fr> now) { return now[0] * now[1] * (now[2] + padding); }};
  list.columns[0][last] = factors.back();
  list.columns[1][last] = own[1];
  list.columns[2][last] = distance;
  return list;
}

void SegmentProver::softmax_values(const LookupEnds& found, std::span<const Fr> row, const std::vector<std::vector<Fr>>& ends, std::vector<Fr>& said) {
  const size_t last = plan_.links() - 1;
  const std::vector<Fr>& unit = found.units[last];
  const Fr& own = found.among[last];
  const std::span<const Fr> place = std::span(unit).first(plan_.place_bits()), scores = std::span(unit).subspan(plan_.place_bits());
  const std::vector<Fr> middle(scores.size(), Fr::of(2).inverted()), all = eqs_of(scores);
  const Fr count = two_to(static_cast<unsigned>(scores.size()));
  Fr is_class = Fr::zero();
  for (size_t i = 0; i < plan_.sizes.back(); ++i) is_class = is_class + all[i];
  const auto say = [&](Column column, const Fr& value, std::span<const Fr> point) {
    said.push_back(value);
    claims_.push_back({at(column, last, list_of(point), own)});
  };
  // Factor, helper, then values.
  const std::vector<Fr>&score = ends[kScoreEnds], &inverse = ends[kInverseEnds], &remainder = ends[kRemainderEnds], &rest = ends[kRestEnds], &top = ends[kTopEnds];
  say(Column::exp, score[2], unit);
  say(Column::low_score, score[3], unit);
  say(Column::score_helper, score[1], unit);
  say(Column::top, top[1], unit);
  say(Column::inverse, score[4], place);
  said.push_back(score[5]);
  claims_.push_back({at(Column::peak, last, list_of(place), own * is_class), at(Column::h, last, unit, Fr::zero() - own)});
  said.push_back(score[6]);
  claims_.push_back({at(Column::d, last, unit, own), at(Column::labels, 0, joined(row_point(place), scores), own * two_to(plan_.gradient - plan_.activation))});
  claims_.push_back({at(Column::top, last, joined(place, middle), count)});
  say(Column::inverse, inverse[3], row);
  say(Column::inverse0, inverse[2], row);
  say(Column::remainder0, remainder[2], row);
  say(Column::rest0, rest[2], row);
  say(Column::inverse_helper, inverse[1], row);
  say(Column::remainder_helper, remainder[1], row);
  say(Column::rest_helper, rest[1], row);
  said.push_back(remainder[3]);
  claims_.push_back({at(Column::exp, last, joined(row, middle), own * count)});
}

}  // namespace assay::zk
