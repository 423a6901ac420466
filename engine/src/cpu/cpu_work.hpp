// Programs on the host's cores: the reference for docs/work.md. Each op is shared among the threads by ranges of its output.
#pragma once
#include "thread_pool.hpp"
#include "work/work_device.hpp"

namespace assay {

class CpuWork : public work::WorkKernels {
 public:
  // The pool outlives it and what it prepares.
  explicit CpuWork(ThreadPool& pool) : pool_(pool) {}
  std::unique_ptr<work::WorkMemory> prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;
  uint64_t extra_bytes(const work::CheckedProgram&, const work::MemoryPlan&) override { return 0; }

 private:
  ThreadPool& pool_;
};

}  // namespace assay
