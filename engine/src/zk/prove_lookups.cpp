// Lookups of a segment's proof, docs/zk.md §5, 1: which value is in which table, and the first sum that shows
// it.
#include <algorithm>

#include "engine_error.hpp"
#include "zk/scalar_lists.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

namespace {

// What of a part is due to β·x with x = Σ factor·value.
void look_up(Part& part, const Fr& beta, std::initializer_list<std::pair<size_t, Fr>> x, const Fr& constant = Fr::zero()) {
  for (const auto& [value, factor] : x) part.by[value] = part.by[value] - beta * factor;
  part.constant = part.constant - beta * constant;
}

}  // namespace

// α − tag, with nothing looked up yet.
Part SegmentProver::part(unsigned table, size_t values) const {
  return {alpha_ - Fr::of(table + 1), std::vector<Fr>(values, Fr::zero()), Fr::zero(), 0, 0};
}

std::vector<LookupTerm> SegmentProver::lookup_terms() const {
  const Fr one = Fr::one(), half = two_to(plan_.scale - 1), up = Fr::zero() - two_to(plan_.scale), less = Fr::zero() - one;
  const Fr shift = two_to(plan_.low_bits).inverted(), beta2 = beta_ * beta_, beta3 = beta2 * beta_;
  const unsigned low = plan_.range_table(plan_.low_bits), high = plan_.range_table(plan_.scale - plan_.low_bits);
  const auto [bits0, bits1, bits2] = plan_.limbs;
  const Fr limb_shift = two_to(bits0 + bits1).inverted();
  std::vector<LookupTerm> terms;
  for (size_t l = 0; l < plan_.links(); ++l) {
    const bool is_last = plan_.is_last(l);
    const unsigned variables = plan_.place_bits() + plan_.size_bits(l + 1);
    LookupTerm forth{Lookup::forth, l, variables, 4, column(Column::helper, l), {all_of(z_[l]), column(Column::h, l), column(Column::low, l)}, {}};
    if (!is_last) {
      forth.values.push_back(column(Column::a, l));
      forth.values.push_back(column(Column::m, l));
    }
    Part rest = part(low, forth.values.size()), more = part(high, forth.values.size());
    Part value = part(is_last ? plan_.h_table() : plan_.relu_table(), forth.values.size());
    look_up(rest, beta_, {{2, one}});
    look_up(more, beta_ * shift, {{0, one}, {1, up}, {2, less}}, half);
    look_up(value, beta_, {{1, one}});
    if (!is_last) {
      look_up(value, beta2, {{3, one}});
      look_up(value, beta3, {{4, one}});
    }
    forth.parts = {rest, more, value};
    terms.push_back(std::move(forth));
    if (is_last) {
      LookupTerm back{Lookup::loss, l, variables, 2, column(Column::helper_back, l), {column(Column::d, l)}, {part(plan_.d_table(), 1)}};
      look_up(back.parts[0], beta_, {{0, one}});
      terms.push_back(std::move(back));
    } else {
      LookupTerm back{Lookup::back, l, variables, 5, column(Column::helper_back, l), {all_of(q_[l]), column(Column::m, l), column(Column::d, l), column(Column::low_back, l)}, {}};
      Part gradient = part(plan_.d_table(), 4), rest_back = part(low, 4), more_back = part(high, 4);
      look_up(gradient, beta_, {{2, one}});
      look_up(rest_back, beta_, {{3, one}});
      // m·(q + half) − 2^s·d − low
      look_up(more_back, beta_ * shift, {{1, half}, {2, up}, {3, less}});
      more_back.product = Fr::zero() - beta_ * shift;
      more_back.left = 0;
      more_back.right = 1;
      back.parts = {gradient, rest_back, more_back};
      terms.push_back(std::move(back));
      if (plan_.is_biased(l)) {
        LookupTerm bias{Lookup::bias, l, plan_.place_bits(), 2, column(Column::bias_helper, l), {all_of(last_[l])}, {part(plan_.h_table(), 1)}};
        look_up(bias.parts[0], beta_, {{0, one}}, two_to(plan_.activation));
        terms.push_back(std::move(bias));
      }
    }
    LookupTerm weight{Lookup::weight, l, plan_.input_bits(l) + plan_.output_bits(l), 4, column(Column::weight_helper, l),
                      {column(Column::after, l), column(Column::limb0, l), column(Column::limb1, l)},
                      {part(plan_.range_table(bits0), 3), part(plan_.range_table(bits1), 3), part(plan_.range_table(bits2), 3)}};
    look_up(weight.parts[0], beta_, {{1, one}});
    look_up(weight.parts[1], beta_, {{2, one}});
    look_up(weight.parts[2], beta_ * limb_shift, {{0, one}, {1, less}, {2, Fr::zero() - two_to(bits0)}}, two_to(bits0 + bits1 + bits2 - 1));
    terms.push_back(std::move(weight));
  }
  if (plan_.is_softmax()) add_softmax_terms(terms);
  return terms;
}

