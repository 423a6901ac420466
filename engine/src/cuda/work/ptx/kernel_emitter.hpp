// Writes one kernel of maps and reductions (kernel_ptx.hpp). Private to this folder.
#pragma once
#include "cuda/work/ptx/kernel_ptx.hpp"

namespace assay::cuda {

constexpr uint32_t kMapThreads = 256;  // of a kernel without rows

class KernelEmitter : MapEmitter {
 public:
  explicit KernelEmitter(const KernelPlan& plan) : plan_(plan), is_wide_(plan.count > INT32_MAX), frames_of_(plan.ops.size()) {
    uses_reals_ = plan.uses_reals, has_doubles_ = plan.has_doubles || plan.uses_reals;
  }
  KernelText entry(const std::string& name);
  // The code that takes two neighbouring sums of a product, the plan's first op.
  std::string on_pair(const std::string& name);

 private:
  using Frames = std::vector<Frame>;
  bool can_take_fours() const;
  // ---- which threads make what
  void flat_fours();
  void flat_apart();
  void turned(const work::Op& op, uint32_t axis);
  void at_step(const work::Op& op, uint32_t axis);
  void kept_rows();
  void streamed_rows();
  void begin_row(uint32_t threads);
  void stream_loop(uint32_t slots, bool neighbours, const std::string& column, std::vector<Value>& sums);
  // ---- parts
  Frames frames_at(const Value& first, uint32_t count, bool neighbours, uint32_t distance);
  void run_op(size_t number, Frames& frames, size_t chunk, bool neighbours);
  void run_all(Frames start, bool neighbours);
  void run_row_op(size_t number);
  bool adds_reals(const KernelOp& one) const;
  Value start_of(const KernelOp& one, bool is_real);
  Value joined(const KernelOp& one, const Value& sum, const Value& x);
  void add_up(size_t number, size_t chunk, Value& sum);
  void finish_sum(size_t number, Value sum);
  void store(size_t number, const Frames& frames, bool neighbours);
  void store_packed(const KernelOp& one, const std::string& base, const Frames& frames, bool together);
  void store_planes(const KernelOp& one, const Frames& frames, bool neighbours);
  Value plane_index(const KernelOp& one, const Value& index);
  Value row_index(const Value& column);
  bool is_wide_sum(const KernelOp& one) const { return !fits_32(one.op->interval); }

  const KernelPlan& plan_;
  const bool is_wide_;
  // Of each op: its frames by chunk; of one by row: a frame.
  std::vector<std::vector<Frames>> frames_of_;
  uint64_t blocks_ = 0;
  uint32_t threads_ = kMapThreads, row_threads_ = 0, reduces_ = 0;
};

}  // namespace assay::cuda
