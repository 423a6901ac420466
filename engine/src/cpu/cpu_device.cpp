// The CPU backend: the reference for every kernel, threaded and tiled, with the inner loops in kernels.cpp.
// docs/hardware-proof.md §3 to §6.
#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "cpu_work.hpp"
#include "zk/cpu/cpu_proof.hpp"
#include "devices.hpp"
#include "host_info.hpp"
#include "kept_memory.hpp"
#include "kernels.hpp"
#include "memory_ledger.hpp"
#include "probe/chase.hpp"
#include "sha256_host.hpp"
#include "thread_pool.hpp"
#include "tree.hpp"

namespace assay {

namespace {

using assay_kernels::GemmKernel;
using assay_kernels::Kernels;

// A task is kTaskRows × kTaskColumns of C; its operands are used kTaskEntries (bytes of k) at a time, so that
// a panel of B stays in the first cache and the rest of the task in the second.
constexpr uint32_t kTaskRows = 128, kTaskColumns = 256, kTaskKBytes = 1024;
constexpr unsigned kTreeChunkLog2 = 8;

// Trees of the newest fma rounds, so that opening a lane runs its leaf again and not the whole round.
// Bounded; a round that was forgotten is run again.
class FmaMemory {
 public:
  void remember(const FmaSpec& spec, const Seed& seed, ChunkedTree tree) {
    const uint64_t bytes = uint64_t{spec.leaves()} * 2 * sizeof(Hash);  // all levels together
    if (bytes > kMostBytes) return;
    while (!rounds_.empty() && bytes_ + bytes > kMostBytes) {
      bytes_ -= rounds_.front().bytes;
      rounds_.pop_front();
    }
    rounds_.push_back({spec, seed, bytes, std::move(tree)});
    bytes_ += bytes;
  }
  const ChunkedTree* find(const FmaSpec& spec, const Seed& seed) const {
    for (const Round& round : rounds_)
      if (round.spec == spec && std::memcmp(round.seed.b, seed.b, sizeof(seed.b)) == 0) return &round.tree;
    return nullptr;
  }

 private:
  // Some 4000 rounds of 64 leaves; a default probe has 1500.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  struct Round {
    FmaSpec spec;
    Seed seed;
    uint64_t bytes;
    ChunkedTree tree;
  };
  std::deque<Round> rounds_;
  uint64_t bytes_ = 0;
};

// Not bound to the device that made it: any CPU device may read it.
class CpuKept final : public Kept {
 public:
  CpuKept(std::shared_ptr<MemoryLedger> ledger, uint32_t device, const GemmSpec& spec, uint32_t slots, const GemmKernel& kernel)
      : spec(spec), kernel(kernel), held_(std::move(ledger), device, bytes_to_hold(spec, slots, kernel)), touched_(slots, false),
        a_(uint64_t{spec.m} * spec.k * kernel.entry_bytes), b_(uint64_t{spec.n} * spec.k * kernel.entry_bytes),
        products_(spec.bytes() * slots), trees_(slots) {}

  const uint8_t* host_product(uint32_t slot) const override { return products_.data() + spec.bytes() * slot; }
  std::vector<const uint8_t*> products(std::span<const uint32_t> slots) const {
    std::vector<const uint8_t*> at;
    for (const uint32_t slot : slots) at.push_back(host_product(slot));
    return at;
  }
  uint8_t* product(uint32_t slot) { return products_.data() + spec.bytes() * slot; }
  uint8_t* a() { return a_.data(); }
  uint8_t* b() { return b_.data(); }
  void touch(uint32_t slot) {
    if (!operands_touched_) held_.touch(a_.bytes() + b_.bytes());
    operands_touched_ = true;
    if (!touched_[slot]) held_.touch(spec.bytes());
    touched_[slot] = true;
  }

  // Trees of the products and of the newest passes over them, so that opening a leaf hashes its chunk again
  // and not all of them.
  void remember(uint32_t slot, ChunkedTree tree) {
    trees_[slot] = std::move(tree);
    passes_.clear();  // they were over other products
  }
  const std::optional<ChunkedTree>& tree(uint32_t slot) const { return trees_[slot]; }
  const ChunkedTree& remember(const Hash& nonce, std::span<const uint32_t> slots, ChunkedTree tree) {
    if (passes_.size() >= kPasses) passes_.pop_front();
    return passes_.emplace_back(nonce, std::vector<uint32_t>(slots.begin(), slots.end()), std::move(tree)).tree;
  }
  const ChunkedTree* find(const Hash& nonce, std::span<const uint32_t> slots) const {
    for (const Pass& pass : passes_)
      if (std::memcmp(pass.nonce.b, nonce.b, sizeof nonce.b) == 0 && std::ranges::equal(pass.slots, slots)) return &pass.tree;
    return nullptr;
  }