// α − row, for each row of a table.
ListPtr SegmentProver::table_rows(unsigned table) const {
  const TableShape& shape = plan_.tables[table];
  const uint64_t count = uint64_t{1} << shape.bits;
  const Fr start = alpha_ - Fr::of(table + 1), beta2 = beta_ * beta_, beta3 = beta2 * beta_;
  const bool is_signed = shape.kind == TableShape::Kind::relu || shape.kind == TableShape::Kind::sign;
  const int64_t first = is_signed ? 1 - static_cast<int64_t>(count / 2) : 0;
  const std::vector<int64_t> exp = shape.kind == TableShape::Kind::exp ? plan_.exp_rows() : std::vector<int64_t>();
  std::vector<Fr> rows(count);
  for (uint64_t i = 0; i < count; ++i) {
    int64_t x = first + static_cast<int64_t>(i);
    if (is_signed && i == count - 1) x = 0;
    Fr row = start - beta_ * scalar_of(x);
    if (shape.kind == TableShape::Kind::relu && x > 0) row = row - beta2 * scalar_of(x) - beta3;
    if (!exp.empty()) row = row - beta2 * scalar_of(exp[i]);
    rows[i] = row;
  }
  return memory_.scalars(rows);
}

void SegmentProver::add_helpers() {
  const ListPtr helpers = memory_.zeros(plan_.groups[kHelpers].chunks << plan_.chunk_bits);
  groups_[kHelpers] = helpers;
  terms_ = lookup_terms();
  std::vector<InverseSums> sums;
  for (const LookupTerm& term : terms_) sums.push_back({term.helper.at, term.values, term.parts});
  memory_.place_inverse_sums(helpers, sums);
  rows_.clear();
  for (unsigned i = 0; i < plan_.tables.size(); ++i) {
    rows_.push_back(table_rows(i));
    memory_.place(helpers, column(Column::table_helper, i).at, all_of(memory_.quotients(column(Column::multiplicity, i), all_of(rows_[i]))));
  }
}

namespace {

// helper = Σ 1/part, as what must be 0.
Fr fraction_fault(const Fr& helper, std::span<const Fr> parts) {
  Fr above = Fr::zero(), below = Fr::one();
  for (const Fr& part : parts) {
    above = above * part + below;
    below = below * part;
  }
  return helper * below - above;
}

}  // namespace

