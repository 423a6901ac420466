// A GPU as a device that answers probes. The parts of a round are public so that engine/bench can time them
// one by one; the commands use the interfaces alone.
#pragma once
#include <deque>

#include "context.hpp"
#include "probe/probe_kernels.hpp"
#include "tree.hpp"
#include "cuda/work/cuda_work.hpp"
#include "cuda/zk/cuda_proof.hpp"

namespace assay::cuda {

std::string driver_version();

class CudaKept final : public Kept {
 public:
  CudaKept(std::shared_ptr<const Context> context, const GemmSpec& spec, uint32_t slots);
  const Context& context() const { return *context_; }
  CUdeviceptr slot(uint32_t i) const;  // throws bad_request when there is no such slot
  Tree round_tree() const { return {tree_.at(), spec_.leaves()}; }

  const GemmSpec& spec() const { return spec_; }
  uint32_t slots() const { return slots_; }
  CUdeviceptr a() const { return work_.at(); }
  CUdeviceptr b() const { return work_.at(b_offset_); }
  // A and B's memory between products: digests of a stream chunk, or openings on their way out.
  const Buffer& work() const { return work_; }
  const Buffer& tree() const { return tree_; }
  // The upper part of the tree over the product in a slot, as gemm_round left it.
  TreeTop& top(uint32_t slot) { return tops_.at(slot); }
  // The same of passes over the products, as many as 64 MiB hold. Null: not made, or forgotten.
  const TreeTop* find_pass(const Hash& nonce, std::span<const uint32_t> slots) const;
  const TreeTop& remember_pass(const Hash& nonce, std::span<const uint32_t> slots, TreeTop top);
  void forget_passes() { passes_.clear(); }

 private:
  struct Pass {
    Hash nonce;
    std::vector<uint32_t> slots;
    TreeTop top;
  };
  std::shared_ptr<const Context> context_;
  GemmSpec spec_;
  uint32_t slots_, slots_per_chunk_ = 1;
  uint64_t b_offset_ = 0;
  Buffer work_, tree_;
  std::vector<Buffer> chunks_;
  std::vector<TreeTop> tops_;
  std::deque<Pass> passes_;
};

constexpr uint32_t kGroup = 128;  // digests, of 8 bytes each, in a leaf of a stream's tree

inline CudaKept& cuda_kept(Kept& kept) { return static_cast<CudaKept&>(kept); }

class PeerReader;

class CudaDevice final : public Device, public ProbeKernels {
 public:
  explicit CudaDevice(CUdevice device, Context::Which which = Context::Which::primary);

  DeviceKind kind() const override { return DeviceKind::gpu; }
  Gauge gauge() const override;
  DeviceClaim claim() override;
  ProbeKernels* probe_kernels() override { return this; }
  work::WorkKernels* work_kernels() override;
  zk::ProofKernels* proof_kernels() override { return &proof_; }

  std::unique_ptr<Kept> keep(const GemmSpec& spec, uint32_t slots) override;
  Hash gemm_round(Kept& kept, uint32_t slot, const Seed& seed, const std::atomic<bool>& stop) override;
  std::vector<Opening> open_round(Kept& kept, uint32_t slot, std::span<const uint32_t> leaves) override;
  Hash stream_pass(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) override;
  std::vector<Opening> open_stream(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                   std::span<const uint32_t> groups) override;
  std::vector<Label> chase(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, uint32_t intervals,
                           const std::atomic<bool>& stop) override;
  std::vector<uint64_t> hop_targets(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                    std::span<const uint64_t> starts) override;
  Hash fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) override;
  std::vector<Opening> open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) override;

  // The parts of a round, queued without waiting (multiply waits between the launches of a large product).
  void generate(const CudaKept& kept, const Seed& seed);
  void multiply(const CudaKept& kept, uint32_t slot, const std::atomic<bool>& stop);
  void hash_round(const CudaKept& kept, uint32_t slot);
  void run_lanes(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop);
  const Context& context() const { return *context_; }
  std::shared_ptr<const Context> shared_context() const { return context_; }
  // Tests and the bench turn Hopper's own path off, to have both; true when it is on now.
  bool use_warpgroups(bool use) { return use_warpgroups_ = use && context_->has_warpgroups(); }

 private:
  // The same on Hopper's own path; with `hash`, level 0 of the round's tree too.
  void multiply_by_warpgroups(const CudaKept& kept, uint32_t slot, bool hash, const std::atomic<bool>& stop);
  template <typename Launch>
  void launch_tiles(const GemmSpec& spec, uint32_t tile_n, const std::atomic<bool>& stop, Launch launch) const;
  Tree stream_tree(const CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop);
  const TreeTop& fma_top(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop);
  const TreeTop& pass_top(CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop);
  void make_lanes_room(const FmaSpec& spec);
  void launch_lanes(const FmaSpec& spec, const Seed& seed, uint32_t first, uint32_t end);
  std::vector<Precision> precisions() const;  // that this card has units for
  void require(Precision precision) const;

  std::shared_ptr<const Context> context_;
  CudaProof proof_;
  bool use_warpgroups_;
  uint32_t met_ = 0;  // what the meter of gemm_wgmma.cu says when all that is queued has run
  struct FmaRound {
    FmaSpec spec;
    Seed seed;
    TreeTop top;
  };
  std::deque<FmaRound> fma_rounds_;  // the last ones
  Buffer lanes_;  // of `fma`: lanes, tree, openings; kept from round to round, given up to keep() and claim()
  std::unique_ptr<CudaWork> work_;  // made by the first program
  // Made by the first pass over another card's products; given up likewise.
  std::shared_ptr<PeerReader> peer_;
};

}  // namespace assay::cuda