  const GemmSpec spec;
  const GemmKernel& kernel;

 private:
  static constexpr size_t kPasses = 128;  // 8 KiB each over 256 MiB; a probe asks for about 80
  struct Pass {
    Hash nonce;
    std::vector<uint32_t> slots;
    ChunkedTree tree;
  };
  static unsigned __int128 bytes_to_hold(const GemmSpec& spec, uint32_t slots, const GemmKernel& kernel) {
    return static_cast<unsigned __int128>(spec.bytes()) * slots + (uint64_t{spec.m} + spec.n) * spec.k * kernel.entry_bytes;
  }
  HeldMemory held_;  // before the memory: nothing is mapped that does not fit
  std::vector<bool> touched_;
  bool operands_touched_ = false;
  KeptMemory a_, b_, products_;
  std::vector<std::optional<ChunkedTree>> trees_;
  std::deque<Pass> passes_;
};

class CpuDevice final : public Device, public ProbeKernels {
 public:
  // Number `number` of `count` that share the ledger.
  CpuDevice(unsigned threads, int nice, const Kernels& kernels, std::shared_ptr<MemoryLedger> ledger, uint32_t number, uint32_t count)
      : kernels_(kernels), pool_(threads, nice), ledger_(std::move(ledger)), number_(number), count_(count),
        work_(pool_, kernels_, ledger_, number_), proof_(pool_, ledger_, number_) {}

  DeviceKind kind() const override { return DeviceKind::cpu; }
  Gauge gauge() const override { return read_cpu_gauge; }
  ProbeKernels* probe_kernels() override { return this; }
  work::WorkKernels* work_kernels() override { return &work_; }
  zk::ProofKernels* proof_kernels() override { return &proof_; }

  DeviceClaim claim() override {
    const HostInfo host = read_host_info();
    DeviceClaim claim;
    claim.name = host.cpu_name;
    claim.uuid = host.machine_id.empty() ? "" : "CPU-" + host.machine_id;
    if (count_ > 1) {
      const std::string number = std::to_string(number_ + 1);
      claim.name += " (virtual " + number + " of " + std::to_string(count_) + ")";
      claim.uuid = (claim.uuid.empty() ? "CPU" : claim.uuid) + "-" + number;
    }
    claim.memory_bytes = host.ram_bytes / count_;
    claim.free_bytes = ledger_->allocatable(number_);
    claim.units = pool_.threads();
    claim.clock_mhz = host.clock_mhz;
    for (uint8_t p = 0; p < 8; ++p) claim.precisions.push_back(static_cast<Precision>(p));
    return claim;
  }

  std::unique_ptr<Kept> keep(const GemmSpec& spec, uint32_t slots) override {
    const GemmKernel& kernel = entries_per_block(spec.precision) == 16 ? kernels_.gemm8 : kernels_.gemm16;
    return std::make_unique<CpuKept>(ledger_, number_, spec, slots, kernel);
  }

