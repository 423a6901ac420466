// Every operation of probe_kernels.hpp on the CPU backend and on every GPU, compared bit for bit; and, where
// the CPU would take too long, products checked element by element from their seed. Follows
// docs/hardware-proof.md; the CPU backend is the reference.
// Usage: cpu_equals_cuda [--small | --tiny] [--peers]
//   --small  few small shapes, for compute-sanitizer
//   --tiny   one for each kernel, for its slower tools
//   --peers  peers, readings and the full card alone
// Exit code 0: all passed; 1: not; 77: no GPU.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "kit/cpu_equals_cuda_paths.hpp"
#include "kit/cpu_equals_cuda_peers.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/launch_shape.hpp"
#include "devices.hpp"
#include "probe/chase.hpp"

using namespace assay;

namespace {

unsigned passed = 0, failed = 0;
const std::atomic<bool> kGo{false};
const std::atomic<bool> kStop{true};

void expect(bool holds, const std::string& what) {
  ++(holds ? passed : failed);
  if (!holds) std::printf("FAILED %s\n", what.c_str());
}

std::string name(Precision p) { return kPrecisionNames[static_cast<size_t>(p)]; }
std::string name(const GemmSpec& s) {
  return name(s.precision) + " " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

Hash numbered(uint32_t number) {  // seeds and nonces; any 32 bytes will do
  Hash hash;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t word = fmix32(number * 8 + i + 1);
    std::memcpy(hash.b + 4 * i, &word, 4);
  }
  return hash;
}

bool same(const Hash& a, const Hash& b) { return std::memcmp(a.b, b.b, 32) == 0; }

bool same(const std::vector<Opening>& a, const std::vector<Opening>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].index != b[i].index || a[i].leaf != b[i].leaf || a[i].path.size() != b[i].path.size()) return false;
    for (size_t j = 0; j < a[i].path.size(); ++j)
      if (!same(a[i].path[j], b[i].path[j])) return false;
  }
  return true;
}

bool same(const std::vector<Label>& a, const std::vector<Label>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Label)) == 0;
}

// All of them when few, else the first, the last and some between; the first once more, out of order.
std::vector<uint32_t> some_of(uint32_t count, uint32_t most) {
  std::vector<uint32_t> out;
  if (count <= most) {
    out.resize(count);
    std::iota(out.begin(), out.end(), 0u);
  } else {
    out = {count - 1};
    for (uint32_t i = 0; out.size() < most; ++i) out.push_back(fmix32(i + count) % count);
  }
  out.push_back(0);
  return out;
}

bool all_on_root(const std::vector<Opening>& openings, uint32_t count, const Hash& root) {
  for (const Opening& o : openings)
    if (!path_leads_to(o, count, root)) return false;
  return !openings.empty();
}

// Empty when nothing was thrown.
std::string thrown(ErrorCode code, const std::function<void()>& act) {
  try {
    act();
  } catch (const EngineError& error) {
    return error.code() == code ? "as expected" : std::string("another code: ") + error.what();
  }
  return "nothing";
}

void expect_thrown(ErrorCode code, const std::string& what, const std::function<void()>& act) {
  const std::string got = thrown(code, act);
  expect(got == "as expected", what + " (" + got + ")");
}

