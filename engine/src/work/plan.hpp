// Where every tensor and every op's output lies in a session's memory. Tensors have places of their own; what lives within a step shares
// the rest by the time it lives. An op writes straight into its target where nothing reads what it overwrites.
#pragma once
#include "work/work_device.hpp"

namespace assay::work {

struct OpPlan {
  Address out;
  // Copied there once the op has run: it reads its target at other places than it writes.
  bool copies_to_target = false;
};

struct MemoryPlan {
  std::vector<Address> tensors;
  std::vector<OpPlan> init, step;
  uint64_t bytes = 0;
  const std::vector<OpPlan>& ops(Phase phase) const { return phase == Phase::init ? init : step; }
};

MemoryPlan plan_memory(const Program& program);

// Every load of this operand is at the output's own place.
bool is_elementwise(const Op& op, size_t operand);

}  // namespace assay::work
