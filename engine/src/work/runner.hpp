// Runs a checked program on a device, docs/work.md §7: init, then segments of k steps; the roots of the state
// after each. Everything a device need not know: order, memory, moments. Not here: frames, files, what is
// done with roots.
#pragma once
#include "engine_error.hpp"
#include "work/plan.hpp"

namespace assay::work {

class Runner {
 public:
  // Throws EngineError no_memory. The kernels outlive it.
  Runner(WorkKernels& kernels, CheckedProgram checked, PhiloxKey key);

  const CheckedProgram& checked() const { return checked_; }
  const MemoryPlan& plan() const { return plan_; }
  uint64_t segment() const { return segment_; }

  void reseed(PhiloxKey key) { key_ = key; }
  void write(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes);
  void read(uint32_t tensor, uint64_t offset, std::span<uint8_t> bytes);
  Root root(uint32_t tensor);
  // Of all of them, with one wait for the device.
  std::vector<Root> roots(std::span<const uint32_t> tensors);
  // State as it was after this many segments: the caller has written it.
  void resume_after(uint64_t segment) { segment_ = segment; }

  using OnOp = std::function<void(uint32_t step, uint32_t op, const Root& output)>;
  // Segment 0: the state from seed and inputs. With `on_op`, op by op and the root of every output as it
  // comes.
  void run_init(const OnOp& on_op = {});
  // The next segment. `on_step` is called after each step.
  void run_segment(const std::function<void(uint32_t step)>& on_step = {});
  void trace_segment(const OnOp& on_op, const std::function<void(uint32_t step)>& on_step = {});

  // Op by op, to look at what one of them reads and gives. walk_to begins the segment (0: init) or goes on in
  // it, up to this op, which is not behind; then state is no longer that of any segment's end. A new walk
  // begins after end_walk. Throws EngineError cancelled between ops.
  void walk_to(uint64_t segment, uint32_t step, uint32_t op, const std::atomic<bool>& stop);
  Stretch operand_here(size_t operand) const;
  Stretch output_here();
  // The root of a part of a stretch, for paths in its tree.
  Root hash(const Stretch& part) { return memory_->hash(part.at, part.bytes); }
  void read(Address at, std::span<uint8_t> bytes) { memory_->read(at, bytes); }
  void end_walk() { walk_.reset(); }

 private:
  // Stands at an op that has not run, or has run and written where `output_here` says.
  struct Walk {
    Moment moment;
    uint32_t op = 0;
    bool has_run = false;
  };
  Phase phase_of(const Walk& walk) const { return walk.moment.segment == 0 ? Phase::init : Phase::step; }
  void clear_tensors(std::initializer_list<TensorKind> kinds);
  void run_ops(Phase phase, const Moment& moment, const OnOp& on_op);
  void run_op(Phase phase, uint32_t number, const Moment& moment, Address out);
  void pass_op(Walk& walk);
  Address address_of(Phase phase, const Operand& operand) const;

  CheckedProgram checked_;
  MemoryPlan plan_;
  PhiloxKey key_;
  std::unique_ptr<WorkMemory> memory_;
  uint64_t segment_ = 0;
  std::optional<Walk> walk_;
};

inline uint64_t bytes_of_tensor(const Tensor& tensor) { return element_count(tensor.dims) * bytes_of(tensor.type); }

}  // namespace assay::work
