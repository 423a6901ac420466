// Programs (docs/work.md) on a card: maps as PTX that the driver compiles, products on tensor cores where they are, the other operators as
// kernels of work.cu. Must equal cpu/cpu_work.cpp bit for bit.
#pragma once
#include "cuda/context.hpp"
#include "work/work_device.hpp"

namespace assay::cuda {

class CudaWork : public work::WorkKernels {
 public:
  // Without `tensor_cores` products run on plain ALUs: the twin that tests compare.
  explicit CudaWork(std::shared_ptr<const Context> context, bool tensor_cores = true)
      : context_(std::move(context)), tensor_cores_(tensor_cores && context_->has_warpgroups()) {
    context_->load_work();
  }
  std::unique_ptr<work::WorkMemory> prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;
  uint64_t extra_bytes(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;

 private:
  std::shared_ptr<const Context> context_;
  bool tensor_cores_;
};

}  // namespace assay::cuda
