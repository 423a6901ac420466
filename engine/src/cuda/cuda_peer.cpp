// See cuda_peer.hpp. A part of the peer's bytes is copied here while the part before it is digested: by the
// driver, from card to card where the two can reach each other, and through the host where not.
#include "cuda_peer.hpp"

#include <algorithm>

#include "core/mix.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {
namespace {

// 32 MiB take 80 µs over NVLink, several times what launching a copy and a digest costs. A card without that
// much room left gets by with less.
constexpr uint64_t kMostHalfBytes = uint64_t{32} << 20, kLeastHalfBytes = uint64_t{1} << 20;
constexpr uint64_t kGroupBytes = uint64_t{kGroup} * kLeafBytes;
constexpr CUresult kPeerUnsupported = 217, kNotSupported = 801;

uint64_t digest_bytes(uint64_t leaf_bytes) { return leaf_bytes / kLeafBytes * 8; }

}  // namespace

PeerReader::PeerReader(std::shared_ptr<const Context> context) : context_(std::move(context)) {
  ASSAY_CUDA_CALL(cuStreamCreateWithPriority, &copies_, unsigned{kStreamNonBlocking}, 0);
  for (CUevent& event : copied_) ASSAY_CUDA_CALL(cuEventCreate, &event, unsigned{kEventDisableTiming});
}

PeerReader::~PeerReader() {
  driver().cuCtxSetCurrent(context_->handle());
  for (CUevent event : copied_)
    if (event != nullptr) driver().cuEventDestroy(event);
  if (copies_ != nullptr) driver().cuStreamDestroy(copies_);
}

void PeerReader::make_room(uint64_t groups) {
  const auto bytes_with = [&](uint64_t half) { return 2 * half + 2 * digest_bytes(half) + tree_bytes(groups); };
  if (half_bytes_ != 0 && memory_.bytes() >= bytes_with(half_bytes_)) return;
  memory_ = Buffer();
  half_bytes_ = 0;
  for (uint64_t half = std::min(kMostHalfBytes, groups * kGroupBytes);; half = half / 2 / kGroupBytes * kGroupBytes) {
    try {
      memory_ = Buffer(context_, bytes_with(half));
      half_bytes_ = half;
      return;
    } catch (const EngineError& e) {
      if (e.code() != ErrorCode::no_memory || half <= kLeastHalfBytes) throw;
    }
  }
}

// Without this the driver copies through the host even where it need not. Asked once for each peer.
void PeerReader::allow_direct(const Context& peer) {
  if (!asked_.insert(peer.handle()).second || peer.device() == context_->device()) return;
  int can = 0;
  if (driver().cuDeviceCanAccessPeer(&can, context_->device(), peer.device()) == kCudaSuccess && can == 1)
    driver().cuCtxEnablePeerAccess(peer.handle(), 0);
}

// Bytes from … from+bytes of the slots laid end to end.
void PeerReader::copy(const CudaKept& kept, std::span<const uint32_t> slots, uint64_t from, uint64_t bytes, CUdeviceptr to) const {
  const uint64_t slot_bytes = kept.spec().bytes();
  while (bytes > 0) {
    const uint64_t within = from % slot_bytes, piece = std::min(bytes, slot_bytes - within);
    const CUresult result = driver().cuMemcpyPeerAsync(to, context_->handle(), kept.slot(slots[from / slot_bytes]) + within,
                                                       kept.context().handle(), piece, copies_);
    if (result == kPeerUnsupported || result == kNotSupported)
      throw EngineError(ErrorCode::unsupported, "this card cannot read that one's memory");
    check(result, "cuMemcpyPeerAsync");
    from += piece;
    to += piece;
    bytes -= piece;
  }
}

Hash PeerReader::stream_pass(const CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) {
  if (slots.empty() || slots.size() > kept.slots())
    throw EngineError(ErrorCode::bad_request, "a pass goes over at least one slot and each at most once");
  for (const uint32_t slot : slots) kept.slot(slot);  // all there, before anything is queued
  const uint64_t total = kept.spec().bytes() * slots.size();
  allow_direct(kept.context());
  make_room(total / kGroupBytes);
  const CUdeviceptr digests_at = memory_.at(2 * half_bytes_);
  const Tree tree{digests_at + 2 * digest_bytes(half_bytes_), static_cast<uint32_t>(total / kGroupBytes)};
  const MixKeys keys = mix_keys(nonce.b);
  try {
    uint32_t half = 0;
    for (uint64_t from = 0; from < total; from += half_bytes_, half ^= 1) {
      context_->wait_for_mark(half);  // what this half held two parts ago is digested and hashed
      throw_if(stop);
      const uint64_t bytes = std::min(half_bytes_, total - from);
      const CUdeviceptr leaves_at = memory_.at(half * half_bytes_), digests = digests_at + half * digest_bytes(half_bytes_);
      copy(kept, slots, from, bytes, leaves_at);
      ASSAY_CUDA_CALL(cuEventRecord, copied_[half], copies_);
      ASSAY_CUDA_CALL(cuStreamWaitEvent, nullptr, copied_[half], 0u);
      const auto leaves = static_cast<uint32_t>(bytes / kLeafBytes);
      const SlotBatch of{{leaves_at}};
      context_->launch({"mix_leaves", leaves / 32, 256}, of, leaves, static_cast<uint32_t>(from / kLeafBytes), keys, digests);
      context_->aside_waits_for_main();
      hash_leaves(*context_, tree, static_cast<uint32_t>(from / kGroupBytes), digests, leaves / kGroup, Where::aside);
      context_->mark_aside(half);
    }
  } catch (...) {
    driver().cuCtxSynchronize();  // nothing may go on in the two halves, or read the peer, after the throw
    throw;
  }
  context_->main_waits_for_aside();
  hash_levels(*context_, tree);
  return read_root(*context_, tree);
}

}  // namespace assay::cuda
