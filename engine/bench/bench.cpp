// Times every part of the CUDA backend on each GPU, on random data as the challenges make it, and prints one
// JSON object a line. Times are the host's, around work that was waited for; what a verifier measures comes
// from a probe, not from here.
// Usage: bench [--quick] [--plain] [int8 | fp8 | … | fp32 | fp64 | int32 | hash | stream | exact]…  these
//   figures only
//        bench program FILE…    programs (docs/work.md) on random inputs, or those of FILE.given: steps,
//                               roots, trace, kernels
//   --quick  products of n = 8192 only, and no filling of the card unless it is named
//   --plain  also products by mma.sync, where Hopper's own path is the one in use
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cuda/cuda_device.hpp"
#include "cuda/work/cuda_work.hpp"
#include "devices.hpp"
#include "program_times.hpp"
#include "work/plan.hpp"

using namespace assay;
using cuda::CudaDevice;
using cuda::CudaKept;

namespace {

const std::atomic<bool> kGo{false};
constexpr double kSpanS = 0.25;  // of products
double from_environment(const char* name, double otherwise) { return std::getenv(name) ? std::atof(std::getenv(name)) : otherwise; }
// Seconds of rest before each product, then seconds of the same product before it is timed; as
// bench/vendor.py does on its own side.
const double kRestS = from_environment("REST", 0.2), kWarmS = from_environment("WARM", 0);
std::string name(Precision p) { return kPrecisionNames[static_cast<size_t>(p)]; }

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds a call, over enough calls for about `span_s` after two to warm up. `rest_s` and `warm_s` before
// that: products run into the card's power limit, and what it grants depends on the load before.
template <typename Act>
double time_s(const CudaDevice& device, Act act, double span_s = 0.1, double rest_s = 0, double warm_s = 0) {
  std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
  const auto timed = [&](int calls) {
    const double start = now_s();
    for (int i = 0; i < calls; ++i) act();
    device.context().synchronize();
    return (now_s() - start) / calls;
  };
  const auto fitting = [](double seconds, double call_s) { return std::clamp(static_cast<int>(seconds / (call_s + 1e-9)), 1, 1000); };
  timed(1);
  double call_s = timed(1);
  if (warm_s > 0) call_s = timed(fitting(warm_s, call_s));
  return timed(fitting(span_s, call_s));
}

void print(const char* figure, const std::string& precision, uint32_t n, double seconds, const char* unit, double value) {
  std::printf("{\"figure\":\"%s\",\"precision\":\"%s\",\"n\":%u,\"ms\":%.4f,\"%s\":%.2f}\n", figure, precision.c_str(), n, 1e3 * seconds,
              unit, value);
  std::fflush(stdout);
}

double gbytes(uint64_t bytes) { return 1e-9 * static_cast<double>(bytes); }

void time_gemm(CudaDevice& device, Precision p, uint32_t n, bool plain) {
  const GemmSpec spec{p, n, n, n};
  const auto kept = device.keep(spec, 1);
  auto& room = static_cast<CudaKept&>(*kept);
  Seed seed{};
  seed.b[0] = 1;
  const double ops = 2.0 * n * n * n;
  device.generate(room, seed);
  const double product = time_s(device, [&] { device.multiply(room, 0, kGo); }, kSpanS, kRestS, kWarmS);
  print("gemm_kernel", name(p), n, product, "tops", ops / product / 1e12);
  const double round = time_s(device, [&] { seed = device.gemm_round(*kept, 0, seed, kGo); }, kSpanS, kRestS, kWarmS);
  print("gemm_round", name(p), n, round, "tops", ops / round / 1e12);
  if (plain && device.context().has_warpgroups()) {
    device.use_warpgroups(false);
    const double by_mma = time_s(device, [&] { device.multiply(room, 0, kGo); });
    print("gemm_kernel_mma_sync", name(p), n, by_mma, "tops", ops / by_mma / 1e12);
    device.use_warpgroups(true);
  }
}

// A product of a program (docs/work.md) as it runs: both operands split into planes of bytes, then
// multiplied, sums of 64 bits out.
void time_exact(CudaDevice& device, work::Type a, work::Type b, uint32_t n, bool warpgroups) {
  using namespace work;
  const auto all = [](Type type) {
    const int64_t half = int64_t{1} << (8 * bytes_of(type) - 1);
    return Interval{-half, half - 1};
  };
  Program program;
  const Dims dims{1, n, n};
  program.tensors = {{TensorKind::input, a, dims, all(a), "a", {}},
                     {TensorKind::input, b, dims, all(b), "b", {}},
                     {TensorKind::result, Type::i64, dims, all(Type::i64), "c", {}}};
  program.step.push_back({Operator::matmul, Type::i64, dims, all(Type::i64), 2, {{Source::input, 0, a, dims}, {Source::input, 1, b, dims}}, {}, {}});
  const CheckedProgram checked = check_program(std::move(program));
  const MemoryPlan plan = plan_memory(checked.program);
  cuda::CudaWork kernels(device.shared_context(), {.warpgroups = warpgroups});
  const auto memory = kernels.prepare(checked, plan);
  std::vector<uint8_t> bytes(uint64_t{n} * n * 2);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(fmix32(static_cast<uint32_t>(i) + 1));
  for (const size_t operand : {0, 1}) memory->write(plan.tensors[operand], {bytes.data(), uint64_t{n} * n * bytes_of(operand == 0 ? a : b)});
  const Address operands[] = {plan.tensors[0], plan.tensors[1]};
  const double seconds = time_s(device, [&] { memory->run(0, operands, plan.step[0].out, {1, 0, 1, {}}); }, kSpanS, kRestS, kWarmS);
  static constexpr const char* kNames[] = {"i8", "i16", "i32"};
  const std::string types = std::string(kNames[static_cast<size_t>(a)]) + "*" + kNames[static_cast<size_t>(b)];
  print(warpgroups ? "exact_product" : "exact_product_mma_sync", types, n, seconds, "tops", 2.0 * n * n * n / seconds / 1e12);
}

// After the products: the load of writing all that would weigh on the power that they are granted.
void time_generate(CudaDevice& device, Precision p, uint32_t n) {
  const auto kept = device.keep({p, n, n, n}, 1);
  const double generate = time_s(device, [&] { device.generate(static_cast<CudaKept&>(*kept), Seed{}); });
  const uint32_t entry = p == Precision::tf32 ? 4 : p == Precision::int8 || p == Precision::fp8 ? 1 : 2;
  print("generate", name(p), n, generate, "gbytes_per_s", gbytes(uint64_t{2} * n * n * entry) / generate);
}

// Leaves alone over 2 GiB, where a last wave of blocks weighs little; then leaves and trees of products as
// rounds have them.
void time_hash(CudaDevice& device) {
  for (const GemmSpec spec : {GemmSpec{Precision::int8, 65536, 16384, 128}, {Precision::int8, 16384, 16384, 128}, {Precision::int8, 8192, 8192, 128}}) {
    const auto kept = device.keep(spec, 1);
    auto& room = static_cast<CudaKept&>(*kept);
    device.gemm_round(*kept, 0, Seed{}, kGo);
    const double leaves = time_s(device, [&] { cuda::hash_leaves(device.context(), room.round_tree(), 0, room.slot(0), spec.leaves()); });
    print("hash_leaves", "", spec.m, leaves, "gbytes_per_s", gbytes(spec.bytes()) / leaves);
    const double tree = time_s(device, [&] { device.hash_round(room, 0); });
    print("hash_tree", "", spec.m, tree, "gbytes_per_s", gbytes(spec.bytes()) / tree);
  }
}

void time_fma(CudaDevice& device, Precision p) {
  const FmaSpec spec{p, 1u << 22, p == Precision::fp64 ? 16384u : 65536u};
  const double steps = static_cast<double>(spec.steps) * spec.lanes;
  const double kernel = time_s(device, [&] { device.run_lanes(spec, Seed{}, kGo); });
  print("fma_kernel", name(p), spec.lanes, kernel, "tera_steps_per_s", steps / kernel / 1e12);
  const double round = time_s(device, [&] { device.fma_round(spec, Seed{}, kGo); });
  print("fma_round", name(p), spec.lanes, round, "tera_steps_per_s", steps / round / 1e12);
}

// What a probe does first: 95 % of the free memory filled with products, then passes over all of it and
// chains of reads through it.
void time_fill_and_stream(CudaDevice& device) {
  const GemmSpec spec{Precision::int8, 16384, 16384, 16384};
  const auto slots = static_cast<uint32_t>((device.claim().free_bytes / 100 * 95 + spec.bytes() - 1) / spec.bytes());
  const std::string p = name(spec.precision);
  double start = now_s();
  const auto kept = device.keep(spec, slots);
  print("keep", p, spec.n, now_s() - start, "gbytes", gbytes(spec.bytes() * slots));
  std::vector<uint32_t> ring(slots);
  std::iota(ring.begin(), ring.end(), 0u);
  Seed seed{};
  start = now_s();
  for (const uint32_t slot : ring) seed = device.gemm_round(*kept, slot, seed, kGo);
  const double filled = now_s() - start;
  print("fill", p, spec.n, filled, "tops", 2.0 * spec.m * spec.n * spec.k * slots / filled / 1e12);
  for (int turn = 0; turn < 5; ++turn) {
    const double pass = time_s(device, [&] { seed = device.stream_pass(*kept, ring, seed, kGo); });
    print("stream_pass", p, spec.n, pass, "gbytes_per_s", gbytes(spec.bytes() * slots) / pass);
  }
  constexpr uint32_t kIntervals = 4096, kHops = kIntervals * kIntervalHops;
  for (int turn = 0; turn < 3; ++turn) {
    const double chase = time_s(device, [&] { device.chase(*kept, ring, seed, kIntervals, kGo); });
    print("chase", p, spec.n, chase, "ns_per_hop", 1e9 * chase / kHops);
  }
  std::vector<uint32_t> some(128);
  for (uint32_t i = 0; i < 128; ++i) some[i] = i * 37;
  start = now_s();
  device.open_round(*kept, 0, some);
  print("open_round_128", p, spec.n, now_s() - start, "leaves", 128);
  start = now_s();
  device.open_stream(*kept, ring, seed, some);
  print("open_stream_128", p, spec.n, now_s() - start, "groups", 128);
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false, plain = false;
  std::vector<std::string> figures;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick") quick = true;
    else if (word == "--plain") plain = true;
    else figures.push_back(word);
  }
  const auto named = [&](const std::string& figure) { return std::find(figures.begin(), figures.end(), figure) != figures.end(); };
  const auto asked = [&](const std::string& figure) { return figures.empty() || named(figure); };

