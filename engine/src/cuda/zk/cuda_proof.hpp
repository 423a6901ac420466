// What a card does to prove a segment (zk/proof_kernels.hpp).
#pragma once
#include "cuda/context.hpp"
#include "zk/proof_kernels.hpp"

namespace assay::cuda {

class CudaProof final : public zk::ProofKernels {
 public:
  explicit CudaProof(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  std::unique_ptr<zk::ProofMemory> prepare(uint64_t bytes) override;

 private:
  std::shared_ptr<const Context> context_;
};

}  // namespace assay::cuda
