// See cuda_device.hpp: the order of launches of `stream` and `fma`. docs/hardware-proof.md §5, §6.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/mix.hpp"
#include "core/recurrence.hpp"
#include "cuda_device.hpp"
#include "cuda_peer.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {
namespace {

// Lane steps of an `fma` launch: about 10 ms of fp32 on an H200, half a second of fp64 on a gaming card.
constexpr uint64_t kStepsPerLaunch = uint64_t{1} << 38;
constexpr uint64_t kFmaScratchBytes = 64 * kOpeningBytes;
constexpr size_t kFmaRounds = 1024;  // whose trees' upper parts are remembered, 8 KiB each at 2^24 lanes
const char* const kFma[] = {"fma_fp32", "fma_fp64", "fma_int32"};

uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

void check_lanes(const FmaSpec& spec) {
  if (!is_fma_precision(spec.precision) || spec.lanes == 0 || spec.lanes % 256 != 0 || spec.lanes > (1u << 28) ||
      spec.steps == 0 || spec.steps % kBlockSteps != 0)
    throw EngineError(ErrorCode::bad_request, "no such lanes: lanes are a multiple of 256, steps of 512");
}

// Chunks of digest groups lie within a slot.
uint32_t pass_chunk_log2(const GemmSpec& spec) {
  return std::min<uint32_t>(kChunkLog2, static_cast<uint32_t>(std::countr_zero(spec.leaves() / kGroup)));
}

uint64_t lane_bytes(const FmaSpec& spec) { return uint64_t{spec.lanes} * (spec.precision == Precision::fp64 ? 8 : 4); }

}  // namespace

// Digests of a batch of slots into one half of the workspace; their group hashes beside the digests of the
// next batch, which go to the other half: reading is bound by memory, hashing by arithmetic.
Tree CudaDevice::stream_tree(const CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                             const std::atomic<bool>& stop) {
  const uint32_t leaves = kept.spec().leaves(), groups = leaves / kGroup;
  if (slots.empty() || slots.size() > kept.slots())
    throw EngineError(ErrorCode::bad_request, "a pass goes over at least one slot and each at most once");
  for (const uint32_t slot : slots) kept.slot(slot);  // all there, before anything is queued
  const MixKeys keys = mix_keys(nonce.b);
  const Tree tree{kept.tree().at(), static_cast<uint32_t>(slots.size()) * groups};
  const uint64_t digest_bytes = uint64_t{leaves} * 8;
  const size_t batch = std::min<size_t>(kept.work().bytes() / (2 * digest_bytes), kSlotsPerBatch);
  uint32_t half = 0;
  for (size_t from = 0; from < slots.size(); from += batch, half ^= 1) {
    // This half's hashes of two batches ago; it also keeps `stop` within reach.
    context_->wait_for_mark(half);
    if (stop) context_->synchronize();  // nothing may go on in the workspace after the throw
    throw_if(stop);
    const size_t count = std::min(batch, slots.size() - from);
    const CUdeviceptr digests = kept.work().at(half * batch * digest_bytes);
    SlotBatch of{};
    for (size_t i = 0; i < count; ++i) of.address[i] = kept.slot(slots[from + i]);
    context_->launch({"mix_leaves", static_cast<uint32_t>(count * (leaves / 32)), 256}, of, leaves,
                     static_cast<uint32_t>(from * leaves), keys, digests);
    context_->aside_waits_for_main();
    hash_leaves(*context_, tree, static_cast<uint32_t>(from * groups), digests, static_cast<uint32_t>(count * groups), Where::aside);
    context_->mark_aside(half);
  }
  context_->main_waits_for_aside();
  hash_levels(*context_, tree);
  return tree;
}

Hash CudaDevice::stream_pass(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) {
  context_->enter();
  throw_if(stop);
  if (&cuda_kept(kept).context() != context_.get()) {
    if (!peer_) peer_ = std::make_shared<PeerReader>(context_);
    return peer_->stream_pass(cuda_kept(kept), slots, nonce, stop);
  }
  return pass_top(cuda_kept(kept), slots, nonce, stop).root();
}

const TreeTop& CudaDevice::pass_top(CudaKept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) {
  const Tree tree = stream_tree(kept, slots, nonce, stop);
  return kept.remember_pass(nonce, slots, read_top(*context_, tree, pass_chunk_log2(kept.spec())));
}

