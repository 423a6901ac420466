#include "cuda/work/grouping.hpp"

#include <algorithm>
#include <set>

#include "work/plan.hpp"

namespace assay::cuda {

using namespace work;

namespace {

constexpr size_t kMostCode = 200, kMostPointers = 40;
// On a product's sums code is written many times over, and pointers are few (limb_shape.hpp).
constexpr size_t kMostProductCode = 64, kMostProductPointers = 20;
// A row a block: of few long rows too few blocks would be at work, unless all of them are soon done.
constexpr uint64_t kFewestRows = 64, kSoonDone = 1 << 18;

}  // namespace

Grouping::Grouping(const CheckedProgram& checked, Phase phase, bool fuses, std::vector<bool> pairs)
    : ops_(checked.program.ops(phase)), group_(ops_.size()), before_(ops_.size()), after_(ops_.size()), pairs_(std::move(pairs)), readers_(ops_.size()) {
  for (uint32_t n = 0; n < ops_.size(); ++n)
    for (const Operand& operand : ops_[n].operands)
      if (operand.source == Source::op && (readers_[operand.index].empty() || readers_[operand.index].back() != n)) readers_[operand.index].push_back(n);
  std::map<uint32_t, std::vector<uint32_t>> readers;  // by tensor
  for (uint32_t n = 0; n < ops_.size(); ++n) {
    const Op& op = ops_[n];
    for (const Operand& operand : op.operands)
      if (operand.source == Source::op) before_[n].push_back(operand.index);
      else readers[operand.index].push_back(n);
    if (op.target)
      for (const uint32_t reader : readers[*op.target])
        if (reader != n) before_[n].push_back(reader);
    for (const uint32_t other : before_[n]) after_[other].push_back(n);
    group_[n] = n;
    groups_[n] = {{n}, op.op == Operator::reduce ? element_count(op.operands[0].dims) : count_of(op),
                  op.op == Operator::reduce ? op.operands[0].dims[1] : 0, pairs_[n]};
    if (!fuses || !can_fuse(op)) continue;
    for (const Operand& operand : op.operands) {
      if (operand.source != Source::op || group_[operand.index] == group_[n] || !(can_fuse(ops_[operand.index]) || pairs_[operand.index])) continue;
      const uint32_t a = group_[operand.index], b = group_[n];
      const auto both = joined(a, b);
      if (!both || makes_circle(a, b)) continue;
      for (const uint32_t member : both->ops) group_[member] = a;
      groups_[a] = *both;
      groups_.erase(b);
    }
  }
}

// Both as one, where one kernel can run them.
std::optional<Grouping::Set> Grouping::joined(uint32_t a, uint32_t b) const {
  const Set &x = groups_.at(a), &y = groups_.at(b);
  Set both;
  std::ranges::merge(x.ops, y.ops, std::back_inserter(both.ops));
  both.count = std::max(x.count, y.count);
  both.width = std::max(x.width, y.width);
  if (x.width != 0 && y.width != 0 && x.width != y.width) return std::nullopt;
  if (both.width == 0 && x.count != y.count) return std::nullopt;
  both.has_product = x.has_product || y.has_product;
  if (both.has_product) {
    if (both.width != 0 || (x.has_product && y.has_product) || y.ops.size() != 1 || !follows_product(y.ops[0], x)) return std::nullopt;
  }
  return fits(both) ? std::optional(both) : std::nullopt;
}

// Whether a map had better run on the sums of the set's product than by itself: nobody else reads them, so
// they are never stored in their 64 bits, and nothing but them is loaded. What else a map reads would be
// waited for there, a pair of sums after the other: a gelu by table took 1.6 times as long as by itself on an
// H200.
bool Grouping::follows_product(uint32_t n, const Set& set) const {
  const Op &op = ops_[n], &product = ops_[set.ops[0]];
  return op.op == Operator::map && op.operands.size() == 1 && op.operands[0].source == Source::op && op.operands[0].index == set.ops[0] &&
         op.dims.back() == product.dims[2] && readers_[set.ops[0]].size() == 1 && bytes_of(op.type) < bytes_of(product.type);
}

bool Grouping::reads_well(const Set& set, const Op& reader, size_t operand, const Op& from) const {
  const bool row = is_row(set, reader), from_row = is_row(set, from);
  if (reader.op == Operator::reduce) return !from_row;
  if (row && !from_row) return false;
  const bool whole_row = !row && from_row;
  return std::ranges::all_of(reader.code.before, [&](const Instruction& one) {
    return one.code != Code::load || one.operand != operand || (whole_row ? is_row_place(reader, one) : is_own_place(reader, one));
  });
}

bool Grouping::fits(const Set& set) const {
  size_t code = 0;
  std::set<std::pair<uint8_t, uint16_t>> pointers;
  const uint64_t rows = set.width == 0 ? 0 : set.count / set.width;
  if (set.width != 0 && ((rows < kFewestRows && set.count > kSoonDone && set.ops.size() > 1) || rows > INT32_MAX || set.count % set.width != 0)) return false;
  for (const uint32_t n : set.ops) {
    const Op& op = ops_[n];
    code += op.code.before.size();
    const bool row = is_row(set, op);
    if (op.op == Operator::reduce && element_count(op.operands[0].dims) != set.count) return false;
    if (op.op == Operator::map && count_of(op) != (row ? rows : set.count)) return false;
    // What is turned is made in patches of rows and columns. Rows that are kept are made in fours, which may
    // lie in longer or shorter rows of an op's own.
    const bool in_fours = keeps_rows(set.width) && op.dims.back() % 4 == 0;
    if (set.width != 0 && !row && ((op.dims.back() != set.width && !in_fours) || turned_axis(op))) return false;
    if (op.target) pointers.insert({5, *op.target});
    else pointers.insert({6, static_cast<uint16_t>(n)});
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Operand& operand = op.operands[i];
      const bool inside = operand.source == Source::op && std::ranges::binary_search(set.ops, uint32_t{operand.index});
      if (!inside) pointers.insert({static_cast<uint8_t>(operand.source), operand.index});
      else if (!reads_well(set, op, i, ops_[operand.index])) return false;
    }
  }
  return code <= (set.has_product ? kMostProductCode : kMostCode) && pointers.size() <= (set.has_product ? kMostProductPointers : kMostPointers) && keeps_targets(set) && streams_well(set);
}

