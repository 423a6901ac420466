// See cuda_device.hpp: the order of launches for each operation of device.hpp. All memory is plain cuMemAlloc.
#include "cuda_device.hpp"

#include <algorithm>

#include "core/mix.hpp"
#include "core/recurrence.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {
namespace {

constexpr uint32_t kGroup = 128;  // digests, of 8 bytes each, in a leaf of a stream's tree
// Small products share allocations, which the driver rounds up to 2 MiB.
constexpr uint64_t kChunkBytes = uint64_t{256} << 20;
// Longest launch of a product: about 40 ms at 1000 TOPS, half a second on the slowest card with tensor cores.
constexpr double kOpsPerLaunch = 4e13;
// Lane steps of an `fma` launch: about 10 ms of fp32 on an H200, half a second of fp64 on a gaming card.
constexpr uint64_t kStepsPerLaunch = uint64_t{1} << 38;
constexpr uint64_t kFmaScratchBytes = 64 * kOpeningBytes;

const char* const kGenerate[] = {"generate_int8", "generate_fp8", "generate_fp16", "generate_bf16", "generate_tf32"};
const char* const kMultiply[] = {"gemm_int8", "gemm_fp8", "gemm_fp16", "gemm_bf16", "gemm_tf32"};
const char* const kWarpgroups[] = {"gemm_wgmma_int8", "gemm_wgmma_fp8", "gemm_wgmma_fp16", "gemm_wgmma_bf16", "gemm_wgmma_tf32"};
const char* const kFma[] = {"fma_fp32", "fma_fp64", "fma_int32"};

const std::atomic<bool> kNeverStop{false};

void throw_if(const std::atomic<bool>& stop) {
  if (stop.load(std::memory_order_relaxed)) throw EngineError(ErrorCode::cancelled, "cancelled");
}

CudaKept& cuda_kept(Kept& kept) { return static_cast<CudaKept&>(kept); }

uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

std::vector<Precision> precisions_of(uint32_t compute) {
  std::vector<Precision> out{Precision::int8};
  if (compute >= 89) out.push_back(Precision::fp8);
  out.push_back(Precision::fp16);
  if (compute >= 80) out.insert(out.end(), {Precision::bf16, Precision::tf32});
  out.insert(out.end(), {Precision::fp32, Precision::fp64, Precision::int32});
  return out;
}

void check_shape(const GemmSpec& spec) {
  const bool small_k = spec.precision != Precision::int8 && spec.precision != Precision::fp8;
  const auto fits = [](uint32_t x, uint32_t multiple, uint32_t most) { return x > 0 && x % multiple == 0 && x <= most; };
  if (!is_gemm_precision(spec.precision) || !fits(spec.m, 128, 65536) || !fits(spec.n, 512, 65536) ||
      !fits(spec.k, 128, small_k ? 16384 : 65536))
    throw EngineError(ErrorCode::bad_request, "no such product: m and k are multiples of 128, n of 512, within the limits");
}

void check_lanes(const FmaSpec& spec) {
  if (!is_fma_precision(spec.precision) || spec.lanes == 0 || spec.lanes % 256 != 0 || spec.lanes > (1u << 28) ||
      spec.steps == 0 || spec.steps % kBlockSteps != 0)
    throw EngineError(ErrorCode::bad_request, "no such lanes: lanes are a multiple of 256, steps of 512");
}

// `rows` rows of `row_bytes`, copied in boxes of 128 bytes by `box_rows`, swizzled as wgmma reads them.
TensorMap operand_map(CUdeviceptr address, uint32_t rows, uint32_t row_bytes, uint32_t box_rows) {
  enum { kBytes = 0, kNoInterleave = 0, kSwizzle128 = 3, kPromote256 = 3, kFillNothing = 0 };
  TensorMap map{};
  const uint64_t dims[] = {row_bytes, rows}, strides[] = {row_bytes};
  const uint32_t box[] = {kWarpgroupKBytes, box_rows}, steps[] = {1, 1};
  ASSAY_CUDA_CALL(cuTensorMapEncodeTiled, &map, kBytes, 2, reinterpret_cast<void*>(address), dims, strides, box, steps,
                  kNoInterleave, kSwizzle128, kPromote256, kFillNothing);
  return map;
}

uint64_t lane_bytes(const FmaSpec& spec) { return uint64_t{spec.lanes} * (spec.precision == Precision::fp64 ? 8 : 4); }

}  // namespace