  Hash gemm_round(Kept& base, uint32_t slot, const Seed& seed, const std::atomic<bool>& stop) override {
    CpuKept& kept = static_cast<CpuKept&>(base);
    const GemmSpec& spec = kept.spec;
    const GemmKernel& kernel = kept.kernel;
    throw_if(stop);
    kept.touch(slot);
    const PhiloxKey key = philox_key(seed.b);
    const uint8_t precision = static_cast<uint8_t>(spec.precision);
    const uint64_t row_bytes = uint64_t{spec.k} * kernel.entry_bytes;

    const uint32_t a_panels = spec.m / kernel.mr, b_panels = spec.n / kernel.nr;
    pool_.run(a_panels + b_panels, [&](uint64_t i) {
      if (stop.load(std::memory_order_relaxed)) return;
      const bool is_a = i < a_panels;
      const uint32_t rows = is_a ? kernel.mr : kernel.nr;
      const uint32_t row0 = static_cast<uint32_t>(is_a ? i : i - a_panels) * rows;
      kernel.pack(precision, key.k0, key.k1, is_a ? 0 : 1, spec.k, row0, rows, (is_a ? kept.a() : kept.b()) + row0 * row_bytes);
    });
    throw_if(stop);

    uint16_t* product = reinterpret_cast<uint16_t*>(kept.product(slot));
    const uint32_t task_columns = spec.n / kTaskColumns;
    // k is a multiple of 128, and so are whole runs.
    const uint32_t k_step = kTaskKBytes / kernel.entry_bytes / 128 * 128;
    pool_.run(uint64_t{spec.m / kTaskRows} * task_columns, [&](uint64_t task) {
      const uint32_t row0 = static_cast<uint32_t>(task / task_columns) * kTaskRows;
      const uint32_t column0 = static_cast<uint32_t>(task % task_columns) * kTaskColumns;
      for (uint32_t k0 = 0; k0 < spec.k; k0 += k_step) {
        if (stop.load(std::memory_order_relaxed)) return;
        const uint32_t k_count = std::min(k_step, spec.k - k0);
        for (uint32_t column = column0; column < column0 + kTaskColumns; column += kernel.nr) {
          const uint8_t* b = kept.b() + column * row_bytes + uint64_t{k0} * kernel.nr * kernel.entry_bytes;
          for (uint32_t row = row0; row < row0 + kTaskRows; row += kernel.mr) {
            const uint8_t* a = kept.a() + row * row_bytes + uint64_t{k0} * kernel.mr * kernel.entry_bytes;
            kernel.tile(a, b, k_count, k0 > 0, product + uint64_t{row} * spec.n + column, spec.n);
          }
        }
      }
    });
    throw_if(stop);
    ChunkedTree tree = product_tree(kept.product(slot), spec, stop);
    const Hash root = tree.root();
    kept.remember(slot, std::move(tree));
    return root;
  }

  std::vector<Opening> open_round(Kept& base, uint32_t slot, std::span<const uint32_t> leaves) override {
    CpuKept& kept = static_cast<CpuKept&>(base);
    const uint8_t* product = kept.product(slot);
    if (!kept.tree(slot)) throw EngineError(ErrorCode::bad_request, "there is no product in this slot");
    return kept.tree(slot)->open(pool_, leaves, [product](uint64_t leaf, uint8_t* out) {
      memcpy(out, product + leaf * kLeafBytes, kLeafBytes);
    });
  }

  Hash stream_pass(Kept& base, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) override {
    CpuKept& kept = static_cast<CpuKept&>(base);
    return kept.remember(nonce, slots, stream_tree(kept, slots, nonce, stop)).root();
  }

  std::vector<Opening> open_stream(Kept& base, std::span<const uint32_t> slots, const Hash& nonce,
                                              std::span<const uint32_t> groups) override {
    CpuKept& kept = static_cast<CpuKept&>(base);
    const ChunkedTree* known = kept.find(nonce, slots);
    const ChunkedTree& tree = known ? *known : kept.remember(nonce, slots, stream_tree(kept, slots, nonce, kNeverStop));
    return tree.open(pool_, groups, [&](uint64_t group, uint8_t* out) { group_digests(kernels_, kept, slots, nonce, group, out); });
  }

  // In one thread: a second one would only hash while this one hops, and hashes are few.
  std::vector<Label> chase(Kept& base, std::span<const uint32_t> slots, const Hash& nonce, uint32_t intervals,
                           const std::atomic<bool>& stop) override {
    const CpuKept& kept = static_cast<CpuKept&>(base);
    const std::vector<const uint8_t*> products = kept.products(slots);
    std::vector<Label> labels;
    LabelFold fold(nonce);
    Label states = fold.feed();
    while (labels.size() < intervals) {
      throw_if(stop);
      kernels_.hop(nonce.b, products.data(), static_cast<uint32_t>(products.size()), kept.spec.leaves(), states.of, kChains, nullptr);
      labels.push_back(states);
      const Label feed = fold.feed();
      for (uint32_t chain = 0; chain < kChains; ++chain) states.of[chain] ^= feed.of[chain];
      fold.add(labels.back());
    }
    return labels;
  }

  std::vector<uint64_t> hop_targets(Kept& base, std::span<const uint32_t> slots, const Hash& nonce,
                                    std::span<const uint64_t> starts) override {
    const CpuKept& kept = static_cast<CpuKept&>(base);
    const std::vector<const uint8_t*> products = kept.products(slots);
    std::vector<uint64_t> targets(starts.size() * kIntervalHops);
    for (size_t i = 0; i < starts.size(); ++i) {
      uint64_t state = starts[i];
      kernels_.hop(nonce.b, products.data(), static_cast<uint32_t>(products.size()), kept.spec.leaves(), &state, 1,
                   targets.data() + i * kIntervalHops);
    }
    return targets;
  }