void compare_gemm(ProbeKernels& cpu, ProbeKernels& gpu, const GemmSpec& spec, uint32_t seed_number) {
  constexpr uint32_t kSlots = 3;
  const auto on_cpu = cpu.keep(spec, kSlots), on_gpu = gpu.keep(spec, kSlots);
  const std::string what = name(spec) + " seed " + std::to_string(seed_number);
  const std::vector<uint32_t> leaves = some_of(spec.leaves(), 1024);
  Hash roots[kSlots];
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const Seed seed = numbered(100 * seed_number + slot);
    roots[slot] = gpu.gemm_round(*on_gpu, slot, seed, kGo);
    expect(same(cpu.gemm_round(*on_cpu, slot, seed, kGo), roots[slot]), what + ": root of slot " + std::to_string(slot));
  }
  expect(!same(roots[0], roots[1]) && !same(roots[1], roots[2]), what + ": other seeds give other roots");
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const auto opened = gpu.open_round(*on_gpu, slot, leaves);
    expect(same(cpu.open_round(*on_cpu, slot, leaves), opened), what + ": openings of slot " + std::to_string(slot));
    expect(all_on_root(opened, spec.leaves(), roots[slot]), what + ": paths of slot " + std::to_string(slot));
    expect(!path_leads_to(opened[0], spec.leaves(), roots[(slot + 1) % kSlots]), what + ": no path to another root");
  }
  const std::vector<std::vector<uint32_t>> rings = {{2, 0, 1}, {0, 1, 2}, {1}};
  std::vector<Hash> passes;
  for (const auto& ring : rings) {
    const uint32_t groups = static_cast<uint32_t>(ring.size()) * (spec.leaves() / 128);
    const Hash nonce = numbered(7000 + seed_number);
    const Hash root = gpu.stream_pass(*on_gpu, ring, nonce, kGo);
    expect(same(cpu.stream_pass(*on_cpu, ring, nonce, kGo), root), what + ": stream over " + std::to_string(ring.size()));
    const auto opened = gpu.open_stream(*on_gpu, ring, nonce, some_of(groups, 64));
    expect(same(cpu.open_stream(*on_cpu, ring, nonce, some_of(groups, 64)), opened), what + ": stream openings");
    expect(all_on_root(opened, groups, root), what + ": stream paths");
    passes.push_back(root);
  }
  expect(!same(passes[0], passes[1]), what + ": the order of slots counts");
  expect(!same(gpu.stream_pass(*on_gpu, rings[0], numbered(1), kGo), passes[0]), what + ": the nonce counts");
  for (const auto& ring : rings) {
    const Hash nonce = numbered(7000 + seed_number);
    const uint32_t intervals = seed_number == 1 ? 2048 : 16;  // more than one launch
    const auto labels = gpu.chase(*on_gpu, ring, nonce, intervals, kGo);
    expect(same(cpu.chase(*on_cpu, ring, nonce, intervals, kGo), labels), what + ": chase over " + std::to_string(ring.size()));
    std::vector<uint64_t> starts;
    const Chase chase(static_cast<uint32_t>(ring.size()), nonce, labels);
    for (uint32_t i = 0; i < 16; ++i) starts.push_back(chase.start(i * (intervals / 16)).of[i % kChains]);
    expect(cpu.hop_targets(*on_cpu, ring, nonce, starts) == gpu.hop_targets(*on_gpu, ring, nonce, starts), what + ": hops");
  }
  // A slot written again, with the others untouched.
  expect(same(gpu.gemm_round(*on_gpu, 1, numbered(100 * seed_number + 2), kGo), roots[2]), what + ": same seed, other slot");
  expect(all_on_root(gpu.open_round(*on_gpu, 0, leaves), spec.leaves(), roots[0]), what + ": neighbours untouched");
}

void compare_fma(ProbeKernels& cpu, ProbeKernels& gpu, const FmaSpec& spec) {
  const std::string what = name(spec.precision) + " " + std::to_string(spec.lanes) + " lanes " + std::to_string(spec.steps) + " steps";
  const Seed seed = numbered(spec.lanes + spec.steps);
  const Hash root = gpu.fma_round(spec, seed, kGo);
  expect(same(cpu.fma_round(spec, seed, kGo), root), what + ": root");
  const auto leaves = some_of(spec.leaves(), 200);
  const auto opened = gpu.open_fma(spec, seed, leaves);
  expect(same(cpu.open_fma(spec, seed, leaves), opened), what + ": openings");
  expect(all_on_root(opened, spec.leaves(), root), what + ": paths");
  expect(!same(gpu.fma_round(spec, numbered(spec.lanes + spec.steps + 1), kGo), root), what + ": the seed counts");
}

