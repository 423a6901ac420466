// See cuda_device.hpp: memory, which is plain cuMemAlloc, and products.
#include "cuda_device.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/sha256_host.hpp"
#include "kernels.hpp"
#include "launch_shape.hpp"

namespace assay::cuda {
namespace {

// Small products share allocations, which the driver rounds up to 2 MiB.
constexpr uint64_t kChunkBytes = uint64_t{256} << 20;
// Longest launch of a product: about 40 ms at 1000 TOPS, half a second on the slowest card with tensor cores.
constexpr double kOpsPerLaunch = 4e13;

constexpr uint64_t kPassesBytes = uint64_t{64} << 20;

void check_shape(const GemmSpec& spec) {
  const bool small_k = spec.precision != Precision::int8 && spec.precision != Precision::fp8;
  const auto fits = [](uint32_t x, uint32_t multiple, uint32_t most) { return x > 0 && x % multiple == 0 && x <= most; };
  if (!is_gemm_precision(spec.precision) || !fits(spec.m, 128, 65536) || !fits(spec.n, 512, 65536) ||
      !fits(spec.k, 128, small_k ? 16384 : 65536))
    throw EngineError(ErrorCode::bad_request, "no such product: m and k are multiples of 128, n of 512, within the limits");
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

}  // namespace

CudaKept::CudaKept(std::shared_ptr<const Context> context, const GemmSpec& spec, uint32_t slots)
    : context_(context), spec_(spec), slots_(slots) {
  const uint64_t entry = entry_bytes(spec.precision);
  b_offset_ = spec.m * uint64_t{spec.k} * entry;
  // Operands of a small k are small; room for digests of some slots keeps a pass from waiting slot by slot.
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
  tops_.resize(slots);
}

const TreeTop* CudaKept::find_pass(const Hash& nonce, std::span<const uint32_t> slots) const {
  for (const Pass& pass : passes_)
    if (std::memcmp(pass.nonce.b, nonce.b, sizeof nonce.b) == 0 && std::equal(slots.begin(), slots.end(), pass.slots.begin(), pass.slots.end()))
      return &pass.top;
  return nullptr;
}

const TreeTop& CudaKept::remember_pass(const Hash& nonce, std::span<const uint32_t> slots, TreeTop top) {
  const size_t most = std::max<size_t>(1, kPassesBytes / (top.nodes.size() * kNodeBytes));
  while (passes_.size() >= most) passes_.pop_front();
  return passes_.emplace_back(nonce, std::vector<uint32_t>(slots.begin(), slots.end()), std::move(top)).top;
}

CUdeviceptr CudaKept::slot(uint32_t i) const {
  if (i >= slots_) throw EngineError(ErrorCode::bad_request, "there is no slot " + std::to_string(i));
  return chunks_[i / slots_per_chunk_].at((i % slots_per_chunk_) * spec_.bytes());
}

CudaDevice::CudaDevice(CUdevice device, Context::Which which)
    : context_(std::make_shared<Context>(device, which)), proof_(context_), use_warpgroups_(context_->has_warpgroups()) {}

void CudaDevice::require(Precision precision) const {
  const std::vector<Precision> has = precisions();
  if (std::find(has.begin(), has.end(), precision) == has.end())
    throw EngineError(ErrorCode::unsupported, "this card has no units for this precision");
}

std::unique_ptr<Kept> CudaDevice::keep(const GemmSpec& spec, uint32_t slots) {
  check_shape(spec);
  require(spec.precision);
  if (slots == 0) throw EngineError(ErrorCode::bad_request, "at least one product is kept");
  context_->enter();
  lanes_ = Buffer();
  peer_.reset();
  return std::make_unique<CudaKept>(context_, spec, slots);
}

work::WorkKernels* CudaDevice::work_kernels() {
  context_->enter();
  lanes_ = Buffer();
  peer_.reset();
  if (!work_) work_ = std::make_unique<CudaWork>(context_);
  return work_.get();
}

void CudaDevice::generate(const CudaKept& kept, const Seed& seed) {
  const GemmSpec& spec = kept.spec();
  const auto precision = static_cast<size_t>(spec.precision);
  const auto fill = [&](CUdeviceptr out, uint32_t rows, uint32_t matrix) {
    const auto blocks = static_cast<uint32_t>(uint64_t{rows} * spec.k / entries_per_block(spec.precision));
    const uint32_t grid = std::min((blocks + 255) / 256, context_->units() * 32);
    context_->launch({kGenerate[precision], grid, 256}, out, blocks, philox_key(seed.b), matrix);
  };
  fill(kept.a(), spec.m, uint32_t{kDomainA});
  fill(kept.b(), spec.n, uint32_t{kDomainB});
}

void CudaDevice::multiply(const CudaKept& kept, uint32_t slot, const std::atomic<bool>& stop) {
  if (use_warpgroups_) return multiply_by_warpgroups(kept, slot, false, stop);
  const GemmSpec& spec = kept.spec();
  const auto precision = static_cast<size_t>(spec.precision);
  const TileShape shape = tile_shape(spec.precision, context_->compute());
  launch_tiles(spec, shape.n, stop, [&](uint32_t first, uint32_t count) {
    context_->launch({kMultiply[precision], count, kGemmThreads, shape.shared_bytes()}, kept.a(), kept.b(), kept.slot(slot), spec.m,
                     spec.n, spec.k * entry_bytes(spec.precision), first);
  });
}

// One block a unit, each making pair after pair. Leaves of a block's last pair would be hashed with nothing
// beside them: those are left to a launch of their own, which spreads them.
void CudaDevice::multiply_by_warpgroups(const CudaKept& kept, uint32_t slot, bool hash, const std::atomic<bool>& stop) {
  const GemmSpec& spec = kept.spec();
  const char* kernel = kWarpgroups[static_cast<size_t>(spec.precision)];
  const uint32_t k_bytes = spec.k * entry_bytes(spec.precision);
  const TensorMap a = operand_map(kept.a(), spec.m, k_bytes, kTileM), b = operand_map(kept.b(), spec.n, k_bytes, kTileM);
  const bool clusters = spec.m / kTileM % 2 == 0;  // tiles of a cluster lie one below the other
  // Whole columns of a band at a time, if few units idle then: so the blocks that share rows start together.
  const uint32_t even = context_->units() & ~1u, whole = even / kRasterRows * kRasterRows;
  const uint32_t most = whole + whole / 32 >= even ? whole : clusters ? even : context_->units();
  launch_tiles(spec, kPairN, stop, [&](uint32_t first, uint32_t count) {
    const uint32_t blocks = std::min(count, most), last = (count - 1) / blocks * blocks;
    const PairRange range{first, first + count, hash ? first + last : first, met_};
    const Launch what{kernel, blocks, kWarpgroupThreads, kWarpgroupSharedBytes, clusters ? Where::main_in_pairs : Where::main};
    context_->launch(what, a, b, kept.slot(slot), spec.m, spec.n, k_bytes, range, kept.round_tree().nodes, tag_midstate(Tag::leaf));
    met_ += meetings(count, blocks, k_bytes) * blocks;
    if (hash)
      context_->launch({"hash_pairs", range.end - range.hash_end, kTileM}, kept.slot(slot), spec.m, spec.n, range.hash_end,
                       kept.round_tree().nodes, tag_midstate(Tag::leaf));
  });
}

template <typename Launch>
void CudaDevice::launch_tiles(const GemmSpec& spec, uint32_t tile_n, const std::atomic<bool>& stop, Launch launch) const {
  const uint32_t tiles = spec.m / kTileM * (spec.n / tile_n);
  const auto most = static_cast<uint32_t>(std::max(kOpsPerLaunch / (2.0 * kTileM * tile_n * spec.k), 2.0)) & ~1u;
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
  if (use_warpgroups_ && kept.spec().k * entry_bytes(kept.spec().precision) >= kHashKBytes) {
    multiply_by_warpgroups(kept, slot, true, stop);
  } else {
    multiply(kept, slot, stop);
    throw_if(stop);
    hash_leaves(*context_, kept.round_tree(), 0, kept.slot(slot), kept.spec().leaves());
  }
  throw_if(stop);
  hash_levels(*context_, kept.round_tree());
  kept.forget_passes();
  return (kept.top(slot) = read_top(*context_, kept.round_tree())).root();
}

std::vector<Opening> CudaDevice::open_round(Kept& kept_, uint32_t slot, std::span<const uint32_t> leaves) {
  CudaKept& kept = cuda_kept(kept_);
  context_->enter();
  const auto chunk_at = [&](uint32_t first, uint32_t, size_t) { return kept.slot(slot) + uint64_t{first} * kLeafBytes; };
  return open_leaves(*context_, kept.top(slot), leaves, {kept.work().at(), kept.work().bytes()}, chunk_at);
}

}  // namespace assay::cuda
