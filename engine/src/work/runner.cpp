#include "work/runner.hpp"

#include <utility>

namespace assay::work {
namespace {

uint64_t bytes_of_output(const Op& op) { return element_count(op.dims) * bytes_of(op.type); }

}  // namespace

Runner::Runner(WorkKernels& kernels, CheckedProgram checked, PhiloxKey key)
    : checked_(std::move(checked)), plan_(plan_memory(checked_.program)), key_(key), memory_(kernels.prepare(checked_, plan_)) {}

void Runner::write(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes) {
  memory_->write(plan_.tensors[tensor] + offset, bytes);
}

void Runner::read(uint32_t tensor, uint64_t offset, std::span<uint8_t> bytes) { memory_->read(plan_.tensors[tensor] + offset, bytes); }

Root Runner::root(uint32_t tensor) { return memory_->hash(plan_.tensors[tensor], bytes_of_tensor(checked_.program.tensors[tensor])); }

std::vector<Root> Runner::roots(std::span<const uint32_t> tensors) {
  std::vector<Stretch> all;
  for (const uint32_t tensor : tensors) all.push_back({plan_.tensors[tensor], bytes_of_tensor(checked_.program.tensors[tensor])});
  return memory_->hash_all(all);
}

Address Runner::address_of(Phase phase, const Operand& operand) const {
  if (operand.source != Source::op) return plan_.tensors[operand.index];
  const Op& from = checked_.program.ops(phase)[operand.index];
  const OpPlan& plan = plan_.ops(phase)[operand.index];
  // Of an op that was copied, the copy outlives what it was made from.
  return plan.copies_to_target ? plan_.tensors[*from.target] : plan.out;
}

void Runner::clear_tensors(std::initializer_list<TensorKind> kinds) {
  for (size_t i = 0; i < checked_.program.tensors.size(); ++i)
    for (const TensorKind kind : kinds)
      if (checked_.program.tensors[i].kind == kind) memory_->clear(plan_.tensors[i], bytes_of_tensor(checked_.program.tensors[i]));
}

void Runner::run_op(Phase phase, uint32_t number, const Moment& moment, Address out) {
  const Op& op = checked_.program.ops(phase)[number];
  const auto first = static_cast<uint32_t>(phase == Phase::init ? 0 : checked_.program.init.size());
  Address operands[kMostOperands];
  for (size_t i = 0; i < op.operands.size(); ++i) operands[i] = address_of(phase, op.operands[i]);
  memory_->run(first + number, {operands, op.operands.size()}, out, moment);
}

void Runner::run_ops(Phase phase, const Moment& moment, const OnOp& on_op) {
  if (!on_op && memory_->run_phase(phase, moment)) return;
  const auto& ops = checked_.program.ops(phase);
  for (uint32_t n = 0; n < ops.size(); ++n) {
    const OpPlan& plan = plan_.ops(phase)[n];
    const uint64_t bytes = bytes_of_output(ops[n]);
    run_op(phase, n, moment, plan.out);
    if (plan.copies_to_target) memory_->copy(plan.out, plan_.tensors[*ops[n].target], bytes);
    if (on_op) on_op(moment.step, n, memory_->hash(plan.out, bytes));
  }
}

void Runner::run_init(const OnOp& on_op) {
  clear_tensors({TensorKind::state, TensorKind::result});
  run_ops(Phase::init, {0, 0, checked_.program.k, key_}, on_op);
  segment_ = 0;
  memory_->finish();
}

void Runner::run_segment(const std::function<void(uint32_t)>& on_step) { trace_segment({}, on_step); }

void Runner::trace_segment(const OnOp& on_op, const std::function<void(uint32_t)>& on_step) {
  clear_tensors({TensorKind::scratch});
  ++segment_;
  for (uint32_t step = 0; step < checked_.program.k; ++step) {
    run_ops(Phase::step, {segment_, step, checked_.program.k, key_}, on_op);
    if (on_step) on_step(step);
  }
  memory_->finish();
}

// Leaves in the tensors what the op would have left there without anyone looking, and goes to the next.
void Runner::pass_op(Walk& walk) {
  const Phase phase = phase_of(walk);
  const Op& op = checked_.program.ops(phase)[walk.op];
  const OpPlan& plan = plan_.ops(phase)[walk.op];
  if (!walk.has_run) run_op(phase, walk.op, walk.moment, plan.out);
  const bool in_spare = walk.has_run && plan.spare;
  if (in_spare || plan.copies_to_target)
    memory_->copy(in_spare ? *plan.spare : plan.out, plan_.tensors[*op.target], bytes_of_output(op));
  walk.has_run = false;
  if (++walk.op < checked_.program.ops(phase).size()) return;
  walk.op = 0;
  ++walk.moment.step;
}

void Runner::walk_to(uint64_t segment, uint32_t step, uint32_t op, const std::atomic<bool>& stop) {
  if (!walk_) {
    if (segment == 0) clear_tensors({TensorKind::state, TensorKind::result});
    clear_tensors({TensorKind::scratch});
    walk_ = Walk{{segment, 0, checked_.program.k, key_}};
  }
  while (walk_->moment.step != step || walk_->op != op) {
    throw_if(stop);
    pass_op(*walk_);
  }
}

Stretch Runner::operand_here(size_t number) const {
  const Phase phase = phase_of(*walk_);
  const Operand& operand = checked_.program.ops(phase)[walk_->op].operands[number];
  return {address_of(phase, operand), element_count(operand.dims) * bytes_of(operand.type)};
}

Stretch Runner::output_here() {
  const Phase phase = phase_of(*walk_);
  const OpPlan& plan = plan_.ops(phase)[walk_->op];
  const Address out = plan.spare.value_or(plan.out);
  if (!walk_->has_run) run_op(phase, walk_->op, walk_->moment, out);
  walk_->has_run = true;
  return {out, bytes_of_output(checked_.program.ops(phase)[walk_->op])};
}

}  // namespace assay::work
