// Runs a checked program on a device, docs/work.md §7: init, then segments of k steps; the roots of the state after each. Everything a
// device need not know: order, memory, moments. Not here: frames, files, what is done with roots.
#pragma once
#include "work/plan.hpp"

namespace assay::work {

class Runner {
 public:
  // Throws EngineError no_memory. The kernels outlive it.
  Runner(WorkKernels& kernels, CheckedProgram checked, PhiloxKey key);

  const CheckedProgram& checked() const { return checked_; }
  const MemoryPlan& plan() const { return plan_; }
  uint64_t segment() const { return segment_; }

  void write(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes);
  void read(uint32_t tensor, uint64_t offset, std::span<uint8_t> bytes);
  Root root(uint32_t tensor);
  // Of all of them, with one wait for the device.
  std::vector<Root> roots(std::span<const uint32_t> tensors);
  // State as it was after this many segments: the caller has written it.
  void resume_after(uint64_t segment) { segment_ = segment; }

  // Segment 0: the state from seed and inputs.
  void run_init();
  // The next segment. `on_step` is called after each step.
  void run_segment(const std::function<void(uint32_t step)>& on_step = {});
  // The same op by op, with the root of every output as it comes.
  void trace_segment(const std::function<void(uint32_t step, uint32_t op, const Root& output)>& on_op);

 private:
  using OnOp = std::function<void(uint32_t step, uint32_t op, const Root& output)>;
  void run_ops(Phase phase, const Moment& moment, const OnOp& on_op);
  Address address_of(Phase phase, const Operand& operand) const;

  CheckedProgram checked_;
  MemoryPlan plan_;
  PhiloxKey key_;
  std::unique_ptr<WorkMemory> memory_;
  uint64_t segment_ = 0;
};

}  // namespace assay::work