  Hash fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) override {
    ChunkedTree tree = fma_tree(spec, seed, stop);
    const Hash root = tree.root();
    fma_memory_.remember(spec, seed, std::move(tree));
    return root;
  }

  std::vector<Opening> open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) override {
    const LeafBytes bytes = [&](uint64_t leaf, uint8_t* out) { fma_leaf(spec, seed, leaf, out, kNeverStop); };
    if (const ChunkedTree* tree = fma_memory_.find(spec, seed)) return tree->open(pool_, leaves, bytes);
    return fma_tree(spec, seed, kNeverStop).open(pool_, leaves, bytes);
  }

 private:
  ChunkedTree product_tree(const uint8_t* product, const GemmSpec& spec, const std::atomic<bool>& stop) {
    return ChunkedTree(
        pool_, spec.leaves(), kTreeChunkLog2,
        [product](uint64_t first, uint32_t count, Hash* out) {
          for (uint32_t i = 0; i < count; ++i) out[i] = leaf_hash(product + (first + i) * kLeafBytes);
        },
        stop);
  }

  // The 128 digests of a group lie in one slot: leaves a round are a multiple of 128.
  static void group_digests(const Kernels& kernels, CpuKept& kept, std::span<const uint32_t> slots, const Hash& nonce, uint64_t group,
                            uint8_t* out) {
    const uint64_t first = group * 128, per_round = kept.spec.leaves();
    const uint8_t* leaves = kept.product(slots[first / per_round]) + first % per_round * kLeafBytes;
    uint32_t digests[256];
    kernels.mix(nonce.b, leaves, static_cast<uint32_t>(first), 128, digests);
    memcpy(out, digests, sizeof digests);
  }

  ChunkedTree stream_tree(CpuKept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                     const std::atomic<bool>& stop) {
    return ChunkedTree(
        pool_, uint64_t{kept.spec.leaves()} * slots.size() / 128, 4,
        // It outlives this call, in what it goes over.
        [&kernels = kernels_, &kept, slots = std::vector<uint32_t>(slots.begin(), slots.end()), nonce](uint64_t first, uint32_t count,
                                                                                                        Hash* out) {
          for (uint32_t i = 0; i < count; ++i) {
            uint8_t group[kLeafBytes];
            group_digests(kernels, kept, slots, nonce, first + i, group);
            out[i] = leaf_hash(group);
          }
        },
        stop);
  }

  void fma_leaf(const FmaSpec& spec, const Seed& seed, uint64_t leaf, uint8_t* out, const std::atomic<bool>& stop) {
    const PhiloxKey key = philox_key(seed.b);
    const uint32_t lanes = spec.lanes_per_leaf();
    kernels_.fma(static_cast<uint8_t>(spec.precision), key.k0, key.k1, static_cast<uint32_t>(leaf) * lanes, lanes, spec.steps, out,
                 [](const void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed); }, &stop);
  }

  // Every leaf hash is kept (at most 64 MiB, for 2^28 lanes of fp64): lanes cost as much when run again.
  ChunkedTree fma_tree(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) {
    return ChunkedTree(
        pool_, spec.leaves(), 0,
        [this, spec, seed, &stop](uint64_t first, uint32_t count, Hash* out) {
          for (uint32_t i = 0; i < count; ++i) {
            if (stop.load(std::memory_order_relaxed)) return;
            uint8_t bytes[kLeafBytes] = {};  // a stopped kernel leaves it as it is
            fma_leaf(spec, seed, first + i, bytes, stop);
            out[i] = leaf_hash(bytes);
          }
        },
        stop);
  }

  const Kernels& kernels_;
  ThreadPool pool_;
  FmaMemory fma_memory_;
  std::shared_ptr<MemoryLedger> ledger_;
  uint32_t number_, count_;
  CpuWork work_;
  zk::CpuProof proof_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> make_cpu_devices(unsigned threads, unsigned count, const Kernels* kernels, int nice) {
  if (kernels == nullptr) kernels = &assay_kernels::best_kernels();
  const unsigned each = std::max(1u, (threads == 0 ? read_usable_cores() : threads) / count);
  const auto ledger = std::make_shared<MemoryLedger>(count);
  std::vector<std::unique_ptr<Device>> devices;
  for (uint32_t i = 0; i < count; ++i) devices.push_back(std::make_unique<CpuDevice>(each, nice, *kernels, ledger, i, count));
  return devices;
}

}  // namespace assay