void check_refusals(cuda::CudaDevice& gpu) {
  const GemmSpec spec{Precision::int8, 256, 512, 256};
  const FmaSpec lanes{Precision::fp32, 512, 512};
  const auto kept = gpu.keep(spec, 2);
  const Hash root = gpu.gemm_round(*kept, 0, numbered(5), kGo);
  const std::vector<uint32_t> both = {0, 1}, beyond_leaf = {spec.leaves()}, beyond_slot = {2}, none = {};
  expect_thrown(ErrorCode::cancelled, "a stopped product", [&] { gpu.gemm_round(*kept, 0, numbered(6), kStop); });
  expect_thrown(ErrorCode::cancelled, "a stopped pass", [&] { gpu.stream_pass(*kept, both, numbered(6), kStop); });
  expect_thrown(ErrorCode::cancelled, "a stopped chase", [&] { gpu.chase(*kept, both, numbered(6), 16, kStop); });
  expect_thrown(ErrorCode::bad_request, "a chase over a slot that is not there", [&] { gpu.chase(*kept, beyond_slot, numbered(5), 2, kGo); });
  expect_thrown(ErrorCode::bad_request, "a chase over nothing", [&] { gpu.chase(*kept, none, numbered(5), 2, kGo); });
  expect_thrown(ErrorCode::cancelled, "stopped lanes", [&] { gpu.fma_round(lanes, numbered(6), kStop); });
  expect(same(gpu.gemm_round(*kept, 0, numbered(5), kGo), root), "the device works after a cancel");
  expect_thrown(ErrorCode::bad_request, "a leaf that is not there", [&] { gpu.open_round(*kept, 0, beyond_leaf); });
  expect_thrown(ErrorCode::bad_request, "a slot that is not there", [&] { gpu.gemm_round(*kept, 2, numbered(5), kGo); });
  expect_thrown(ErrorCode::bad_request, "a pass over a slot that is not there",
                [&] { gpu.stream_pass(*kept, beyond_slot, numbered(5), kGo); });
  expect_thrown(ErrorCode::bad_request, "a pass over nothing", [&] { gpu.stream_pass(*kept, none, numbered(5), kGo); });
  expect_thrown(ErrorCode::bad_request, "an odd shape", [&] { gpu.keep({Precision::int8, 100, 512, 128}, 1); });
  expect_thrown(ErrorCode::bad_request, "a product in fp64", [&] { gpu.keep({Precision::fp64, 128, 512, 128}, 1); });
  expect_thrown(ErrorCode::bad_request, "odd lanes", [&] { gpu.fma_round({Precision::fp32, 100, 512}, numbered(5), kGo); });

  const uint64_t free = gpu.claim().free_bytes;
  const GemmSpec big{Precision::int8, 16384, 16384, 16384};
  for (const uint64_t slots : {uint64_t{0xFFFFFFFF}, free / big.bytes() + 1, free / big.bytes()})
    expect_thrown(ErrorCode::no_memory, "room for " + std::to_string(slots) + " large products",
                  [&] { gpu.keep(big, static_cast<uint32_t>(slots)); });
  expect(gpu.claim().free_bytes == free, "a refusal leaves nothing behind");
  expect(same(gpu.gemm_round(*kept, 1, numbered(5), kGo), root), "the device works after a refusal");
}

// Too large for the CPU backend: sampled leaves, their paths, and elements of them from the seed alone.
void check_large(ProbeKernels& gpu, const GemmSpec& spec, uint32_t samples) {
  const auto kept = gpu.keep(spec, 1);
  const Seed seed = numbered(spec.n + spec.k);
  const Hash root = gpu.gemm_round(*kept, 0, seed, kGo);
  const auto opened = gpu.open_round(*kept, 0, some_of(spec.leaves(), samples));
  expect(all_on_root(opened, spec.leaves(), root), name(spec) + ": paths");
  bool elements = true;
  for (const Opening& o : opened)
    for (const uint32_t at : {0u, 511u, fmix32(o.index) % 512, fmix32(o.index + 1) % 512})
      elements = elements && leaf_element(o, at) == product_element(spec, seed, o.index, at);
  expect(elements, name(spec) + ": sampled elements");
  expect(leaf_element(opened[0], 3) != product_element(spec, numbered(1), opened[0].index, 3) ||
             leaf_element(opened[0], 4) != product_element(spec, numbered(1), opened[0].index, 4),
         name(spec) + ": elements of another seed differ");
}

// Lanes enough for several launches; sampled ones are run again.
void check_many_lanes(ProbeKernels& gpu, Precision p) {
  const FmaSpec spec{p, (1u << 21) + 256, 1u << 18};
  const Seed seed = numbered(77);
  const Hash root = gpu.fma_round(spec, seed, kGo);
  const auto opened = gpu.open_fma(spec, seed, some_of(spec.leaves(), 24));
  expect(all_on_root(opened, spec.leaves(), root), name(p) + ": paths of many lanes");
  bool lanes = true;
  for (const Opening& o : opened) {
    const uint32_t at = fmix32(o.index) % spec.lanes_per_leaf();
    lanes = lanes && lane_in_leaf(spec, o, at) == lane_from_seed(spec, seed, o.index * spec.lanes_per_leaf() + at);
  }
  expect(lanes, name(p) + ": sampled lanes of many");
}

// Stopped in the middle: the product is far longer than the wait, and made of several launches.
void check_stop_midway(ProbeKernels& gpu, const GemmSpec& spec) {
  const auto kept = gpu.keep(spec, 1);
  std::atomic<bool> stop{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop = true;
  });
  expect_thrown(ErrorCode::cancelled, "a product stopped midway", [&] { gpu.gemm_round(*kept, 0, numbered(3), stop); });
  stopper.join();
}

