// Mercury's prover, docs/zk.md §3: opens a list of 2^c scalars, c even, at a point of its multilinear extension. A row of b scalars more may follow them, of which the first one alone
// is not 0: what hides the list (§13). The powers that it is committed by end with that one's.
#include <algorithm>

#include "zk/scalar_lists.hpp"
#include "zk/sum_prover.hpp"

namespace assay::zk {

void SumProver::open(const ListPtr& poly, const G1Affine& commitment, std::span<const Fr> point, const Fr& value) {
  const size_t half = point.size() / 2, b = size_t{1} << half, rows = poly->size() / b;
  const ListPtr e1 = memory_.eqs(point.subspan(half)), e2 = memory_.zeros(rows);
  memory_.place(e2, 0, all_of(memory_.eqs(point.first(half))));
  const auto points = [&](std::initializer_list<ListPtr> list) {
    std::vector<Slice> slices;
    // What is longer than the powers ends with zeros.
    for (const ListPtr& one : list) slices.push_back({one, 0, std::min(one->size(), b * b)});
    std::vector<uint8_t> bytes;
    for (const G1Affine& one : memory_.commit(slices)) append(bytes, one);
    return bytes;
  };
  std::vector<uint8_t> claim;
  append(claim, commitment);
  for (const Fr& one : point) append(claim, one);
  append(claim, value);
  transcript_->absorb(16, claim);

  const ListPtr h = memory_.folded(all_of(poly), rows, b, 1, all_of(e1));
  message(17, points({h}));
  const Fr alpha = transcript_->challenge();
  ListPtr q, g;
  memory_.divided_by_power(poly, b, alpha, q, g);
  message(18, points({q, g}));
  const Fr gamma = transcript_->challenge();

  const ListPtr s = memory_.zeros(rows), d = memory_.reversed(g);
  memory_.add_times(s, 0, all_of(memory_.crossed(g, e1)), Fr::one());
  memory_.add_times(s, 0, all_of(memory_.crossed(h, e2)), gamma);
  message(19, points({s, d}));
  const Fr zeta = transcript_->challenge(), back = zeta.inverted();
  const std::vector<Fr> said = {memory_.at(g, zeta), memory_.at(g, back),  memory_.at(h, zeta),
                                memory_.at(h, back), memory_.at(h, alpha), memory_.at(s, back)};
  send(20, said);
  const Fr nu = transcript_->challenge();

  // f + (α − ζ^b)·q − g + ν·g + ν²·h + ν³·s + ν⁴·d
  const ListPtr first = memory_.zeros(poly->size()), second = memory_.zeros(rows);
  const auto add = [&](const ListPtr& to, const ListPtr& from, const Fr& factor) { memory_.add_times(to, 0, all_of(from), factor); };
  add(first, poly, Fr::one());
  add(first, q, alpha - power_of(zeta, b));
  add(first, g, nu - Fr::one());
  add(first, h, nu * nu);
  add(first, s, nu * nu * nu);
  add(first, d, nu * nu * nu * nu);
  add(second, g, Fr::one());
  add(second, h, nu);
  add(second, s, nu * nu);
  message(21, points({memory_.divided(first, zeta), memory_.divided(second, back), memory_.divided(h, alpha)}));
}

}  // namespace assay::zk
