// Where every tensor and every op's output lies in a session's memory. Tensors have places of their own; what
// lives within a step shares the rest by the time it lives. An op writes straight into its target where
// nothing reads what it overwrites.
#pragma once
#include <map>

#include "work/work_device.hpp"

namespace assay::work {

struct OpPlan {
  Address out;
  // Copied there once the op has run: it reads its target at other places than it writes.
  bool copies_to_target = false;
  // It writes over what it reads. Who wants to look at both lets it write here.
  std::optional<Address> spare;
};

struct MemoryPlan {
  std::vector<Address> tensors;
  std::vector<OpPlan> init, step;
  uint64_t bytes = 0;
  Address free = 0;  // behind the tensors: what the phases share
  const std::vector<OpPlan>& ops(Phase phase) const { return phase == Phase::init ? init : step; }
};

// Free stretches by address; the smallest that fits is taken.
class Arena {
 public:
  explicit Arena(Address first) : end_(first), peak_(first) {}
  uint64_t peak() const { return peak_; }
  // Multiples of kPlaceBytes.
  Address take(uint64_t bytes);
  void give_back(Address at, uint64_t bytes);

 private:
  Address grow(Address at, uint64_t bytes);
  std::map<Address, uint64_t> free_;
  Address end_, peak_;
};
// Kernels read whole vectors, and leaves are hashed by 1 KiB.
constexpr uint64_t kPlaceBytes = 1024;
inline uint64_t place_bytes(uint64_t bytes) { return (bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes; }

MemoryPlan plan_memory(const Program& program);

// Every load of this operand is at the output's own place.
bool is_elementwise(const Op& op, size_t operand);

}  // namespace assay::work