// One interval of a chase as a verifier sees it: every hop from opened leaves.
void check_chase(ProbeKernels& gpu, Kept& kept, const std::vector<uint32_t>& ring, const GemmSpec& spec, const std::vector<Hash>& roots) {
  const Hash nonce = numbered(11);
  const auto rounds = static_cast<uint32_t>(ring.size());
  const Chase chase(rounds, nonce, gpu.chase(kept, ring, nonce, 256, kGo));
  MixKeys keys = mix_keys(nonce.b);
  uint64_t state = chase.start(255).of[2];
  bool right = true;
  for (const uint64_t q : gpu.hop_targets(kept, ring, nonce, std::vector<uint64_t>{state})) {
    const HopTarget target = hop_target(state, rounds, spec.leaves());
    const auto opened = gpu.open_round(kept, ring[target.round], std::vector<uint32_t>{target.leaf});
    right = right && q == target.q && path_leads_to(opened[0], spec.leaves(), roots[ring[target.round]]);
    uint32_t words[256];
    std::memcpy(words, opened[0].leaf.data(), sizeof words);
    keys.start = static_cast<uint32_t>(state);
    state = hop_end(state, mix_leaf(keys, words, static_cast<uint32_t>(state >> 32)));
  }
  expect(right && state == chase.label(255).of[2], "full card: the hops of an interval");
  std::atomic<bool> stop{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop = true;
  });
  expect_thrown(ErrorCode::cancelled, "a chase stopped midway", [&] { gpu.chase(kept, ring, nonce, 65536, stop); });
  stopper.join();
}

// Each kernel of a precision once.
void compare_tiny(ProbeKernels& cpu, cuda::CudaDevice& gpu, Precision p) {
  if (!is_gemm_precision(p)) return compare_fma(cpu, gpu, {p, 256, 512});
  compare_gemm(cpu, gpu, {p, 128, 512, 128}, 2);
  if (!gpu.context().has_warpgroups()) return;
  // More pairs of tiles than blocks: leaves are hashed beside the products.
  if (p == Precision::int8) check_large(gpu, {p, 4224, 2048, 128}, 8);
  gpu.use_warpgroups(false);
  compare_gemm(cpu, gpu, {p, 128, 512, 128}, 2);
  gpu.use_warpgroups(true);
}

void compare_products(ProbeKernels& cpu, cuda::CudaDevice& gpu, Precision p, bool small) {
  compare_gemm(cpu, gpu, {p, 128, 512, 128}, 1);
  compare_gemm(cpu, gpu, {p, 384, 1536, 640}, 2);
  if (small) return;
  compare_gemm(cpu, gpu, {p, 384, 512, 384}, 3);
  compare_gemm(cpu, gpu, {p, 640, 1024, 2176}, 4);
  compare_gemm(cpu, gpu, {p, 2688, 512, 256}, 5);
  compare_gemm(cpu, gpu, {p, 128, 5632, 896}, 6);
  compare_gemm(cpu, gpu, {p, 256, 512, 16384}, 7);
  if (p == Precision::int8 || p == Precision::fp8) compare_gemm(cpu, gpu, {p, 128, 512, 65536}, 8);
  check_large(gpu, {p, 16384, 16384, 16384}, 64);
  check_large(gpu, {p, 11136, 12800, 4736}, 64);
  const GemmSpec huge{p, 65536, 65536, 65536};  // several launches
  if (p == Precision::int8 && gpu.claim().free_bytes > 3 * huge.bytes()) {
    check_large(gpu, huge, 16);
    check_stop_midway(gpu, huge);
  }
}

