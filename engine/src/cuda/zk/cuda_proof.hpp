// What a card does to prove a segment (zk/proof_kernels.hpp).
#pragma once
#include "cuda/groth16/cuda_groth16.hpp"
#include "zk/proof_kernels.hpp"

namespace assay::cuda {

class CudaProof final : public zk::ProofKernels {
 public:
  explicit CudaProof(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  bool runs_wide_plans() const override { return false; }
  std::unique_ptr<zk::ProofMemory> prepare(uint64_t bytes) override;
  std::shared_ptr<const void> hold(uint64_t host_bytes, uint64_t card_bytes) override;
  std::unique_ptr<zk::Groth16Device> groth16(const zk::Groth16Key& key) override { return cuda_groth16(context_, key); }
  std::unique_ptr<zk::PointMaker> point_maker() override { return cuda_point_maker(context_); }
  ThreadPool* host_pool() override { return nullptr; }

 private:
  std::shared_ptr<const Context> context_;
};

}  // namespace assay::cuda