CudaKept::CudaKept(std::shared_ptr<const Context> context, const GemmSpec& spec, uint32_t slots) : spec_(spec), slots_(slots) {
  const uint64_t entry = entry_bytes(spec.precision);
  b_offset_ = spec.m * uint64_t{spec.k} * entry;
  // With a small k the operands are small; digests of some slots at once keep a pass from waiting slot by slot.
  const uint64_t digests = uint64_t{spec.leaves()} * 8 * std::clamp(slots, 2u, 2 * kSlotsPerBatch);
  const uint64_t work = std::max(b_offset_ + spec.n * uint64_t{spec.k} * entry, digests);
  const uint64_t tree = tree_bytes(std::max<uint64_t>(spec.leaves(), uint64_t{slots} * (spec.leaves() / kGroup)));
  // Asked for before anything is taken: a request far beyond the card must not first fill it.
  const uint64_t free = context->free_bytes();
  if (slots > free / spec.bytes() || work + tree > free - slots * spec.bytes())
    throw EngineError(ErrorCode::no_memory, "the device has " + std::to_string(free) + " bytes free: too few for " +
                                                std::to_string(slots) + " products of " + std::to_string(spec.bytes()));
  work_ = Buffer(context, work);
  tree_ = Buffer(context, tree);
  slots_per_chunk_ = static_cast<uint32_t>(std::max<uint64_t>(1, kChunkBytes / spec.bytes()));
  for (uint32_t done = 0; done < slots; done += slots_per_chunk_)
    chunks_.emplace_back(context, spec.bytes() * std::min(slots_per_chunk_, slots - done));
}

CUdeviceptr CudaKept::slot(uint32_t i) const {
  if (i >= slots_) throw EngineError(ErrorCode::bad_request, "there is no slot " + std::to_string(i));
  return chunks_[i / slots_per_chunk_].at((i % slots_per_chunk_) * spec_.bytes());
}

CudaDevice::CudaDevice(CUdevice device)
    : context_(std::make_shared<Context>(device)), use_warpgroups_(context_->has_warpgroups()) {}

DeviceClaim CudaDevice::claim() {
  context_->enter();
  lanes_ = Buffer();
  const CUdevice device = context_->device();
  DeviceClaim claim;
  claim.kind = "gpu";
  char name[128] = {};
  ASSAY_CUDA_CALL(cuDeviceGetName, name, sizeof name - 1, device);
  claim.name = name;
  claim.uuid = device_uuid(device);
  size_t total = 0;
  ASSAY_CUDA_CALL(cuDeviceTotalMem, &total, device);
  claim.memory_bytes = total;
  claim.free_bytes = context_->free_bytes();
  claim.units = context_->units();
  int khz = 0;  // newer drivers may no longer say
  if (driver().cuDeviceGetAttribute(&khz, kAttributeClockKhz, device) == kCudaSuccess)
    claim.clock_mhz = static_cast<uint32_t>(khz / 1000);
  claim.compute = std::to_string(context_->compute() / 10) + "." + std::to_string(context_->compute() % 10);
  const BoardClaim board = board_claim(device);
  claim.pcie_gen = board.pcie_gen;
  claim.pcie_width = board.pcie_width;
  claim.power_limit_w = board.power_limit_w;
  claim.power_default_w = board.power_default_w;
  claim.temperature_c = board.temperature_c;
  claim.precisions = precisions_of(context_->compute());
  return claim;
}

void CudaDevice::require(Precision precision) const {
  const std::vector<Precision> has = precisions_of(context_->compute());
  if (std::find(has.begin(), has.end(), precision) == has.end())
    throw EngineError(ErrorCode::unsupported, "this card has no units for this precision");
}

