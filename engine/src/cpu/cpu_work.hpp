// Programs on the host's cores, docs/work.md; how each operator runs is in work/.
#pragma once
#include "kernels.hpp"
#include "thread_pool.hpp"
#include "work/work_device.hpp"

namespace assay {

class CpuWork : public work::WorkKernels {
 public:
  // The pool outlives it and what it prepares.
  explicit CpuWork(ThreadPool& pool, const assay_kernels::Kernels& kernels = assay_kernels::best_kernels()) : pool_(pool), kernels_(kernels) {}
  std::unique_ptr<work::WorkMemory> prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;
  uint64_t extra_bytes(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;

 private:
  ThreadPool& pool_;
  const assay_kernels::Kernels& kernels_;
};

}  // namespace assay
