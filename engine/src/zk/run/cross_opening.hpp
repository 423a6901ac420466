// Opens a list of 2^c scalars at a point of its multilinear extension, docs/zk.md §3: what is committed and
// what it is worth where, step by step. Who says and draws what in which transcript is the caller's matter:
// prove_opening.cpp for one segment, run_fold.cpp for a run.
#pragma once
#include <array>

#include "zk/proof_kernels.hpp"

namespace assay::zk {

class CrossOpening {
 public:
  // `blinder`: one coefficient beyond the list, which hides it. It never meets the value.
  CrossOpening(ProofMemory& memory, const ListPtr& poly, const Fr& blinder, std::span<const Fr> point);

  // Of S: f(X)·e(1/X) + f(1/X)·e(X) = 2·value + X·S(X) + S(1/X)/X.
  G1Affine cross();
  // f(r), f(1/r), S(1/r).
  std::array<Fr, 3> values_at(const Fr& r);
  // F = f + η·S has the values of a + b·X at r and 1/r.
  struct Line {
    Fr t, a, b;
  };
  Line join(const Fr& eta);
  // (F − a − b·X) / (X² − t·X + 1).
  G1Affine first_quotient();
  // (F − (a + b·z) − (z² − t·z + 1)·W) / (X − z).
  G1Affine second_quotient(const Fr& z);
  const Fr& back() const { return back_; }

 private:
  G1Affine point_of(const ListPtr& poly);

  ProofMemory& memory_;
  size_t chunk_;
  // f, then F, then what is left of it.
  ListPtr poly_, cross_, quotient_;
  Fr r_, back_, t_;
  std::array<Fr, 3> values_;
};

}  // namespace assay::zk
