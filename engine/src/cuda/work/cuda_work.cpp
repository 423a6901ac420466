// See cuda_work.hpp.
#include "cuda/work/cuda_work.hpp"

#include "cuda/work/cuda_work_memory.hpp"

namespace assay::cuda {

CudaWork::CudaWork(std::shared_ptr<const Context> context, WorkOptions options) : context_(std::move(context)), options_(options) {
  options_.warpgroups = options_.warpgroups && context_->has_warpgroups();
  options_.thin = options_.thin && context_->compute() >= 80;
  context_->load_work(options_.tensor_cores && !options_.warpgroups);
}

uint64_t CudaWork::extra_bytes(const work::CheckedProgram& checked, const work::MemoryPlan& plan) {
  return CudaWorkMemory::extra_bytes_for(*context_, options_, checked, plan);
}

std::unique_ptr<work::WorkMemory> CudaWork::prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) {
  return std::make_unique<CudaWorkMemory>(context_, options_, checked, plan, extra_bytes(checked, plan));
}

}  // namespace assay::cuda