std::unique_ptr<Kept> CudaDevice::keep(const GemmSpec& spec, uint32_t slots) {
  check_shape(spec);
  require(spec.precision);
  if (slots == 0) throw EngineError(ErrorCode::bad_request, "at least one product is kept");
  context_->enter();
  lanes_ = Buffer();
  return std::make_unique<CudaKept>(context_, spec, slots);
}

void CudaDevice::generate(const CudaKept& kept, const Seed& seed) {
  const GemmSpec& spec = kept.spec();
  const auto precision = static_cast<size_t>(spec.precision);
  const auto fill = [&](CUdeviceptr out, uint32_t rows, uint32_t matrix) {
    const auto blocks = static_cast<uint32_t>(uint64_t{rows} * spec.k / entries_per_block(spec.precision));
    const uint32_t grid = std::min((blocks + 255) / 256, context_->units() * 32);
    context_->launch(kGenerate[precision], grid, 256, 0, out, blocks, philox_key(seed.b), matrix);
  };
  fill(kept.a(), spec.m, uint32_t{kDomainA});
  fill(kept.b(), spec.n, uint32_t{kDomainB});
}

void CudaDevice::multiply(const CudaKept& kept, uint32_t slot, const std::atomic<bool>& stop) {
  const GemmSpec& spec = kept.spec();
  const auto precision = static_cast<size_t>(spec.precision);
  const uint32_t k_bytes = spec.k * entry_bytes(spec.precision);
  if (use_warpgroups_) {
    const WarpgroupShape shape = warpgroup_shape(spec.precision);
    const TensorMap a = operand_map(kept.a(), spec.m, k_bytes, kTileM), b = operand_map(kept.b(), spec.n, k_bytes, shape.n);
    launch_tiles(spec, shape.n, stop, [&](uint32_t first, uint32_t count) {
      context_->launch(kWarpgroups[precision], count, kWarpgroupThreads, shape.shared_bytes(), a, b, kept.slot(slot), spec.m,
                       spec.n, k_bytes, first);
    });
  } else {
    const TileShape shape = tile_shape(spec.precision, context_->compute());
    launch_tiles(spec, shape.n, stop, [&](uint32_t first, uint32_t count) {
      context_->launch(kMultiply[precision], count, kGemmThreads, shape.shared_bytes(), kept.a(), kept.b(), kept.slot(slot),
                       spec.m, spec.n, k_bytes, first);
    });
  }
}

template <typename Launch>
void CudaDevice::launch_tiles(const GemmSpec& spec, uint32_t tile_n, const std::atomic<bool>& stop, Launch launch) const {
  const uint32_t tiles = spec.m / kTileM * (spec.n / tile_n);
  const auto most = static_cast<uint32_t>(std::max(kOpsPerLaunch / (2.0 * kTileM * tile_n * spec.k), 1.0));
  for (uint32_t first = 0; first < tiles; first += most) {
    if (first > 0) context_->synchronize();  // else `stop` would be asked while everything is already queued
    throw_if(stop);
    launch(first, std::min(most, tiles - first));
  }
}

void CudaDevice::hash_round(const CudaKept& kept, uint32_t slot) {
  hash_leaves(*context_, kept.round_tree(), 0, kept.slot(slot), kept.spec().leaves());
  hash_levels(*context_, kept.round_tree());
}

Hash CudaDevice::gemm_round(Kept& kept_, uint32_t slot, const Seed& seed, const std::atomic<bool>& stop) {
  CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  throw_if(stop);
  generate(kept, seed);
  multiply(kept, slot, stop);
  throw_if(stop);
  hash_round(kept, slot);
  return read_root(*context_, kept.round_tree());
}

std::vector<Opening> CudaDevice::open_round(Kept& kept_, uint32_t slot, std::span<const uint32_t> leaves) {
  CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  hash_round(kept, slot);
  return open_tree(*context_, kept.round_tree(), kept.slot(slot), leaves, kept.work().at(), kept.work().bytes(), {});
}