// What a member overwrites no other member reads elsewhere than at its own place, and rows' own not at all.
bool Grouping::keeps_targets(const Set& set) const {
  for (const uint32_t writer : set.ops) {
    if (!ops_[writer].target) continue;
    for (const uint32_t n : set.ops)
      for (size_t i = 0; i < ops_[n].operands.size(); ++i) {
        const Operand& operand = ops_[n].operands[i];
        if (operand.source == Source::op || operand.index != *ops_[writer].target) continue;
        if (set.ops.size() == 1) continue;
        if (is_row(set, ops_[n]) || is_row(set, ops_[writer]) || !is_elementwise(ops_[n], i) || count_of(ops_[n]) != count_of(ops_[writer]))
          return false;
      }
  }
  return true;
}

// A row that is gone through once has no element that follows its sum.
bool Grouping::streams_well(const Set& set) const {
  if (set.width == 0 || keeps_rows(set.width)) return true;
  for (const uint32_t n : set.ops) {
    if (is_row(set, ops_[n])) continue;
    for (const Operand& operand : ops_[n].operands)
      if (operand.source == Source::op && std::ranges::binary_search(set.ops, uint32_t{operand.index}) && is_row(set, ops_[operand.index]))
        return false;
  }
  return true;
}

// Whether a way leads from one of the two over another group into one of the two. Where many groups would
// have to be looked at, the two lie far apart, and what one leaves for the other would be kept for long: then
// they had better not be one.
bool Grouping::makes_circle(uint32_t a, uint32_t b) const {
  constexpr size_t kMostSeen = 256;
  const uint32_t last = std::max(groups_.at(a).ops.back(), groups_.at(b).ops.back());
  std::vector<uint32_t> open{a, b};
  std::set<uint32_t> seen{a, b};
  while (!open.empty()) {
    const uint32_t group = open.back();
    open.pop_back();
    const bool is_start = group == a || group == b;
    for (const uint32_t op : groups_.at(group).ops)
      for (const uint32_t next : after_[op]) {
        const uint32_t to = group_[next];
        if (next > last || to == group) continue;
        if (!is_start && (to == a || to == b)) return true;
        if (seen.insert(to).second) open.push_back(to);
        if (seen.size() > kMostSeen) return true;
      }
  }
  return false;
}

std::vector<std::vector<uint32_t>> Grouping::groups() const {
  // The group whose last op comes first, among those that can run.
  std::map<uint32_t, size_t> waits;
  std::set<std::pair<uint32_t, uint32_t>> ready;
  std::map<uint32_t, std::set<uint32_t>> next;
  for (const auto& [id, set] : groups_)
    for (const uint32_t op : set.ops)
      for (const uint32_t other : after_[op])
        if (group_[other] != id && next[id].insert(group_[other]).second) ++waits[group_[other]];
  const auto offer = [&](uint32_t id) { ready.insert({groups_.at(id).ops.back(), id}); };
  for (const auto& [id, set] : groups_)
    if (waits[id] == 0) offer(id);
  std::vector<std::vector<uint32_t>> order;
  while (!ready.empty()) {
    const uint32_t id = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(groups_.at(id).ops);
    for (const uint32_t to : next[id])
      if (--waits[to] == 0) offer(to);
  }
  return order;
}

}  // namespace assay::cuda
