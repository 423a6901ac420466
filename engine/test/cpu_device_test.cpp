// The CPU device against the definitions in core/, one entry, digest and lane at a time, on every instruction
// set it has here. Then virtual devices, and the disk against it. Usage: cpu_device_test FOLDER_OF_VECTORS
// FOLDER_ON_A_DISK
#include <numeric>

#include "kit/check.hpp"
#include "core/recurrence.hpp"
#include "cpu/kernels.hpp"
#include "cpu/sha256_host.hpp"
#include "devices.hpp"
#include "kit/paths.hpp"
#include "probe/chase.hpp"
#include "probe/product_copies.hpp"
#include "kit/vector_file.hpp"

using namespace assay;
using namespace assay_test;

namespace {

const std::atomic<bool> kGo{false};

std::vector<const assay_kernels::Kernels*> kernel_sets() {
  const assay_kernels::Kernels* sets[assay_kernels::kMaxSets];
  const size_t count = assay_kernels::usable_kernels(sets);
  return {sets, sets + count};
}

std::string name(const GemmSpec& s) {
  return std::string(kPrecisionNames[static_cast<int>(s.precision)]) + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
         std::to_string(s.k);
}

// Three nested loops over entries made one by one, row after row as the leaves want them.
std::vector<std::vector<uint8_t>> naive_product(const GemmSpec& spec, const Seed& seed) {
  const PhiloxKey key = philox_key(seed.b);
  const auto matrix = [&](uint32_t which, uint32_t rows) {
    std::vector<int32_t> m(size_t{rows} * spec.k);
    for (size_t i = 0; i < m.size(); ++i) m[i] = matrix_entry(spec.precision, key, which, i);
    return m;
  };
  const std::vector<int32_t> a = matrix(kDomainA, spec.m), b = matrix(kDomainB, spec.n);
  std::vector<std::vector<uint8_t>> leaves(spec.leaves(), std::vector<uint8_t>(1024));
  for (uint32_t row = 0; row < spec.m; ++row) {
    for (uint32_t column = 0; column < spec.n; ++column) {
      int64_t sum = 0;
      for (uint32_t k = 0; k < spec.k; ++k) sum += int64_t{a[size_t{row} * spec.k + k]} * b[size_t{column} * spec.k + k];
      uint8_t* at = leaves[size_t{row} * (spec.n / 512) + column / 512].data() + 2 * (column % 512);
      at[0] = static_cast<uint8_t>(sum);
      at[1] = static_cast<uint8_t>(sum >> 8);
    }
  }
  return leaves;
}

std::vector<uint32_t> first_numbers(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void test_gemm(ProbeKernels& device, const std::string& set, const GemmSpec& spec, const std::vector<std::vector<uint8_t>>& want) {
  auto kept = device.keep(spec, 2);
  const std::string what = "gemm " + name(spec) + " on " + set;
  const Seed seed = seed_of(spec.m + spec.k);
  const Hash root = device.gemm_round(*kept, 1, seed, kGo);
  check(same(root, reference_root(want)), what + ": root");
  const auto openings = device.open_round(*kept, 1, first_numbers(spec.leaves()));
  unsigned wrong = 0, astray = 0;
  for (const Opening& o : openings) {
    wrong += o.leaf != want[o.index];
    if (o.index % 37 == 0) astray += !leads_to(o, spec.leaves(), root);
  }
  check(openings.size() == spec.leaves() && wrong == 0, what + ": leaves");
  check(astray == 0, what + ": paths");
  check(!same(device.gemm_round(*kept, 0, seed_of(spec.m + spec.k + 1), kGo), root), what + ": another seed, another root");
  check(same(device.gemm_round(*kept, 0, seed, kGo), root), what + ": again, in another slot");
}

// Shapes beyond what a naive loop does in time: single elements of opened leaves.
void test_gemm_elements(ProbeKernels& device, const std::string& set, const GemmSpec& spec) {
  auto kept = device.keep(spec, 1);
  const Seed seed = seed_of(spec.n + spec.k);
  const PhiloxKey key = philox_key(seed.b);
  const Hash root = device.gemm_round(*kept, 0, seed, kGo);
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < 24; ++i) places.push_back(i * 2654435761u % spec.leaves());
  unsigned wrong = 0;
  for (const Opening& o : device.open_round(*kept, 0, places)) {
    wrong += !leads_to(o, spec.leaves(), root);
    for (const uint32_t in_leaf : {0u, 511u, o.index % 512}) {
      const uint64_t row = o.index / (spec.n / 512), column = o.index % (spec.n / 512) * 512 + in_leaf;
      int64_t sum = 0;
      for (uint32_t k = 0; k < spec.k; ++k) {
        sum += int64_t{matrix_entry(spec.precision, key, kDomainA, row * spec.k + k)} *
               matrix_entry(spec.precision, key, kDomainB, column * spec.k + k);
      }
      wrong += static_cast<uint16_t>(sum) != (o.leaf[2 * in_leaf] | o.leaf[2 * in_leaf + 1] << 8);
    }
  }
  check(wrong == 0, "gemm " + name(spec) + " on " + set + ": single elements");
}

void test_stream(ProbeKernels& device, const std::string& set) {
  const GemmSpec spec{Precision::int8, 384, 1024, 256};
  auto kept = device.keep(spec, 3);
  std::vector<std::vector<uint8_t>> products[3];
  for (uint32_t slot = 0; slot < 3; ++slot) {
    device.gemm_round(*kept, slot, seed_of(70 + slot), kGo);
    for (Opening& o : device.open_round(*kept, slot, first_numbers(spec.leaves()))) products[slot].push_back(std::move(o.leaf));
  }
  const std::vector<uint32_t> order = {2, 0};  // as a ring would have it: the oldest first
  const Hash nonce = seed_of(99);
  const MixKeys keys = mix_keys(nonce.b);
  std::vector<std::vector<uint8_t>> groups;
  uint32_t kept_leaf = 0;
  for (const uint32_t slot : order) {
    for (const auto& leaf : products[slot]) {
      uint32_t words[256];
      memcpy(words, leaf.data(), 1024);
      const Digest d = mix_leaf(keys, words, kept_leaf);
      if (kept_leaf % 128 == 0) groups.emplace_back(1024);
      memcpy(groups.back().data() + 8 * (kept_leaf % 128), &d, 8);
      ++kept_leaf;
    }
  }
  const Hash root = device.stream_pass(*kept, order, nonce, kGo);
  check(same(root, reference_root(groups)), "stream on " + set + ": root");
  const auto openings = device.open_stream(*kept, order, nonce, first_numbers(static_cast<uint32_t>(groups.size())));
  unsigned wrong = 0;
  for (const Opening& o : openings) wrong += o.leaf != groups[o.index] || !leads_to(o, groups.size(), root);
  check(wrong == 0 && openings.size() == groups.size(), "stream on " + set + ": openings");
  const std::vector<uint32_t> turned = {0, 2};
  check(!same(device.stream_pass(*kept, turned, nonce, kGo), root), "stream on " + set + ": the order of rounds counts");
  check(!same(device.stream_pass(*kept, order, seed_of(98), kGo), root), "stream on " + set + ": the nonce counts");
}

template <typename Action>
ErrorCode code_of(Action action) {
  try {
    action();
  } catch (const EngineError& e) {
    return e.code();
  }
  return static_cast<ErrorCode>(0);
}

// Virtual devices: one reads what the other keeps; each has its share of the memory, and no more.
void test_virtual_devices() {
  const auto devices = make_cpu_devices(3, 3);
  const auto single = make_cpu_device(3);
  ProbeKernels &first = *devices[0]->probe_kernels(), &alone = *single->probe_kernels();
  const GemmSpec spec{Precision::int8, 256, 1024, 256};
  auto kept = first.keep(spec, 2), own = alone.keep(spec, 2);
  for (uint32_t slot = 0; slot < 2; ++slot) {
    first.gemm_round(*kept, slot, seed_of(slot), kGo);
    alone.gemm_round(*own, slot, seed_of(slot), kGo);
  }
  const std::vector<uint32_t> order = {1, 0}, turned = {0, 1};
  const Hash want = alone.stream_pass(*own, order, seed_of(9), kGo);
  for (const auto& device : devices) {
    check(same(device->probe_kernels()->stream_pass(*kept, order, seed_of(9), kGo), want), "a virtual device reads its peer");
    check(!same(device->probe_kernels()->stream_pass(*kept, turned, seed_of(9), kGo), want), "in the order given");
    check(device->claim().units == 1 && device->kind() == DeviceKind::cpu, "one thread each of three");
  }
  check(devices[1]->claim().uuid != devices[2]->claim().uuid, "virtual devices have uuids of their own");

  // Nothing of this is touched, so nothing is taken from the system.
  const uint64_t share = devices[1]->claim().free_bytes, whole = single->claim().free_bytes;
  check(share > whole / 4 && share < whole / 2, "a third of the memory each");
  const GemmSpec large{Precision::int8, 1024, 1024, 128};
  const auto slots_in = [&](uint64_t bytes) { return static_cast<uint32_t>(bytes / large.bytes()); };
  check(code_of([&] { devices[1]->probe_kernels()->keep(large, slots_in(share / 10 * 11)); }) == ErrorCode::no_memory, "no device takes more than its share");
  std::vector<std::unique_ptr<Kept>> all;
  for (const auto& device : devices) all.push_back(device->probe_kernels()->keep(large, slots_in(share / 10 * 9)));
  check(all.size() == 3, "all of them filled at once fit");
  check(code_of([&] { devices[2]->probe_kernels()->keep(large, slots_in(share / 5)); }) == ErrorCode::no_memory, "and are full then");
  all.pop_back();
  check(devices[2]->probe_kernels()->keep(large, slots_in(share / 2)) != nullptr, "what is freed can be taken again");
}

// Copies against passes over memory, with products of one group, of an odd number of groups, and of several
// blocks.
void test_disk(const std::string& folder) {
  std::string why;
  const auto room = open_disk_room(folder, uint64_t{1} << 30, why);
  const auto found = room ? make_disk(room) : nullptr;
  if (!check(found != nullptr && found->product_copies() != nullptr, "a disk under the build: " + why)) return;
  ProductCopies& disk = *found->product_copies();
  check(open_disk_room("/proc/self", UINT64_MAX, why) == nullptr && !why.empty(), "no disk under /proc, and a reason");
  const auto processor = make_cpu_device(2);
  ProbeKernels& cpu = *processor->probe_kernels();
  for (const GemmSpec& spec : {GemmSpec{Precision::int8, 128, 512, 128}, GemmSpec{Precision::int8, 384, 512, 128},
                               GemmSpec{Precision::fp16, 1024, 2560, 128}}) {
    auto kept = cpu.keep(spec, 5);
    std::vector<const uint8_t*> products;
    const std::vector<uint32_t> order = {3, 4, 0, 1, 2};
    for (uint32_t slot = 0; slot < 5; ++slot) cpu.gemm_round(*kept, slot, seed_of(slot), kGo);
    for (const uint32_t slot : order) products.push_back(kept->host_product(slot));
    Copied copied = disk.copy_products(spec, products, seed_of(20), kGo);
    check(same(copied.root, cpu.stream_pass(*kept, order, seed_of(20), kGo)), "a copy's digests, " + name(spec));
    // The file, not the memory: the products are overwritten under it.
    const Hash want = cpu.stream_pass(*kept, order, seed_of(21), kGo), last = cpu.stream_pass(*kept, std::vector<uint32_t>{1, 2}, seed_of(21), kGo);
    for (uint32_t slot = 0; slot < 5; ++slot) cpu.gemm_round(*kept, slot, seed_of(100 + slot), kGo);
    check(same(disk.stream_copy(*copied.copy, 5, seed_of(21), kGo), want), "a pass over the file, " + name(spec));
    check(same(disk.stream_copy(*copied.copy, 2, seed_of(21), kGo), last), "a pass over its end, " + name(spec));
    check(!same(disk.stream_copy(*copied.copy, 5, seed_of(22), kGo), want), "the nonce counts, " + name(spec));
    check(code_of([&] { disk.stream_copy(*copied.copy, 6, seed_of(21), kGo); }) == ErrorCode::bad_request, "not more than was copied");
    const std::atomic<bool> stop{true};
    check(code_of([&] { disk.copy_products(spec, products, seed_of(20), stop); }) == ErrorCode::cancelled, "a stopped copy is cancelled");
    check(code_of([&] { disk.stream_copy(*copied.copy, 5, seed_of(20), stop); }) == ErrorCode::cancelled, "a stopped pass is cancelled");
  }
  const uint64_t before = room->written();
  room->charge((uint64_t{1} << 30) - before);
  check(room->written() == uint64_t{1} << 30 && code_of([&] { room->charge(1); }) == ErrorCode::no_memory, "what the owner allows to be written, to the byte");
  check(code_of([&] { room->charge(UINT64_MAX); }) == ErrorCode::no_memory && room->written() == uint64_t{1} << 30, "and no sum that runs over");
  const GemmSpec huge{Precision::int8, 65536, 65536, 128};
  const std::vector<const uint8_t*> many(1u << 20, nullptr);  // 8 PiB, refused before anything is read
  check(code_of([&] { disk.copy_products(huge, many, seed_of(1), kGo); }) == ErrorCode::no_memory, "8 PiB do not fit the disk");
  check(found->probe_kernels() == nullptr, "a disk keeps no products");
  check(code_of([&] { probe_kernels_of(*found); }) == ErrorCode::unsupported, "and says so when asked");
  check(processor->product_copies() == nullptr, "a CPU holds no copies");
}

void test_fma(ProbeKernels& device, const std::string& set) {
  for (const Precision p : {Precision::fp32, Precision::fp64, Precision::int32}) {
    const FmaSpec spec{p, 256 * 7, 1536};
    const Seed seed = seed_of(40 + static_cast<uint32_t>(p));
    const PhiloxKey key = philox_key(seed.b);
    std::vector<std::vector<uint8_t>> leaves(spec.leaves(), std::vector<uint8_t>(1024));
    const uint32_t size = 1024 / spec.lanes_per_leaf();
    for (uint32_t lane = 0; lane < spec.lanes; ++lane) {
      const uint64_t bits = p == Precision::fp64   ? run_lane<LaneF64>(key, lane, spec.steps)
                            : p == Precision::fp32 ? run_lane<LaneF32>(key, lane, spec.steps)
                                                   : run_lane<LaneI32>(key, lane, spec.steps);
      memcpy(leaves[lane / spec.lanes_per_leaf()].data() + lane % spec.lanes_per_leaf() * size, &bits, size);
    }
    const std::string what = std::string("fma ") + kPrecisionNames[static_cast<int>(p)] + " on " + set;
    const Hash root = device.fma_round(spec, seed, kGo);
    check(same(root, reference_root(leaves)), what + ": root");
    unsigned wrong = 0;
    for (const Opening& o : device.open_fma(spec, seed, first_numbers(spec.leaves())))
      wrong += o.leaf != leaves[o.index] || !leads_to(o, spec.leaves(), root);
    check(wrong == 0, what + ": openings");
    check(!same(device.fma_round(FmaSpec{p, spec.lanes, 1024}, seed, kGo), root), what + ": the number of steps counts");
  }
}

// A chase of the vectors: labels, root, and where an interval's hops went; and all starts against the labels.
void test_chase(ProbeKernels& device, const std::string& set, const std::string& folder) {
  for (const Row& r : read_vectors(folder, "chase")) {
    const GemmSpec spec{precision_named(r.text("precision")), r.u32("m"), r.u32("n"), r.u32("k")};
    const uint32_t rounds = r.u32("rounds"), keep = r.u32("keep"), intervals = r.u32("intervals"), leaves = spec.leaves();
    const std::string what = "chase.json " + name(spec) + " on " + set;
    auto kept = device.keep(spec, keep);
    Seed seed = hash_from_hex(r.text("seed"));
    for (uint32_t round = 0; round < rounds; ++round) seed = chained_hash(Tag::seed, seed, device.gemm_round(*kept, round % keep, seed, kGo));
    std::vector<uint32_t> slots;
    for (uint32_t round = rounds - keep; round < rounds; ++round) slots.push_back(round % keep);
    const Hash nonce = hash_from_hex(r.text("nonce"));
    const std::vector<Label> labels = device.chase(*kept, slots, nonce, intervals, kGo);
    if (!check(labels.size() == intervals, what + ": as many labels as intervals")) continue;
    check(to_hex(reinterpret_cast<const uint8_t*>(labels.data()), 32 * labels.size()) == r.text("labels"), what + ": labels");
    const Chase chase(keep, nonce, labels);
    check(to_hex(chase.root().b, 32) == r.text("root"), what + ": root");
    std::vector<uint64_t> starts;
    for (uint32_t interval = 0; interval < intervals; ++interval) starts.push_back(chase.start(interval).of[r.u32("chain")]);
    const std::vector<uint64_t> targets = device.hop_targets(*kept, slots, nonce, starts);
    std::string places;
    for (uint32_t hop = 0; hop < kIntervalHops; ++hop) {
      const uint64_t q = targets[r.u32("interval") * kIntervalHops + hop];
      if (hop > 0) places += ';';
      places += std::to_string(rounds - keep + q / leaves) + ',' + std::to_string(q % leaves);
    }
    check(places == r.text("places"), what + ": where the hops went");
    const std::atomic<bool> stop{true};
    check(code_of([&] { device.chase(*kept, slots, nonce, intervals, stop); }) == ErrorCode::cancelled, what + ": stopped");
    if (keep < 2) continue;
    const std::vector<uint32_t> turned = {slots[1], slots[0]};
    check(device.chase(*kept, turned, nonce, 2, kGo)[0].of[0] != labels[0].of[0], what + ": the order of rounds counts");
  }
}

void test_refusals(ProbeKernels& device) {
  const GemmSpec huge{Precision::int8, 65536, 65536, 128};
  check(code_of([&] { device.keep(huge, 1u << 20); }) == ErrorCode::no_memory, "8 PiB of products are refused");
  const GemmSpec spec{Precision::int8, 1024, 1024, 1024};
  auto kept = device.keep(spec, 1);
  const std::atomic<bool> stop{true};
  check(code_of([&] { device.gemm_round(*kept, 0, seed_of(1), stop); }) == ErrorCode::cancelled, "a stopped gemm is cancelled");
  check(code_of([&] { device.fma_round({Precision::fp32, 1u << 28, 1u << 20}, seed_of(1), stop); }) == ErrorCode::cancelled,
        "a stopped fma is cancelled");
  const std::vector<uint32_t> slots = {0};
  device.gemm_round(*kept, 0, seed_of(1), kGo);
  check(code_of([&] { device.stream_pass(*kept, slots, seed_of(2), stop); }) == ErrorCode::cancelled, "a stopped stream is cancelled");
}

void test_vectors(ProbeKernels& device, const std::string& set, const std::string& folder) {
  for (const Row& r : read_vectors(folder, "gemm")) {
    const GemmSpec spec{precision_named(r.text("precision")), r.u32("m"), r.u32("n"), r.u32("k")};
    const Seed seed = hash_from_hex(r.text("seed"));
    auto kept = device.keep(spec, 1);
    const Hash root = device.gemm_round(*kept, 0, seed, kGo);
    check(to_hex(root.b, 32) == r.text("root"), "gemm.json " + name(spec) + " on " + set);
    check(to_hex(chained_hash(Tag::seed, seed, root).b, 32) == r.text("nextSeed"), "gemm.json: next seed");
  }
  for (const Row& r : read_vectors(folder, "gemm-elements")) {
    const GemmSpec spec{precision_named(r.text("precision")), r.u32("m"), r.u32("n"), r.u32("k")};
    auto kept = device.keep(spec, 1);
    device.gemm_round(*kept, 0, hash_from_hex(r.text("seed")), kGo);
    const uint32_t column = r.u32("col"), leaf = r.u32("row") * (spec.n / 512) + column / 512;
    const auto opened = device.open_round(*kept, 0, std::vector<uint32_t>{leaf});
    const uint8_t* at = opened[0].leaf.data() + 2 * (column % 512);
    check((at[0] | at[1] << 8) == r.number("value"), "gemm-elements.json " + name(spec) + " on " + set);
  }
  for (const Row& r : read_vectors(folder, "stream")) {
    const GemmSpec spec{precision_named(r.text("precision")), r.u32("m"), r.u32("n"), r.u32("k")};
    const uint32_t rounds = r.u32("rounds"), keep = r.u32("keep");
    auto kept = device.keep(spec, keep);
    Seed seed = hash_from_hex(r.text("seed"));
    for (uint32_t round = 0; round < rounds; ++round)
      seed = chained_hash(Tag::seed, seed, device.gemm_round(*kept, round % keep, seed, kGo));
    std::vector<uint32_t> slots;
    for (uint32_t round = rounds - keep; round < rounds; ++round) slots.push_back(round % keep);
    const Hash nonce = hash_from_hex(r.text("nonce")), root = device.stream_pass(*kept, slots, nonce, kGo);
    check(to_hex(root.b, 32) == r.text("root"), "stream.json " + name(spec) + " on " + set);
    check(to_hex(chained_hash(Tag::nonce, nonce, root).b, 32) == r.text("nextNonce"), "stream.json: next nonce");
  }
  for (const Row& r : read_vectors(folder, "fma-round")) {
    const FmaSpec spec{precision_named(r.text("precision")), r.u32("lanes"), r.u32("steps")};
    const Seed seed = hash_from_hex(r.text("seed"));
    const Hash root = device.fma_round(spec, seed, kGo);
    check(to_hex(root.b, 32) == r.text("root"), "fma-round.json " + r.text("precision") + " on " + set);
    check(to_hex(chained_hash(Tag::seed, seed, root).b, 32) == r.text("nextSeed"), "fma-round.json: next seed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::runtime_error("usage: cpu_device_test FOLDER_OF_VECTORS FOLDER_ON_A_DISK");
    std::vector<std::unique_ptr<Device>> devices;
    const auto sets = kernel_sets();
    for (const auto* set : sets) {
      printf("instruction set %s\n", set->name);
      devices.push_back(make_cpu_device(2, set));
    }
    for (uint8_t p = 0; p < 5; ++p) {
      const GemmSpec spec{static_cast<Precision>(p), 384, 1536, 640};
      const auto want = naive_product(spec, seed_of(spec.m + spec.k));
      const GemmSpec small{static_cast<Precision>(p), 128, 512, 128};
      const auto want_small = naive_product(small, seed_of(small.m + small.k));
      for (size_t i = 0; i < sets.size(); ++i) {
        test_gemm(*devices[i]->probe_kernels(), sets[i]->name, spec, want);
        test_gemm(*devices[i]->probe_kernels(), sets[i]->name, small, want_small);
        test_gemm_elements(*devices[i]->probe_kernels(), sets[i]->name, {static_cast<Precision>(p), 256, 1024, p < 2 ? 8320u : 4224u});
      }
    }
    for (size_t i = 0; i < sets.size(); ++i) {
      test_stream(*devices[i]->probe_kernels(), sets[i]->name);
      test_fma(*devices[i]->probe_kernels(), sets[i]->name);
      test_vectors(*devices[i]->probe_kernels(), sets[i]->name, argv[1]);
      test_chase(*devices[i]->probe_kernels(), sets[i]->name, argv[1]);
    }
    test_refusals(*devices.back()->probe_kernels());
    test_virtual_devices();
    test_disk(argv[2]);
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  return report();
}
