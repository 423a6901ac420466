#include "work/plan.hpp"

#include <algorithm>

namespace assay::work {
namespace {

uint64_t bytes_of_op(const Op& op) { return element_count(op.dims) * bytes_of(op.type); }

bool reads_elsewhere(const Op& op) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Operand& operand = op.operands[i];
    if (operand.source != Source::op && operand.index == *op.target && !is_elementwise(op, i)) return true;
  }
  return false;
}

bool reads_its_target(const Op& op) {
  return op.target && std::ranges::any_of(op.operands, [&](const Operand& operand) {
           return operand.source != Source::op && operand.index == *op.target;
         });
}

std::vector<OpPlan> plan_ops(const std::vector<Op>& ops, const std::vector<Address>& tensors, Arena& arena) {
  std::vector<size_t> last(ops.size());
  for (size_t n = 0; n < ops.size(); ++n) {
    last[n] = n;
    for (const Operand& operand : ops[n].operands)
      if (operand.source == Source::op) last[operand.index] = n;
  }
  std::vector<std::vector<size_t>> dying(ops.size());
  for (size_t n = 0; n < ops.size(); ++n) dying[last[n]].push_back(n);
  std::vector<OpPlan> plans(ops.size());
  std::vector<bool> in_arena(ops.size(), false);
  for (size_t n = 0; n < ops.size(); ++n) {
    const Op& op = ops[n];
    const uint64_t bytes = place_bytes(bytes_of_op(op));
    if (op.target && !reads_elsewhere(op)) {
      plans[n].out = tensors[*op.target];
      if (reads_its_target(op)) plans[n].spare = arena.take(bytes);
    } else {
      plans[n] = {arena.take(bytes), op.target.has_value(), {}};
      in_arena[n] = true;
    }
    if (plans[n].spare) arena.give_back(*plans[n].spare, bytes);
    for (const size_t dead : dying[n])
      if (in_arena[dead]) arena.give_back(plans[dead].out, place_bytes(bytes_of_op(ops[dead])));
  }
  return plans;
}

}  // namespace

Address Arena::take(uint64_t bytes) {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
  if (best == free_.end()) {
    // What is free at the end grows.
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_) {
      const Address at = free_.rbegin()->first;
      free_.erase(at);
      return grow(at, bytes);
    }
    return grow(end_, bytes);
  }
  const auto [at, size] = *best;
  free_.erase(best);
  if (size > bytes) free_.emplace(at + bytes, size - bytes);
  return at;
}

void Arena::give_back(Address at, uint64_t bytes) {
  auto next = free_.lower_bound(at);
  if (next != free_.end() && at + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == at) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(at, bytes);
}

Address Arena::grow(Address at, uint64_t bytes) {
  end_ = at + bytes;
  peak_ = std::max(peak_, end_);
  return at;
}

bool is_elementwise(const Op& op, size_t operand) {
  if (op.op != Operator::map || op.operands[operand].dims != op.dims) return false;
  const auto is_own_place = [&](const Instruction& one) {
    if (one.code != Code::load || one.operand != operand) return true;
    for (size_t axis = 0; axis < one.place.size(); ++axis) {
      const Place& place = one.place[axis];
      if (place.reg || place.constant != 0 || place.terms.size() != 1 || place.terms[0].of != axis || place.terms[0].times != 1)
        return false;
    }
    return true;
  };
  const MapCode& code = op.code;
  return std::ranges::all_of(code.before, is_own_place) && std::ranges::all_of(code.body, is_own_place) &&
         std::ranges::all_of(code.after, is_own_place);
}

MemoryPlan plan_memory(const Program& program) {
  MemoryPlan plan;
  for (const Tensor& tensor : program.tensors) {
    plan.tensors.push_back(plan.bytes);
    plan.bytes += place_bytes(element_count(tensor.dims) * bytes_of(tensor.type));
  }
  plan.free = plan.bytes;
  // Both phases use the same stretch, one after the other.
  Arena init(plan.bytes), step(plan.bytes);
  plan.init = plan_ops(program.init, plan.tensors, init);
  plan.step = plan_ops(program.step, plan.tensors, step);
  plan.bytes = std::max(init.peak(), step.peak());
  return plan;
}

}  // namespace assay::work