std::vector<Opening> CudaDevice::open_stream(Kept& kept_, std::span<const uint32_t> slots, const Hash& nonce,
                                             std::span<const uint32_t> groups) {
  CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  const TreeTop* known = kept.find_pass(nonce, slots);
  const TreeTop& top = known != nullptr ? *known : pass_top(kept, slots, nonce, kNeverStop);
  const MixKeys keys = mix_keys(nonce.b);
  const uint32_t groups_per_slot = kept.spec().leaves() / kGroup;
  // The digests are long overwritten: those of a chunk are made again, in the first half of the workspace.
  const uint64_t chunk_bytes = uint64_t{kLeafBytes} << top.chunk_log2, half = kept.work().bytes() / 2 / 256 * 256;
  const auto chunk_at = [&](uint32_t first, uint32_t count, size_t place) {
    const CUdeviceptr digests = kept.work().at(place * chunk_bytes);
    const uint64_t within = uint64_t{first % groups_per_slot} * kGroup * kLeafBytes;
    const SlotBatch of{{kept.slot(slots[first / groups_per_slot]) + within}};
    context_->launch({"mix_leaves", count * (kGroup / 32), 256}, of, count * kGroup, first * kGroup, keys, digests);
    return digests;
  };
  const OpeningRoom room{kept.work().at(half), half, static_cast<size_t>(std::max<uint64_t>(1, half / chunk_bytes))};
  return open_leaves(*context_, top, groups, room, chunk_at);
}

void CudaDevice::make_lanes_room(const FmaSpec& spec) {
  const uint64_t bytes = round_up(lane_bytes(spec), 256) + round_up(tree_bytes(spec.leaves()), 256) + kFmaScratchBytes;
  if (lanes_.bytes() < bytes) {
    lanes_ = Buffer();
    lanes_ = Buffer(context_, bytes);
  }
}

void CudaDevice::run_lanes(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  check_lanes(spec);
  make_lanes_room(spec);
  // Whole rounds of 2^20 lanes, which fill any card of today.
  const uint64_t most = std::max<uint64_t>(kStepsPerLaunch / spec.steps, 1u << 20) & ~uint64_t{0xFFFFF};
  for (uint64_t first = 0; first < spec.lanes; first += most) {
    if (first > 0) context_->synchronize();
    throw_if(stop);
    launch_lanes(spec, seed, static_cast<uint32_t>(first), static_cast<uint32_t>(std::min<uint64_t>(spec.lanes, first + most)));
  }
}

// Each lane has its place in `lanes_`, whichever are run.
void CudaDevice::launch_lanes(const FmaSpec& spec, const Seed& seed, uint32_t first, uint32_t end) {
  const char* kernel = kFma[static_cast<size_t>(spec.precision) - static_cast<size_t>(Precision::fp32)];
  context_->launch({kernel, (end - first + 1023) / 1024, 256}, philox_key(seed.b), first, end, spec.steps, lanes_.at());
}

const TreeTop& CudaDevice::fma_top(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  run_lanes(spec, seed, stop);
  const Tree tree{lanes_.at(round_up(lane_bytes(spec), 256)), spec.leaves()};
  hash_leaves(*context_, tree, 0, lanes_.at(), tree.count);
  hash_levels(*context_, tree);
  if (fma_rounds_.size() >= kFmaRounds) fma_rounds_.pop_front();
  return fma_rounds_.emplace_back(spec, seed, read_top(*context_, tree)).top;
}

Hash CudaDevice::fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  context_->enter();
  throw_if(stop);
  return fma_top(spec, seed, stop).root();
}

std::vector<Opening> CudaDevice::open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) {
  context_->enter();
  const auto known = std::find_if(fma_rounds_.begin(), fma_rounds_.end(), [&](const FmaRound& round) {
    return round.spec == spec && std::memcmp(round.seed.b, seed.b, sizeof seed.b) == 0;
  });
  const TreeTop& top = known != fma_rounds_.end() ? known->top : fma_top(spec, seed, kNeverStop);
  make_lanes_room(spec);
  const auto chunk_at = [&](uint32_t first, uint32_t count, size_t) {
    launch_lanes(spec, seed, first * spec.lanes_per_leaf(), (first + count) * spec.lanes_per_leaf());
    return lanes_.at(uint64_t{first} * kLeafBytes);
  };
  const uint64_t behind = round_up(lane_bytes(spec), 256) + round_up(tree_bytes(spec.leaves()), 256);
  return open_leaves(*context_, top, leaves, {lanes_.at(behind), kFmaScratchBytes}, chunk_at);
}

}  // namespace assay::cuda
