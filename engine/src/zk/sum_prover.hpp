// What provers of sums have in common: a transcript, the bytes that were said so far, and the rounds of sums
// (docs/zk.md §5) and of an opening (§3). What is proven by them is segment_prover.hpp and run_fold.hpp.
#pragma once
#include <functional>

#include "zk/proof_kernels.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

// Σ term(columns) over the numbers of a list, on the host.
struct ListSum {
  std::vector<std::vector<Fr>> columns;
  std::function<Fr(std::span<const Fr>)> term;
};

// So many of `total` parts of the work are done; called at every moment at which it can be stopped, which is
// done by throwing.
using OnPart = std::function<void(uint32_t done, uint32_t total)>;

class SumProver {
 protected:
  // `parts`: of its work, for who watches it.
  SumProver(ProofMemory& memory, uint32_t parts) : memory_(memory), parts_(parts) {}

  void begin(std::unique_ptr<Dialogue> transcript, const OnPart& on_part);
  void watch(const OnPart& on_part);
  void part_done();
  void moment();
  void message(uint8_t kind, const std::vector<uint8_t>& bytes);
  void send(uint8_t kind, std::span<const Fr> scalars);

  struct Rounds {
    std::vector<Fr> point;
    std::vector<std::vector<Fr>> ends;
  };
  Rounds prove_sums(uint8_t kind, unsigned degree, std::vector<Sum> sums);
  // Σ eq(ρ, ·)·(what must be 0), of which the first column of each sum is eq; without its factor in what is
  // sent.
  Rounds prove_zeros(uint8_t kind, unsigned degree, const std::vector<Fr>& rho, std::vector<Sum> sums);
  Rounds prove_list(uint8_t kind, unsigned degree, unsigned bits, std::vector<ListSum> sums);
  // Over the cube and then over the list of all products; sends their two values. The point of the cube, and
  // eq of the list's.
  std::pair<std::vector<Fr>, std::vector<Fr>> prove_products(uint8_t kind, std::vector<Sum> sums);
  // `commitment`: of the list, and of the coefficient beyond it that hides it.
  void open(const ListPtr& poly, const Fr& blinder, const G1Affine& commitment, std::span<const Fr> point, const Fr& value);

  ProofMemory& memory_;
  std::unique_ptr<Dialogue> transcript_;
  std::vector<uint8_t> proof_;

 private:
  const OnPart* on_part_ = nullptr;
  uint32_t parts_, parts_done_ = 0;
};

}  // namespace assay::zk
