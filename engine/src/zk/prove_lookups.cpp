// Lookups of a segment's proof, docs/zk.md §5, 1: which value is in which table, and the first sum that shows it.
#include "engine_error.hpp"
#include "zk/scalar_lists.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

namespace {

Fr two_to(unsigned bits) { return Fr::of(uint64_t{1} << bits); }

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
    LookupTerm forth{variables, 5, column(Column::helper, l), {all_of(z_[l]), column(Column::h, l), column(Column::low, l)}, {}};
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
      LookupTerm back{variables, 3, column(Column::helper_back, l), {column(Column::d, l)}, {part(plan_.d_table(), 1)}};
      look_up(back.parts[0], beta_, {{0, one}});
      terms.push_back(std::move(back));
    } else {
      LookupTerm back{variables, 6, column(Column::helper_back, l), {all_of(q_[l]), column(Column::m, l), column(Column::d, l), column(Column::low_back, l)}, {}};
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
      LookupTerm bias{plan_.place_bits(), 3, column(Column::bias_helper, l), {all_of(last_[l])}, {part(plan_.h_table(), 1)}};
      look_up(bias.parts[0], beta_, {{0, one}}, two_to(plan_.activation));
      terms.push_back(std::move(bias));
    }
    LookupTerm weight{plan_.size_bits(l) + plan_.size_bits(l + 1), 5, column(Column::weight_helper, l),
                      {column(Column::after, l), column(Column::limb0, l), column(Column::limb1, l)},
                      {part(plan_.range_table(bits0), 3), part(plan_.range_table(bits1), 3), part(plan_.range_table(bits2), 3)}};
    look_up(weight.parts[0], beta_, {{1, one}});
    look_up(weight.parts[1], beta_, {{2, one}});
    look_up(weight.parts[2], beta_ * limb_shift, {{0, one}, {1, less}, {2, Fr::zero() - two_to(bits0)}}, two_to(bits0 + bits1 + bits2 - 1));
    terms.push_back(std::move(weight));
  }
  return terms;
}

// α − row, for each row of a table.
ListPtr SegmentProver::table_rows(unsigned table) const {
  const TableShape& shape = plan_.tables[table];
  const uint64_t count = uint64_t{1} << shape.bits;
  const Fr start = alpha_ - Fr::of(table + 1), beta2 = beta_ * beta_, beta3 = beta2 * beta_;
  const int64_t first = shape.kind == TableShape::Kind::range ? 0 : 1 - static_cast<int64_t>(count / 2);
  std::vector<Fr> rows(count);
  for (uint64_t i = 0; i < count; ++i) {
    int64_t x = first + static_cast<int64_t>(i);
    if (shape.kind != TableShape::Kind::range && i == count - 1) x = 0;
    Fr row = start - beta_ * scalar_of(x);
    if (shape.kind == TableShape::Kind::relu && x > 0) row = row - beta2 * scalar_of(x) - beta3;
    rows[i] = row;
  }
  return memory_.scalars(rows);
}

void SegmentProver::add_helpers() {
  const ListPtr helpers = memory_.zeros(plan_.groups[kHelpers].chunks << plan_.chunk_bits);
  groups_[kHelpers] = helpers;
  terms_ = lookup_terms();
  for (const LookupTerm& term : terms_) memory_.place(helpers, term.helper.at, all_of(memory_.inverse_sums(term.values, term.parts)));
  rows_.clear();
  for (unsigned i = 0; i < plan_.tables.size(); ++i) {
    rows_.push_back(table_rows(i));
    memory_.place(helpers, column(Column::table_helper, i).at, all_of(memory_.quotients(column(Column::multiplicity, i), all_of(rows_[i]))));
  }
}

