// The prover of docs/zk.md §5: from the run of a segment to the bytes of its proof. What it says, and in which order; how it is computed is the
// device's matter (proof_kernels.hpp). The reference is vectors/naive-segment.ts: proofs are equal byte for byte.
#pragma once
#include <functional>

#include "zk/proof_kernels.hpp"
#include "zk/segment_run.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

// factor · (a block at a point); a claim is a sum of such terms.
struct ClaimTerm {
  uint64_t at;
  std::vector<Fr> point;
  Fr factor;
};
using Claim = std::vector<ClaimTerm>;

// Of what must be 0, in the order of its factors.
enum class Lookup : uint8_t { forth, back, loss, bias, weight, table };

// What is looked up by one helper, of a link.
struct LookupTerm {
  Lookup kind;
  size_t link;
  unsigned variables, degree;
  Slice helper;
  std::vector<Slice> values;
  std::vector<Part> parts;
};

// factor · (a link's weights, at a step and a point); without a step those after the last one.
struct WeightUse {
  size_t link;
  bool is_end;
  std::vector<Fr> step, input, output;
  Fr factor;
};

// Where the first sum ends: eq of the list's point and each number, and for each link the points of its units and of its weights.
struct LookupEnds {
  std::vector<Fr> among;
  std::vector<std::vector<Fr>> units, weights;
};

// Σ term(columns) over the numbers of a list, on the host.
struct ListSum {
  std::vector<std::vector<Fr>> columns;
  std::function<Fr(std::span<const Fr>)> term;
};

// So many of `total` parts of the work are done; called at every moment at which it can be stopped, which is done by throwing.
using OnPart = std::function<void(uint32_t done, uint32_t total)>;

class SegmentProver {
 public:
  SegmentProver(const ProofPlan& plan, ProofMemory& memory, RunLists run);

  // Points of the first four groups, one after the other, 64 bytes each.
  std::vector<uint8_t> statement_points(const OnPart& on_part);
  // After statement_points.
  std::vector<uint8_t> prove(const Hash& statement, const OnPart& on_part);

 private:
  void part_done();
  void moment();
  void message(uint8_t kind, const std::vector<uint8_t>& bytes);
  void send(uint8_t kind, std::span<const Fr> scalars);
  std::vector<uint8_t> points_of(GroupNumber group);

  Slice column(Column column, size_t of) const;
  ClaimTerm at(Column column, size_t of, std::vector<Fr> point, const Fr& factor) const;
  ClaimTerm entering(size_t link, std::span<const Fr> place, std::span<const Fr> unit, const Fr& factor) const;
  std::vector<Fr> row_point(std::span<const Fr> place) const;

  Part part(unsigned table, size_t values) const;
  std::vector<LookupTerm> lookup_terms() const;
  ListPtr table_rows(unsigned table) const;
  void add_helpers();
  LookupEnds lookups();
  ListSum listed(Lookup kind, size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const;
  ListSum listed_tables(size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const;
  LookupEnds lookup_values(const std::vector<Fr>& point, std::vector<Fr> among, const std::vector<std::vector<Fr>>& ends);
  void claim_loss(const std::vector<Fr>& point);
  void claim_helper_sum();
  std::vector<WeightUse> products(const LookupEnds& ends);
  void weights(std::vector<WeightUse> uses, const LookupEnds& ends);
  void bytes();
  struct Tails;
  Tails tails_of_claims(const Fr& eta) const;
  std::vector<Slice> pieces_of(unsigned bits, std::vector<uint64_t>& numbers) const;
  std::vector<Fr> join_pieces(const Tails& tails, const std::vector<Slice>& pieces, const std::vector<uint64_t>& numbers);
  void join_and_open();
  struct Rounds {
    std::vector<Fr> point;
    std::vector<std::vector<Fr>> ends;
  };
  Rounds prove_sums(uint8_t kind, unsigned degree, std::vector<Sum> sums);
  // Σ eq(ρ, ·)·(what must be 0), of which the first column of each sum is eq; without its factor in what is sent.
  Rounds prove_zeros(uint8_t kind, unsigned degree, const std::vector<Fr>& rho, std::vector<Sum> sums);
  Rounds prove_list(uint8_t kind, unsigned degree, unsigned bits, std::vector<ListSum> sums);
  // Over the cube and then over the list of all products; sends their two values. The point of the cube, and eq of the list's.
  std::pair<std::vector<Fr>, std::vector<Fr>> prove_products(uint8_t kind, std::vector<Sum> sums);
  // `commitment`: of the list.
  void open(const ListPtr& poly, const G1Affine& commitment, std::span<const Fr> point, const Fr& value);

  const ProofPlan& plan_;
  ProofMemory& memory_;
  CubeOrder order_;
  uint64_t first_place_;
  std::array<ListPtr, kGroups> groups_;
  std::array<std::vector<G1Affine>, kGroups> points_;
  std::vector<ListPtr> z_, q_, entering_, last_;
  std::vector<LookupTerm> terms_;
  std::vector<ListPtr> rows_;
  Fr alpha_{}, beta_{};

  std::unique_ptr<Transcript> transcript_;
  std::vector<uint8_t> proof_;
  std::vector<Claim> claims_;
  const OnPart* on_part_ = nullptr;
  uint32_t parts_done_ = 0;
};

}  // namespace assay::zk
