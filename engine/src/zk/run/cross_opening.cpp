// See cross_opening.hpp.
#include "zk/run/cross_opening.hpp"

namespace assay::zk {

CrossOpening::CrossOpening(ProofMemory& memory, const ListPtr& poly, const Fr& blinder, std::span<const Fr> point)
    : memory_(memory), chunk_(poly->size()), poly_(memory.zeros(chunk_ + 1)) {
  memory_.place(poly_, 0, all_of(poly));
  memory_.place(poly_, chunk_, all_of(memory_.scalars(std::span(&blinder, 1))));
  cross_ = memory_.crossed(poly_, memory_.eqs(point));
}

// What is as long as f ends with zeros: there are as many powers as a chunk has values.
G1Affine CrossOpening::point_of(const ListPtr& poly) { return memory_.commit(std::vector<Slice>{{poly, 0, chunk_}})[0]; }

G1Affine CrossOpening::cross() { return point_of(cross_); }

std::array<Fr, 3> CrossOpening::values_at(const Fr& r) {
  r_ = r, back_ = r.inverted(), t_ = r_ + back_;
  return values_ = {memory_.at(poly_, r_), memory_.at(poly_, back_), memory_.at(cross_, back_)};
}

CrossOpening::Line CrossOpening::join(const Fr& eta) {
  const Fr first = values_[0] + eta * memory_.at(cross_, r_), second = values_[1] + eta * values_[2];
  memory_.add_times(poly_, 0, all_of(cross_), eta);
  cross_.reset();
  const Fr b = (first - second) * (r_ - back_).inverted();
  return {t_, first - b * r_, b};
}

G1Affine CrossOpening::first_quotient() {
  quotient_ = memory_.divided(memory_.divided(poly_, r_), back_);
  return point_of(quotient_);
}

// Its constant does not matter to the quotient.
G1Affine CrossOpening::second_quotient(const Fr& z) {
  memory_.add_times(poly_, 0, all_of(quotient_), (t_ - z) * z - Fr::one());
  quotient_.reset();
  return point_of(memory_.divided(poly_, z));
}

}  // namespace assay::zk