// Digests of a batch of slots into one half of the workspace; their group hashes beside the digests of the next batch, which
// go to the other half: reading is bound by memory, hashing by arithmetic. Then the levels above.
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
    context_->wait_for_mark(half);  // this half's hashes of two batches ago; it also keeps `stop` within reach
    if (stop.load(std::memory_order_relaxed)) context_->synchronize();  // nothing may go on in the workspace after the throw
    throw_if(stop);
    const size_t count = std::min(batch, slots.size() - from);
    const CUdeviceptr digests = kept.work().at(half * batch * digest_bytes);
    SlotBatch of{};
    for (size_t i = 0; i < count; ++i) of.address[i] = kept.slot(slots[from + i]);
    context_->launch("mix_leaves", static_cast<uint32_t>(count * (leaves / 32)), 256, 0, of, leaves,
                     static_cast<uint32_t>(from * leaves), keys, digests);
    context_->aside_waits_for_main();
    hash_leaves_aside(*context_, tree, static_cast<uint32_t>(from * groups), digests, static_cast<uint32_t>(count * groups));
    context_->mark_aside(half);
  }
  context_->main_waits_for_aside();
  hash_levels(*context_, tree);
  return tree;
}

Hash CudaDevice::stream_pass(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) {
  context_->enter();
  throw_if(stop);
  return read_root(*context_, stream_tree(cuda_kept(kept), slots, nonce, stop));
}

std::vector<Opening> CudaDevice::open_stream(Kept& kept_, std::span<const uint32_t> slots, const Hash& nonce,
                                             std::span<const uint32_t> groups) {
  CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  const Tree tree = stream_tree(kept, slots, nonce, kNeverStop);
  const MixKeys keys = mix_keys(nonce.b);
  const uint32_t groups_per_slot = kept.spec().leaves() / kGroup;
  // The digests are long overwritten: those of an opened group are made again, into the opening itself.
  const FillLeaf fill = [&](uint32_t group, CUdeviceptr where) {
    const uint64_t within = uint64_t{group % groups_per_slot} * kGroup * kLeafBytes;
    const SlotBatch of{{kept.slot(slots[group / groups_per_slot]) + within}};
    context_->launch("mix_leaves", kGroup / 32, 256, 0, of, kGroup, group * kGroup, keys, where);
  };
  return open_tree(*context_, tree, 0, groups, kept.work().at(), kept.work().bytes(), fill);
}

void CudaDevice::run_lanes(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  check_lanes(spec);
  const uint64_t bytes = round_up(lane_bytes(spec), 256) + round_up(tree_bytes(spec.leaves()), 256) + kFmaScratchBytes;
  if (lanes_.bytes() < bytes) {
    lanes_ = Buffer();
    lanes_ = Buffer(context_, bytes);
  }
  // Whole rounds of 2^20 lanes, which fill any card of today.
  const uint64_t most = std::max<uint64_t>(kStepsPerLaunch / spec.steps, 1u << 20) & ~uint64_t{0xFFFFF};
  const char* kernel = kFma[static_cast<size_t>(spec.precision) - static_cast<size_t>(Precision::fp32)];
  for (uint64_t first = 0; first < spec.lanes; first += most) {
    if (first > 0) context_->synchronize();
    throw_if(stop);
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(spec.lanes, first + most));
    const auto from = static_cast<uint32_t>(first);
    context_->launch(kernel, (end - from + 1023) / 1024, 256, 0, philox_key(seed.b), from, end, spec.steps, lanes_.at());
  }
}

Tree CudaDevice::fma_tree(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  run_lanes(spec, seed, stop);
  const Tree tree{lanes_.at(round_up(lane_bytes(spec), 256)), spec.leaves()};
  hash_leaves(*context_, tree, 0, lanes_.at(), tree.count);
  hash_levels(*context_, tree);
  return tree;
}

Hash CudaDevice::fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
  context_->enter();
  throw_if(stop);
  return read_root(*context_, fma_tree(spec, seed, stop));
}

std::vector<Opening> CudaDevice::open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) {
  context_->enter();
  const Tree tree = fma_tree(spec, seed, kNeverStop);
  const CUdeviceptr scratch = tree.nodes + round_up(tree_bytes(tree.count), 256);
  return open_tree(*context_, tree, lanes_.at(), leaves, scratch, kFmaScratchBytes, {});
}

}  // namespace assay::cuda
