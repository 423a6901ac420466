// Which ops of a phase one kernel can run together; see fuse.hpp.
#pragma once
#include <map>

#include "cuda/work/ptx/kernel_ptx.hpp"

namespace assay::cuda {

inline uint64_t count_of(const work::Op& op) { return work::element_count(op.dims); }

// Grows groups from the ops' own order. A group is a set of ops that one kernel can run: all of them make
// `count` elements, or one for each row of `width`.
class Grouping {
 public:
  // `pairs`: by op, whether it is a product that gives its sums to maps.
  Grouping(const work::CheckedProgram& checked, work::Phase phase, bool fuses, std::vector<bool> pairs);
  // In an order in which they can run.
  std::vector<std::vector<uint32_t>> groups() const;
  uint32_t width_of(const std::vector<uint32_t>& ops) const { return groups_.at(group_[ops[0]]).width; }
  static bool can_be_kernel(const work::Op& op) {
    if (op.op == work::Operator::map) return true;
    return op.op == work::Operator::reduce && op.reduction <= work::Reduction::min;
  }

 private:
  struct Set {
    std::vector<uint32_t> ops;
    uint64_t count = 0;
    uint32_t width = 0;
    bool has_product = false;
  };
  bool can_fuse(const work::Op& op) const { return can_be_kernel(op) && op.code.turns == 0; }
  bool is_row(const Set& set, const work::Op& op) const {
    return set.width != 0 && (op.op == work::Operator::reduce || work::element_count(op.dims) != set.count);
  }
  bool reads_well(const Set& set, const work::Op& reader, size_t operand, const work::Op& from) const;
  bool fits(const Set& set) const;
  bool keeps_targets(const Set& set) const;
  bool streams_well(const Set& set) const;
  bool follows_product(uint32_t op, const Set& set) const;
  std::optional<Set> joined(uint32_t a, uint32_t b) const;
  bool makes_circle(uint32_t a, uint32_t b) const;

  const std::vector<work::Op>& ops_;
  std::vector<uint32_t> group_;
  std::map<uint32_t, Set> groups_;
  // Ops that must run before this one: those it reads, and the readers of a tensor that it writes.
  std::vector<std::vector<uint32_t>> before_, after_;
  std::vector<bool> pairs_;
  std::vector<std::vector<uint32_t>> readers_;  // by op
};

}  // namespace assay::cuda