// What the terms of one kind had where their sums ended, as polynomials in the link's number: factors,
// helper, values, constants of parts.
ListSum SegmentProver::listed(Lookup kind, size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const {
  ListSum list;
  const LookupTerm* first = nullptr;
  for (size_t i = 0; i < terms_.size(); ++i) {
    const LookupTerm& term = terms_[i];
    if (term.kind != kind) continue;
    if (first == nullptr) {
      first = &term;
      list.columns.assign(2 + term.values.size() + term.parts.size(), std::vector<Fr>(members, Fr::zero()));
      // Units of the last link are looked up in a table of their own: that part is a list too, and has no
      // table where there is no link.
      for (size_t k = 0; k < term.parts.size(); ++k)
        std::ranges::fill(list.columns[2 + term.values.size() + k], kind == Lookup::forth && k == 2 ? alpha_ : term.parts[k].constant);
    }
    list.columns[0][term.link] = factors[i];
    for (size_t k = 1; k + term.known < ends[i].size(); ++k) list.columns[k][term.link] = ends[i][k];
    for (size_t k = 0; k < term.parts.size(); ++k) list.columns[2 + first->values.size() + k][term.link] = term.parts[k].constant;
    // What everybody knows is the same for all members.
    for (size_t v = term.values.size() - term.known; v < term.values.size(); ++v)
      for (size_t k = 0; k < term.parts.size(); ++k)
        for (Fr& constant : list.columns[2 + term.values.size() + k]) constant = constant + term.parts[k].by[v] * ends[i][2 + v];
  }
  if (first == nullptr) {
    list.columns.assign(1, std::vector<Fr>(members, Fr::zero()));
    list.term = [](std::span<const Fr>) { return Fr::zero(); };
    return list;
  }
  list.term = [parts = first->parts, count = first->values.size()](std::span<const Fr> now) {
    const std::span<const Fr> values = now.subspan(2, count), constants = now.subspan(2 + count);
    std::vector<Fr> own;
    for (size_t k = 0; k < parts.size(); ++k) {
      Fr sum = constants[k];
      for (size_t i = 0; i < count; ++i) sum = sum + parts[k].by[i] * values[i];
      own.push_back(parts[k].product.is_zero() ? sum : sum + parts[k].product * values[parts[k].left] * values[parts[k].right]);
    }
    return now[0] * fraction_fault(now[1], own);
  };
  return list;
}

ListSum SegmentProver::listed_tables(size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const {
  ListSum list{std::vector(4, std::vector<Fr>(members, Fr::zero())), [](std::span<const Fr> now) { return now[0] * (now[1] * now[3] - now[2]); }};
  for (size_t i = 0; i < plan_.tables.size(); ++i) {
    list.columns[0][i] = factors[terms_.size() + i];
    for (size_t k = 1; k < 4; ++k) list.columns[k][i] = ends[terms_.size() + i][k];
  }
  return list;
}

LookupEnds SegmentProver::lookups() {
  unsigned variables = 0;
  for (const LookupTerm& term : terms_) variables = std::max(variables, term.variables);
  for (const TableShape& table : plan_.tables) variables = std::max(variables, table.bits);
  const unsigned list_bits = bits_for(std::max(plan_.links(), plan_.tables.size()));
  const std::vector<Fr> rho = transcript_->challenges(variables);
  const Fr gamma = transcript_->challenge();
  std::vector<ListPtr> kernels(variables + 1);
  const auto kernel = [&](unsigned size) {
    if (!kernels[size]) kernels[size] = memory_.eqs(std::span(rho).subspan(variables - size));
    return all_of(kernels[size]);
  };
  const auto factor = [&](Lookup kind, size_t of) { return power_of(gamma, (static_cast<uint64_t>(kind) << list_bits) + of); };
  std::vector<Fr> factors;
  std::vector<Sum> sums;
  for (const LookupTerm& term : terms_) {
    factors.push_back(factor(term.kind, term.link));
    Sum sum{Sum::Kind::lookup, term.variables, term.degree, {kernel(term.variables), term.helper}, term.parts, factors.back(), Fr::zero()};
    sum.columns.insert(sum.columns.end(), term.values.begin(), term.values.end());
    sums.push_back(std::move(sum));
  }
  for (unsigned i = 0; i < plan_.tables.size(); ++i) {
    const unsigned bits = plan_.tables[i].bits;
    factors.push_back(factor(Lookup::table, i));
    sums.push_back({Sum::Kind::table, bits, 2, {kernel(bits), column(Column::table_helper, i), column(Column::multiplicity, i), all_of(rows_[i])}, {}, factors.back(), Fr::zero()});
  }
  const size_t last = plan_.links() - 1;
  if (plan_.is_softmax()) {
    // The unit that is a row's largest is at no distance to it, and is no padding.
    const unsigned units = plan_.place_bits() + plan_.size_bits(last + 1);
    factors.push_back(factor(Lookup::top, last));
    sums.push_back({Sum::Kind::product, units, 2, {kernel(units), column(Column::top, last), all_of(softmax_[kNoTop])}, {}, factors.back(), Fr::zero()});
  }
  const auto [point, ends] = prove_zeros(3, 5, rho, std::move(sums));
  std::vector<ListSum> lists;
  const size_t members = size_t{1} << list_bits;
  for (const Lookup kind : {Lookup::forth, Lookup::back, Lookup::loss, Lookup::bias, Lookup::weight}) lists.push_back(listed(kind, members, factors, ends));
  lists.push_back(listed_tables(members, factors, ends));
  if (plan_.is_softmax()) {
    for (const Lookup kind : {Lookup::score, Lookup::inverse, Lookup::remainder, Lookup::rest}) lists.push_back(listed(kind, members, factors, ends));
    lists.push_back(listed_top(members, factors, ends));
  }
  const Rounds list = prove_list(3, 6, list_bits, std::move(lists));
  return lookup_values(point, eqs_of(list.point), list.ends);
}

// `ends`: of each kind of lists: factors, helper, values.
LookupEnds SegmentProver::lookup_values(const std::vector<Fr>& point, std::vector<Fr> among, const std::vector<std::vector<Fr>>& ends) {
  const auto last_of = [&](unsigned variables) { return list_of(std::span(point).subspan(point.size() - variables)); };
  LookupEnds result{std::move(among), {}, {}};
  for (size_t l = 0; l < plan_.links(); ++l) {
    result.units.push_back(last_of(plan_.place_bits() + plan_.size_bits(l + 1)));
    result.weights.push_back(last_of(plan_.input_bits(l) + plan_.output_bits(l)));
  }
  std::vector<Fr> said;
  using Points = std::function<std::vector<Fr>(size_t)>;
  const size_t last = plan_.links() - 1;
  const Points corner = [&](size_t l) {
    std::vector<Fr> there = last_of(plan_.place_bits());
    for (unsigned bit = plan_.size_bits(l + 1); bit-- > 0;) there.push_back(Fr::of((plan_.sizes[l + 1] - 1) >> bit & 1));
    return there;
  };
  const auto say = [&](Column column, const Fr& value, size_t from, size_t to, const Points& points) {
    said.push_back(value);
    Claim claim;
    for (size_t i = from; i < to; ++i) claim.push_back(at(column, i, points(i), result.among[i]));
    claims_.push_back(std::move(claim));
  };
  const Points unit = [&](size_t l) { return result.units[l]; }, weight = [&](size_t l) { return result.weights[l]; };
  const Points row = [&](size_t i) { return last_of(plan_.tables[i].bits); }, place = [&](size_t) { return last_of(plan_.place_bits()); };
  const std::vector<Fr>&forth = ends[0], &back = ends[1], &loss = ends[2], &bias = ends[3], &weights = ends[4], &table = ends[5];
  say(Column::h, forth[3], 0, last + 1, unit);
  if (last > 0) {
    say(Column::a, forth[5], 0, last, unit);
    say(Column::m, forth[6], 0, last, unit);
  }
  say(Column::low, forth[4], 0, last + 1, unit);
  say(Column::helper, forth[1], 0, last + 1, unit);
  said.push_back(forth[2]);
  if (last > 0) {
    say(Column::d, back[4], 0, last, unit);
    say(Column::low_back, back[5], 0, last, unit);
    say(Column::helper_back, back[1], 0, last, unit);
    said.push_back(back[2]);
  }
  say(Column::d, loss[2], last, last + 1, unit);
  say(Column::helper_back, loss[1], last, last + 1, unit);
  if (!plan_.is_softmax()) claim_loss(result.units[last]);
  if (last > 0) {
    // Of links whose next one has a bias in its last column.
    Claim units, helpers;
    for (size_t l = 0; l < last; ++l) {
      if (!plan_.is_biased(l)) continue;
      units.push_back(at(Column::a, l, corner(l), result.among[l]));
      helpers.push_back(at(Column::bias_helper, l, place(l), result.among[l]));
    }
    said.push_back(bias[2]);
    said.push_back(bias[1]);
    claims_.push_back(std::move(units));
    claims_.push_back(std::move(helpers));
  }
  say(Column::after, weights[2], 0, last + 1, weight);
  say(Column::limb0, weights[3], 0, last + 1, weight);
  say(Column::limb1, weights[4], 0, last + 1, weight);
  say(Column::weight_helper, weights[1], 0, last + 1, weight);
  say(Column::multiplicity, table[2], 0, plan_.tables.size(), row);
  say(Column::table_helper, table[1], 0, plan_.tables.size(), row);
  if (plan_.is_softmax()) softmax_values(result, last_of(plan_.place_bits()), ends, said);
  send(4, said);
  claim_helper_sum();
  return result;
}

// h − d/2^(gradient − activation) − y = 0, at the last link.
void SegmentProver::claim_loss(const std::vector<Fr>& point) {
  const size_t last = plan_.links() - 1;
  const std::span<const Fr> own(point);
  const Fr less = Fr::zero() - Fr::one();
  claims_.push_back({at(Column::h, last, point, Fr::one()), at(Column::d, last, point, less * two_to(plan_.gradient - plan_.activation).inverted()),
                     at(Column::labels, 0, joined(row_point(own.first(plan_.place_bits())), own.subspan(plan_.place_bits())), less)});
}

// Of all helpers, less those of tables: 0. A block's sum is 2^bits times its value in the middle of the cube.
void SegmentProver::claim_helper_sum() {
  const Fr half = Fr::of(2).inverted();
  Claim claim;
  for (const auto& [name, block] : plan_.blocks) {
    if (group_of(name.first) != kHelpers) continue;
    const Fr count = two_to(block.bits);
    claim.push_back(at(name.first, name.second, std::vector<Fr>(block.bits, half), name.first == Column::table_helper ? Fr::zero() - count : count));
  }
  claims_.push_back(std::move(claim));
}

}  // namespace assay::zk
