// Programs on the host's cores, docs/work.md; how each operator runs is in work/.
#pragma once
#include "kernels.hpp"
#include "memory_ledger.hpp"
#include "thread_pool.hpp"
#include "work/work_device.hpp"

namespace assay {

class CpuWork : public work::WorkKernels {
 public:
  // The pool outlives it and what it prepares. What the latter takes is entered in the ledger, as number
  // `device` there.
  explicit CpuWork(ThreadPool& pool, const assay_kernels::Kernels& kernels = assay_kernels::best_kernels(),
                   std::shared_ptr<MemoryLedger> ledger = nullptr, uint32_t device = 0)
      : pool_(pool), kernels_(kernels), ledger_(std::move(ledger)), device_(device) {}
  std::unique_ptr<work::WorkMemory> prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;
  uint64_t extra_bytes(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;

 private:
  ThreadPool& pool_;
  const assay_kernels::Kernels& kernels_;
  std::shared_ptr<MemoryLedger> ledger_;
  uint32_t device_;
};

}  // namespace assay
