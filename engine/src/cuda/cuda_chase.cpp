// See cuda_device.hpp: the order of launches of `chase`. docs/hardware-proof.md §13.
#include <algorithm>

#include "cpu/sha256_host.hpp"
#include "cuda_device.hpp"
#include "launch_shape.hpp"
#include "probe/chase.hpp"

namespace assay::cuda {
namespace {

// About 40 ms on an H200: `stop` is asked between launches.
constexpr uint32_t kIntervalsPerLaunch = 1024;

uint64_t room_for(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

ChaseTags tags_for(const Hash& nonce) {
  ChaseTags tags{tag_midstate(Tag::leaf), tag_midstate(Tag::node), tag_midstate(Tag::chase), {}};
  for (int i = 0; i < 8; ++i) tags.nonce[i] = byte_swap32(load_le32(nonce.b + 4 * i));
  return tags;
}

// Addresses of the covered rounds in the room between products, and some bytes behind them.
class Room {
 public:
  Room(const std::shared_ptr<const Context>& context, const CudaKept& kept, std::span<const uint32_t> slots, uint64_t bytes) {
    std::vector<uint64_t> addresses;
    for (const uint32_t slot : slots) addresses.push_back(kept.slot(slot));
    if (addresses.empty()) throw EngineError(ErrorCode::bad_request, "a chase goes over at least one slot");
    const uint64_t table = room_for(addresses.size() * sizeof(uint64_t));
    addresses_ = kept.work().at();
    if (table + bytes > kept.work().bytes()) {  // small products: there is room for more beside them
      own_ = Buffer(context, table + bytes);
      addresses_ = own_.at();
    }
    rest_ = addresses_ + table;
    ASSAY_CUDA_CALL(cuMemcpyHtoD, addresses_, addresses.data(), addresses.size() * sizeof(uint64_t));
  }
  CUdeviceptr addresses() const { return addresses_; }
  CUdeviceptr rest(uint64_t offset = 0) const { return rest_ + offset; }

 private:
  Buffer own_;
  CUdeviceptr addresses_ = 0, rest_ = 0;
};

}  // namespace

std::vector<Label> CudaDevice::chase(Kept& kept_, std::span<const uint32_t> slots, const Hash& nonce, uint32_t intervals,
                                     const std::atomic<bool>& stop) {
  const CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  throw_if(stop);
  std::vector<Label> labels(intervals);
  const uint64_t label_bytes = labels.size() * sizeof(Label);
  const Room room(context_, kept, slots, room_for(label_bytes) + sizeof(ChaseCarried));
  const CUdeviceptr carried = room.rest(room_for(label_bytes));
  const ChaseCarried begin{chase_feed(nonce, 0, {}), {}};
  ASSAY_CUDA_CALL(cuMemcpyHtoD, carried, &begin, sizeof begin);
  for (uint32_t first = 0; first < intervals; first += kIntervalsPerLaunch) {
    if (first > 0) context_->synchronize();
    throw_if(stop);
    context_->launch({"chase", 1, kChaseThreads}, room.addresses(), static_cast<uint32_t>(slots.size()), kept.spec().leaves(),
                     mix_keys(nonce.b), tags_for(nonce), carried, room.rest(), first,
                     std::min(intervals, first + kIntervalsPerLaunch));
  }
  ASSAY_CUDA_CALL(cuMemcpyDtoH, labels.data(), room.rest(), label_bytes);
  return labels;
}

std::vector<uint64_t> CudaDevice::hop_targets(Kept& kept_, std::span<const uint32_t> slots, const Hash& nonce,
                                              std::span<const uint64_t> starts) {
  const CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  std::vector<uint64_t> targets(starts.size() * kIntervalHops);
  const uint64_t target_bytes = targets.size() * sizeof(uint64_t);
  const Room room(context_, kept, slots, room_for(target_bytes) + starts.size_bytes());
  const CUdeviceptr starts_at = room.rest(room_for(target_bytes));
  ASSAY_CUDA_CALL(cuMemcpyHtoD, starts_at, starts.data(), starts.size_bytes());
  context_->launch({"hop_targets", static_cast<uint32_t>(starts.size()), 32}, room.addresses(), static_cast<uint32_t>(slots.size()),
                   kept.spec().leaves(), mix_keys(nonce.b), starts_at, room.rest());
  ASSAY_CUDA_CALL(cuMemcpyDtoH, targets.data(), room.rest(), target_bytes);
  return targets;
}

}  // namespace assay::cuda