std::vector<LinkEnd> SegmentProver::lookups() {
  unsigned variables = 0;
  for (const LookupTerm& term : terms_) variables = std::max(variables, term.variables);
  for (const TableShape& table : plan_.tables) variables = std::max(variables, table.bits);
  const std::vector<Fr> rho = transcript_->challenges(variables);
  const Fr gamma = transcript_->challenge(), all = power_of(gamma, terms_.size() + plan_.tables.size());
  std::vector<ListPtr> kernels(variables + 1);
  const auto kernel = [&](unsigned size) {
    if (!kernels[size]) kernels[size] = memory_.eqs(std::span(rho).subspan(variables - size));
    return all_of(kernels[size]);
  };
  Fr factor = Fr::one();
  std::vector<Sum> sums;
  for (const LookupTerm& term : terms_) {
    Sum sum{Sum::Kind::lookup, term.variables, term.degree, {kernel(term.variables), term.helper}, term.parts, factor, all};
    sum.columns.insert(sum.columns.end(), term.values.begin(), term.values.end());
    sums.push_back(std::move(sum));
    factor = factor * gamma;
  }
  for (unsigned i = 0; i < plan_.tables.size(); ++i) {
    const unsigned bits = plan_.tables[i].bits;
    sums.push_back({Sum::Kind::table, bits, 3, {kernel(bits), column(Column::table_helper, i), column(Column::multiplicity, i), all_of(rows_[i])}, {}, factor, all});
    factor = factor * gamma;
  }
  const auto [point, ends] = prove_sums(3, 6, std::move(sums));
  return lookup_values(point, ends);
}

std::vector<LinkEnd> SegmentProver::lookup_values(const std::vector<Fr>& point, const std::vector<std::vector<Fr>>& ends) {
  std::vector<Fr> said;
  std::vector<LinkEnd> result;
  const auto last_of = [&](unsigned variables) { return list_of(std::span(point).subspan(point.size() - variables)); };
  size_t term = 0;
  for (size_t l = 0; l < plan_.links(); ++l) {
    const bool is_last = plan_.is_last(l);
    // Columns e, g, then values as lookup_terms has them.
    const std::vector<Fr>&forth = ends[term++], &back = ends[term++];
    const std::vector<Fr> own = last_of(plan_.place_bits() + plan_.size_bits(l + 1));
    const auto say = [&](Column column, const Fr& value, const std::vector<Fr>& at) {
      said.push_back(value);
      claim(column, l, at, value);
    };
    LinkEnd end{own, last_of(plan_.size_bits(l) + plan_.size_bits(l + 1)), forth[2], is_last ? Fr::zero() : back[2], Fr::zero()};
    const Fr h = forth[3], d = is_last ? back[2] : back[4];
    say(Column::h, h, own);
    if (!is_last) {
      say(Column::a, forth[5], own);
      say(Column::m, forth[6], own);
    }
    say(Column::d, d, own);
    say(Column::low, forth[4], own);
    if (!is_last) say(Column::low_back, back[5], own);
    say(Column::helper, forth[1], own);
    say(Column::helper_back, back[1], own);
    said.push_back(end.z);
    if (is_last) {
      const Fr y = h - d * two_to(plan_.gradient - plan_.activation).inverted();
      const std::span<const Fr> at(own);
      claim(Column::labels, 0, joined(row_point(at.first(plan_.place_bits())), at.subspan(plan_.place_bits())), y);
    } else {
      said.push_back(end.q);
      const std::vector<Fr>& bias = ends[term++];
      const std::vector<Fr> place = last_of(plan_.place_bits());
      std::vector<Fr> corner = place;
      for (unsigned bit = plan_.size_bits(l + 1); bit-- > 0;) corner.push_back(Fr::of((plan_.sizes[l + 1] - 1) >> bit & 1));
      say(Column::a, bias[2], corner);
      say(Column::bias_helper, bias[1], place);
    }
    const std::vector<Fr>& weight = ends[term++];
    end.after = weight[2];
    say(Column::after, weight[2], end.weight_point);
    say(Column::limb0, weight[3], end.weight_point);
    say(Column::limb1, weight[4], end.weight_point);
    say(Column::weight_helper, weight[1], end.weight_point);
    result.push_back(std::move(end));
  }
  for (unsigned i = 0; i < plan_.tables.size(); ++i) {
    const std::vector<Fr>& table = ends[term++];
    said.insert(said.end(), {table[2], table[1]});
    claim(Column::multiplicity, i, last_of(plan_.tables[i].bits), table[2]);
    claim(Column::table_helper, i, last_of(plan_.tables[i].bits), table[1]);
  }
  send(4, said);
  return result;
}

}  // namespace assay::zk
