// The prover of docs/zk.md §5: from the run of a segment to the bytes of its proof. What it says, and in
// which order; how it is computed is the device's matter (proof_kernels.hpp). The reference is
// vectors/naive-segment.ts: proofs are equal byte for byte.
#pragma once
#include <optional>

#include "zk/segment_run.hpp"
#include "zk/sum_prover.hpp"

namespace assay::zk {

// factor · (a block at a point); a claim is a sum of such terms.
struct ClaimTerm {
  uint64_t at;
  std::vector<Fr> point;
  Fr factor;
  // One axis of the block may have these weights instead of those of a point: it stands after so many
  // variables of the point.
  size_t after = 0;
  std::vector<Fr> weights{};
};
using Claim = std::vector<ClaimTerm>;

// Of what must be 0, in the order of its factors.
enum class Lookup : uint8_t { forth, back, loss, bias, weight, table, score, top, inverse, remainder, rest };

// What is looked up by one helper, of a link.
struct LookupTerm {
  Lookup kind;
  size_t link;
  unsigned variables, degree;
  Slice helper;
  std::vector<Slice> values;
  std::vector<Part> parts;
  // So many of the last values everybody knows: where the sum ends, all members of a list have what this one
  // has.
  size_t known = 0;
};

// factor · (a link's weights, at a step and a point); without a step those after the last one.
struct WeightUse {
  size_t link;
  bool is_end;
  std::vector<Fr> step, input, output;
  Fr factor;
};

// Where the first sum ends: eq of the list's point and each number, and for each link the points of its units
// and of its weights.
struct LookupEnds {
  std::vector<Fr> among;
  std::vector<std::vector<Fr>> units, weights;
};

// What hides commitments (§13): each chunk has one coefficient more, at the first power of τ that chunks do
// not use.
struct Blinders {
  G1Affine power;
  std::array<std::vector<Fr>, kGroups> of_chunks;
};

// What a segment leaves to be opened: the value of a list, which is the sum of its chunks, at a point;
// `blinder`: its coefficient beyond them.
struct LeftOpen {
  ListPtr poly;
  Fr blinder;
  G1Affine commitment;
  std::vector<Fr> point;
  Fr value;
};

// A segment of a run proof (§13): all but the opening, and the digest of what was said.
struct ProvenPart {
  std::vector<uint8_t> proof;
  LeftOpen left;
  Fr digest;
};

class SegmentProver : private SumProver {
 public:
  // Without blinders nothing is hidden.
  SegmentProver(const ProofPlan& plan, ProofMemory& memory, RunLists run, std::optional<Blinders> blinders = std::nullopt);

  // Points of the first four groups, one after the other, 64 bytes each.
  std::vector<uint8_t> statement_points(const OnPart& on_part);
  // After statement_points.
  std::vector<uint8_t> prove(const Hash& statement, const OnPart& on_part);
  // The same, by the transcript of a run. `nonce`: nobody who does not know it can try what was proven.
  ProvenPart prove_part(const Hash& statement, const Fr& nonce, const OnPart& on_part);

 private:
  LeftOpen prove_all_sums(const Fr* nonce);
  std::vector<uint8_t> points_of(GroupNumber group);

  Slice column(Column column, size_t of) const;
  ClaimTerm at(Column column, size_t of, std::vector<Fr> point, const Fr& factor) const;
  // `spot`: where the link's window stands; plain links have none.
  ClaimTerm entering(size_t link, std::span<const Fr> place, std::span<const Fr> spot, std::span<const Fr> unit, const Fr& factor) const;
  std::vector<Fr> row_point(std::span<const Fr> place) const;
  std::vector<Fr> row_matrix() const;

  Part part(unsigned table, size_t values) const;
  std::vector<LookupTerm> lookup_terms() const;
  void add_softmax_terms(std::vector<LookupTerm>& terms) const;
  ListSum listed_top(size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const;
  void softmax_values(const LookupEnds& found, std::span<const Fr> row, const std::vector<std::vector<Fr>>& ends, std::vector<Fr>& said);
  ListPtr table_rows(unsigned table) const;
  void add_helpers();
  LookupEnds lookups();
  ListSum listed(Lookup kind, size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const;
  ListSum listed_tables(size_t members, const std::vector<Fr>& factors, const std::vector<std::vector<Fr>>& ends) const;
  LookupEnds lookup_values(const std::vector<Fr>& point, std::vector<Fr> among, const std::vector<std::vector<Fr>>& ends);
  void claim_loss(const std::vector<Fr>& point);
  void claim_helper_sum();
  Sum product_of(size_t link, bool is_back, std::span<const Fr> at, const Fr& factor);
  Sum product_of_patches(size_t link, std::span<const Fr> at, const Fr& factor);
  std::vector<WeightUse> products(const LookupEnds& ends);
  void weights(std::vector<WeightUse> uses, const LookupEnds& ends);
  void bytes();
  struct Tails;
  Tails tails_of_claims(const Fr& eta) const;
  std::vector<Slice> pieces_of(unsigned bits, std::vector<uint64_t>& numbers) const;
  std::vector<Fr> join_pieces(const Tails& tails, const std::vector<Slice>& pieces, const std::vector<uint64_t>& numbers);
  LeftOpen join();

  const ProofPlan& plan_;
  CubeOrder order_;
  uint64_t first_place_;
  std::optional<Blinders> blinders_;
  std::array<ListPtr, kGroups> groups_;
  std::array<std::vector<G1Affine>, kGroups> points_;
  std::vector<ListPtr> z_, q_, entering_, last_, stepped_;
  std::array<ListPtr, kSoftmaxLists> softmax_;
  std::vector<LookupTerm> terms_;
  std::vector<ListPtr> rows_;
  Fr alpha_{}, beta_{};

  std::vector<Claim> claims_;
};

}  // namespace assay::zk