// The card filled to 95 % of what it says is free, every product new, then one pass over all of it.
void check_full(cuda::CudaDevice& gpu) {
  const GemmSpec spec{Precision::int8, 16384, 16384, 2048};
  const auto slots = static_cast<uint32_t>((gpu.claim().free_bytes / 100 * 95 + spec.bytes() - 1) / spec.bytes());
  const auto kept = gpu.keep(spec, slots);
  std::vector<uint32_t> ring(slots);
  std::iota(ring.begin(), ring.end(), 0u);
  std::vector<Hash> roots;
  for (const uint32_t slot : ring) roots.push_back(gpu.gemm_round(*kept, slot, numbered(slot), kGo));
  const Hash nonce = numbered(9);
  const Hash root = gpu.stream_pass(*kept, ring, nonce, kGo);
  const uint32_t groups = spec.leaves() / 128;
  const auto opened = gpu.open_stream(*kept, ring, nonce, some_of(slots * groups, 64));
  expect(all_on_root(opened, slots * groups, root), "full card: stream paths over " + std::to_string(slots) + " products");
  bool digests = true, paths = true;
  const MixKeys keys = mix_keys(nonce.b);
  for (const Opening& o : opened) {
    const uint32_t slot = o.index / groups, digest = fmix32(o.index) % 128, leaf = o.index % groups * 128 + digest;
    const std::vector<uint32_t> one = {leaf};
    const auto below = gpu.open_round(*kept, slot, one);
    paths = paths && path_leads_to(below[0], spec.leaves(), roots[slot]);
    uint32_t words[256];
    std::memcpy(words, below[0].leaf.data(), sizeof words);
    const Digest want = mix_leaf(keys, words, slot * spec.leaves() + leaf);
    digests = digests && std::memcmp(o.leaf.data() + 8 * digest, &want, 8) == 0;
  }
  expect(paths, "full card: every product still leads to its root");
  expect(digests, "full card: sampled digests");
  check_chase(gpu, *kept, ring, spec, roots);
  check_full_peer({expect, expect_thrown, numbered}, gpu, *kept, ring, spec);
}

}  // namespace

int main(int argc, char** argv) {
  bool small = false, tiny = false, peers_only = false;
  for (int i = 1; i < argc; ++i) {
    small |= std::strcmp(argv[i], "--small") == 0;
    tiny |= std::strcmp(argv[i], "--tiny") == 0;
    peers_only |= std::strcmp(argv[i], "--peers") == 0;
  }
  FoundDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("no GPU: %s\n", found.driver.why_none.c_str());
    return 77;
  }
  std::printf("driver %s, CUDA %s\n", found.driver.driver_version.c_str(), found.driver.cuda_version.c_str());
  const auto host = make_cpu_device(std::max(1u, std::thread::hardware_concurrency()));
  ProbeKernels& cpu = *host->probe_kernels();
  for (const auto& device : found.devices) {
    auto& gpu = static_cast<cuda::CudaDevice&>(*device);
    const DeviceClaim claim = gpu.claim();
    std::printf("%s %s, %s, %llu bytes free of %llu, PCIe %u x%u, %u of %u W, %u C, %u units at %u MHz\n", claim.name.c_str(),
                claim.uuid.c_str(), claim.compute.c_str(), static_cast<unsigned long long>(claim.free_bytes),
                static_cast<unsigned long long>(claim.memory_bytes), claim.pcie_gen, claim.pcie_width, claim.power_limit_w,
                claim.power_default_w, claim.temperature_c, claim.units, claim.clock_mhz);
    try {
      for (const Precision p : claim.precisions) {
        if (peers_only) break;
        if (tiny) compare_tiny(cpu, gpu, p);
        else if (is_gemm_precision(p)) {
          compare_products(cpu, gpu, p, small);
          if (gpu.context().has_warpgroups()) {  // then the above ran on wgmma; now mma.sync on the same card
            // First more pairs of tiles than blocks, with tile rows odd and even: there leaves are hashed
            // beside the products.
            for (const uint32_t m : {4224u, 4352u}) check_large(gpu, {p, m, 2048, 8192 / cuda::entry_bytes(p)}, 8);
            gpu.use_warpgroups(false);
            compare_products(cpu, gpu, p, small);
            gpu.use_warpgroups(true);
          }
        } else {
          for (const uint32_t lanes : {256u, 768u, 1280u, 33024u})
            for (const uint32_t steps : {512u, 1024u, 5120u})
              if (!small || lanes < 2000) compare_fma(cpu, gpu, {p, lanes, steps});
          if (small) continue;
          compare_fma(cpu, gpu, {p, (1u << 21) + 256, 1024});
          check_many_lanes(gpu, p);
        }
        std::printf("%s: %u passed, %u failed so far\n", name(p).c_str(), passed, failed);
        std::fflush(stdout);
      }
      if (tiny) continue;
      check_refusals(gpu);
      const PeerCheck peers{expect, expect_thrown, numbered};
      compare_peers(peers, cpu, gpu, small);
      std::printf("peers: %u passed, %u failed so far\n", passed, failed);
      if (small) continue;
      check_gauge(peers, gpu);
      check_full(gpu);
    } catch (const EngineError& error) {
      expect(false, std::string("no error: ") + error.what());
    }
  }
  std::printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
