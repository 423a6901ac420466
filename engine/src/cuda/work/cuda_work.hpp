// Programs (docs/work.md) on a card: maps and reductions as PTX that the driver compiles, fused where that
// saves memory traffic, products on tensor cores where they are, the other operators as kernels of work.cu.
// Must equal cpu/cpu_work.cpp bit for bit.
#pragma once
#include "cuda/context.hpp"
#include "work/work_device.hpp"

namespace assay::cuda {

// What tests switch off, to compare what is fast with its plain twin.
struct WorkOptions {
  bool tensor_cores = true;  // else products run on plain ALUs
  bool warpgroups = true;    // else those on tensor cores run by mma.sync, as on cards without wgmma
  bool thin = true;          // else products of few rows run as all others
  bool fuses = true;         // else every op runs for itself
  bool on_sums = true;       // else no map runs on a product's sums before they are stored
  // Maps also run on products too small to gain by it, and doubles where they are few.
  bool few_tiles = false;
  bool graphs = true;        // else every kernel is launched for itself
  bool reals = true;         // else wide integers stay integers also where the card is as fast with doubles
};

class CudaWork : public work::WorkKernels {
 public:
  explicit CudaWork(std::shared_ptr<const Context> context, WorkOptions options = {});
  std::unique_ptr<work::WorkMemory> prepare(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;
  uint64_t extra_bytes(const work::CheckedProgram& checked, const work::MemoryPlan& plan) override;

 private:
  std::shared_ptr<const Context> context_;
  WorkOptions options_;
};

}  // namespace assay::cuda
