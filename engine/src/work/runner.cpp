#include "work/runner.hpp"

#include <utility>

namespace assay::work {
namespace {

uint64_t bytes_of_tensor(const Tensor& tensor) { return element_count(tensor.dims) * bytes_of(tensor.type); }

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

void Runner::run_ops(Phase phase, const Moment& moment, const OnOp& on_op) {
  if (!on_op && memory_->run_phase(phase, moment)) return;
  const auto& ops = checked_.program.ops(phase);
  const auto first = static_cast<uint32_t>(phase == Phase::init ? 0 : checked_.program.init.size());
  for (uint32_t n = 0; n < ops.size(); ++n) {
    const Op& op = ops[n];
    const OpPlan& plan = plan_.ops(phase)[n];
    Address operands[kMostOperands];
    for (size_t i = 0; i < op.operands.size(); ++i) operands[i] = address_of(phase, op.operands[i]);
    memory_->run(first + n, {operands, op.operands.size()}, plan.out, moment);
    const uint64_t bytes = element_count(op.dims) * bytes_of(op.type);
    if (plan.copies_to_target) memory_->copy(plan.out, plan_.tensors[*op.target], bytes);
    if (on_op) on_op(moment.step, n, memory_->hash(plan.out, bytes));
  }
}

void Runner::run_init() {
  for (size_t i = 0; i < checked_.program.tensors.size(); ++i) {
    const Tensor& tensor = checked_.program.tensors[i];
    if (tensor.kind == TensorKind::state) memory_->clear(plan_.tensors[i], bytes_of_tensor(tensor));
  }
  run_ops(Phase::init, {0, 0, checked_.program.k, key_}, {});
  segment_ = 0;
  memory_->finish();
}

void Runner::run_segment(const std::function<void(uint32_t)>& on_step) {
  trace_segment({});
  if (on_step) on_step(checked_.program.k - 1);
}

void Runner::trace_segment(const OnOp& on_op) {
  const Program& program = checked_.program;
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].kind == TensorKind::scratch) memory_->clear(plan_.tensors[i], bytes_of_tensor(program.tensors[i]));
  ++segment_;
  for (uint32_t step = 0; step < program.k; ++step) run_ops(Phase::step, {segment_, step, program.k, key_}, on_op);
  memory_->finish();
}

}  // namespace assay::work
