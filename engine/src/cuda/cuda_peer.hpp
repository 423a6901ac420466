// Reads the products that another card keeps, for `stream` over a peer. Small: both cards are then 95 % full.
#pragma once
#include <set>

#include "cuda_device.hpp"

namespace assay::cuda {

class PeerReader {
 public:
  explicit PeerReader(std::shared_ptr<const Context> context);
  ~PeerReader();
  PeerReader(const PeerReader&) = delete;
  PeerReader& operator=(const PeerReader&) = delete;

  // stream_pass of probe_kernels.hpp over another card. The caller has entered this card's context.
  Hash stream_pass(const CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop);

 private:
  void make_room(uint64_t groups);
  void allow_direct(const Context& peer);
  void copy(const CudaKept& kept, std::span<const uint32_t> slots, uint64_t from, uint64_t bytes, CUdeviceptr to) const;

  std::shared_ptr<const Context> context_;
  CUstream copies_ = nullptr;
  CUevent copied_[2] = {nullptr, nullptr};
  Buffer memory_;            // two halves of leaves, two of their digests, the tree
  uint64_t half_bytes_ = 0;  // of leaves
  std::set<CUcontext> asked_;
};

}  // namespace assay::cuda
