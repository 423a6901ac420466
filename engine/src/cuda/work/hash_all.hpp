// The roots of many tensors with one wait: all trees grow together, level by level, and their roots come back
// in one copy.
#pragma once
#include "cuda/tree.hpp"
#include "work/work_device.hpp"

namespace assay::cuda {

inline uint64_t leaves_of(uint64_t bytes) { return (bytes + 1023) / 1024; }

class HashAll {
 public:
  // `memory`: where the stretches' addresses count from. `nodes`: room for bytes_for(all).
  HashAll(std::shared_ptr<const Context> context, std::vector<work::Stretch> all, CUdeviceptr memory, CUdeviceptr nodes);
  static uint64_t bytes_for(std::span<const work::Stretch> all);

  const std::vector<work::Stretch>& stretches() const { return all_; }
  void start(CUstream stream) const;
  // Waits.
  std::vector<work::Root> roots(CUstream stream) const;

 private:
  std::shared_ptr<const Context> context_;
  std::vector<work::Stretch> all_;
  Buffer table_, roots_;
  struct Round {
    uint64_t at;  // of its trees in the table, in bytes
    uint32_t trees, blocks;
  };
  uint32_t leaves_ = 0;
  std::vector<Round> rounds_;  // of three levels each
  uint64_t tops_ = 0;
};

}  // namespace assay::cuda