  const double start = now_s();
  FoundDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("no GPU: %s\n", found.driver.why_none.c_str());
    return 77;
  }
  std::printf("{\"figure\":\"start\",\"ms\":%.1f,\"driver\":\"%s\",\"cuda\":\"%s\"}\n", 1e3 * (now_s() - start), found.driver.driver_version.c_str(),
              found.driver.cuda_version.c_str());
  for (const auto& any : found.devices) {
    auto& device = static_cast<CudaDevice&>(*any);
    const DeviceClaim claim = device.claim();
    std::printf("{\"figure\":\"device\",\"name\":\"%s\",\"free_bytes\":%llu}\n", claim.name.c_str(),
                static_cast<unsigned long long>(claim.free_bytes));
    if (!figures.empty() && figures[0] == "program") {
      for (size_t i = 1; i < figures.size(); ++i) time_program(device, figures[i], quick ? 2 : 5, !quick);
      continue;
    }
    for (const Precision p : claim.precisions) {
      if (!asked(name(p))) continue;
      if (!is_gemm_precision(p)) {
        time_fma(device, p);
        continue;
      }
      const std::vector<uint32_t> sizes = quick ? std::vector<uint32_t>{8192} : std::vector<uint32_t>{8192, 16384};
      for (const uint32_t n : sizes) time_gemm(device, p, n, plain);
      for (const uint32_t n : sizes) time_generate(device, p, n);
    }
    if (named("exact"))
      for (const uint32_t n : {4096u, 8192u})
        for (const work::Type a : {work::Type::i16, work::Type::i8}) {
          time_exact(device, a, work::Type::i16, n, true);
          if (plain) time_exact(device, a, work::Type::i16, n, false);
        }
    if (asked("hash")) time_hash(device);
    if (quick ? named("stream") : asked("stream")) time_fill_and_stream(device);
  }
  return 0;
}
