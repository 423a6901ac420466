// Proofs on the host's cores: the reference for every other device.
#pragma once
#include "cpu/memory_ledger.hpp"
#include "cpu/thread_pool.hpp"
#include "zk/proof_kernels.hpp"

namespace assay::zk {

class CpuProof : public ProofKernels {
 public:
  // The pool outlives it and what it prepares. What the latter takes is entered in the ledger, as number
  // `device` there.
  explicit CpuProof(ThreadPool& pool, std::shared_ptr<MemoryLedger> ledger = nullptr, uint32_t device = 0)
      : pool_(pool), ledger_(std::move(ledger)), device_(device) {}
  bool runs_wide_plans() const override { return true; }
  std::unique_ptr<ProofMemory> prepare(uint64_t bytes) override;
  std::shared_ptr<const void> hold(uint64_t host_bytes, uint64_t card_bytes) override;
  std::unique_ptr<Groth16Device> groth16(const Groth16Key& key) override { return cpu_groth16(pool_, key); }
  std::unique_ptr<PointMaker> point_maker() override { return cpu_point_maker(pool_); }
  ThreadPool* host_pool() override { return &pool_; }

 private:
  ThreadPool& pool_;
  std::shared_ptr<MemoryLedger> ledger_;
  uint32_t device_;
};

}  // namespace assay::zk
