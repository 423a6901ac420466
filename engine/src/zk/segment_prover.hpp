// The prover of docs/zk.md §5: from the run of a segment to the bytes of its proof. What it says, and in which order; how it is computed is the
// device's matter (proof_kernels.hpp). The reference is vectors/naive-segment.ts: proofs are equal byte for byte.
#pragma once
#include <functional>

#include "zk/proof_kernels.hpp"
#include "zk/segment_run.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

struct Claim {
  uint64_t at;
  unsigned bits;
  std::vector<Fr> point;
  Fr value;
};

// What is looked up by one helper.
struct LookupTerm {
  unsigned variables, degree;
  Slice helper;
  std::vector<Slice> values;
  std::vector<Part> parts;
};

// A use of a link's weights, at a step and a point; without a step those after the last one.
struct WeightUse {
  size_t link;
  bool is_end;
  std::vector<Fr> step, input, output;
  Fr value;
};

// Where the first sum ends for one link.
struct LinkEnd {
  std::vector<Fr> point, weight_point;
  Fr z, q, after;
};

// So many of `total` parts of the work are done; called at every moment at which it can be stopped, which is done by throwing.
using OnPart = std::function<void(uint32_t done, uint32_t total)>;

class SegmentProver {
 public:
  // The run's numbers go to the device.
  SegmentProver(const ProofPlan& plan, ProofMemory& memory, SegmentRun& run);

  // Points of the first four groups, one after the other, 64 bytes each.
  std::vector<uint8_t> statement_points(const OnPart& on_part);
  std::vector<uint8_t> prove(const Hash& statement, const OnPart& on_part);

 private:
  void part_done();
  void moment();
  void message(uint8_t kind, const std::vector<uint8_t>& bytes);
  void send(uint8_t kind, std::span<const Fr> scalars);
  std::vector<uint8_t> points_of(GroupNumber group);

  Slice column(Column column, size_t of) const;
  void claim(Column column, size_t of, std::vector<Fr> point, const Fr& value);
  void claim_entering(size_t link, std::span<const Fr> place, std::span<const Fr> unit, const Fr& value);
  std::vector<Fr> row_point(std::span<const Fr> place) const;

  Part part(unsigned table, size_t values) const;
  std::vector<LookupTerm> lookup_terms() const;
  ListPtr table_rows(unsigned table) const;
  void add_helpers();
  std::vector<LinkEnd> lookups();
  std::vector<LinkEnd> lookup_values(const std::vector<Fr>& point, const std::vector<std::vector<Fr>>& ends);
  std::vector<WeightUse> products(const std::vector<LinkEnd>& ends);
  void weights(const std::vector<WeightUse>& uses);
  void bytes();
  void join_and_open();
  struct Rounds {
    std::vector<Fr> point;
    std::vector<std::vector<Fr>> ends;
  };
  Rounds prove_sums(uint8_t kind, unsigned degree, std::vector<Sum> sums);
  void open(const ListPtr& poly, std::span<const Fr> point, const Fr& value);

  const ProofPlan& plan_;
  ProofMemory& memory_;
  CubeOrder order_;
  uint64_t first_place_;
  std::array<ListPtr, kGroups> groups_;
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
