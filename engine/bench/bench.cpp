// Times every part of the CUDA backend on each GPU, on random data as the challenges make it, and prints one JSON object a line.
// Times are the host's, around work that was waited for; what a verifier measures comes from a probe, not from here.
// Usage: bench [--quick]. --quick: n = 8192 only, and no filling of the card.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "cuda/cuda_device.hpp"

using namespace assay;
using cuda::CudaDevice;
using cuda::CudaKept;

namespace {

const std::atomic<bool> kGo{false};
const char* const kNames[] = {"int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64", "int32"};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds a call, over enough calls for about a third of a second after one to warm up.
template <typename Act>
double time_s(const CudaDevice& device, Act act) {
  act();
  device.context().synchronize();
  double start = now_s();
  act();
  device.context().synchronize();
  const int repeats = std::max(1, std::min(200, static_cast<int>(0.3 / (now_s() - start + 1e-9))));
  start = now_s();
  for (int i = 0; i < repeats; ++i) act();
  device.context().synchronize();
  return (now_s() - start) / repeats;
}

void print(const char* figure, Precision p, uint32_t n, double seconds, const char* unit, double value) {
  std::printf("{\"figure\":\"%s\",\"precision\":\"%s\",\"n\":%u,\"ms\":%.4f,\"%s\":%.2f}\n", figure, kNames[static_cast<size_t>(p)], n,
              1e3 * seconds, unit, value);
  std::fflush(stdout);
}

void time_gemm(CudaDevice& device, Precision p, uint32_t n) {
  const GemmSpec spec{p, n, n, n};
  const auto kept = device.keep(spec, 1);
  auto& room = static_cast<CudaKept&>(*kept);
  Seed seed{};
  seed.b[0] = 1;
  const double ops = 2.0 * n * n * n;
  const double generate = time_s(device, [&] { device.generate(room, seed); });
  print("generate", p, n, generate, "gbytes_per_s", 2.0 * n * n * (p == Precision::tf32 ? 4 : static_cast<int>(p) < 2 ? 1 : 2) / generate / 1e9);
  const double product = time_s(device, [&] { device.multiply(room, 0, kGo); });
  print("gemm_kernel", p, n, product, "tops", ops / product / 1e12);
  if (device.context().has_warpgroups()) {
    device.use_warpgroups(false);
    const double plain = time_s(device, [&] { device.multiply(room, 0, kGo); });
    print("gemm_kernel_mma_sync", p, n, plain, "tops", ops / plain / 1e12);
    device.use_warpgroups(true);
  }
  const double hash = time_s(device, [&] { device.hash_round(room, 0); });
  print("hash_tree", p, n, hash, "gbytes_per_s", static_cast<double>(spec.bytes()) / hash / 1e9);
  const double round = time_s(device, [&] { seed = device.gemm_round(*kept, 0, seed, kGo); });
  print("gemm_round", p, n, round, "tops", ops / round / 1e12);
}

void time_fma(CudaDevice& device, Precision p) {
  const FmaSpec spec{p, 1u << 22, p == Precision::fp64 ? 16384u : 65536u};
  const double seconds = time_s(device, [&] { device.run_lanes(spec, Seed{}, kGo); });
  print("fma_kernel", p, spec.lanes, seconds, "tera_steps_per_s", static_cast<double>(spec.steps) * spec.lanes / seconds / 1e12);
  const double round = time_s(device, [&] { device.fma_round(spec, Seed{}, kGo); });
  print("fma_round", p, spec.lanes, round, "tera_steps_per_s", static_cast<double>(spec.steps) * spec.lanes / round / 1e12);
}

// What a probe does first: 95 % of the free memory filled with products, then passes over all of it.
void time_fill_and_stream(CudaDevice& device) {
  const GemmSpec spec{Precision::int8, 16384, 16384, 16384};
  const auto slots = static_cast<uint32_t>((device.claim().free_bytes / 100 * 95 + spec.bytes() - 1) / spec.bytes());
  double start = now_s();
  const auto kept = device.keep(spec, slots);
  print("keep", spec.precision, spec.n, now_s() - start, "gbytes", 1e-9 * static_cast<double>(spec.bytes()) * slots);
  std::vector<uint32_t> ring(slots);
  std::iota(ring.begin(), ring.end(), 0u);
  Seed seed{};
  start = now_s();
  for (const uint32_t slot : ring) seed = device.gemm_round(*kept, slot, seed, kGo);
  const double filled = now_s() - start;
  print("fill", spec.precision, spec.n, filled, "tops", 2.0 * spec.m * spec.n * spec.k * slots / filled / 1e12);
  const double pass = time_s(device, [&] { seed = device.stream_pass(*kept, ring, seed, kGo); });
  print("stream_pass", spec.precision, spec.n, pass, "gbytes_per_s", 1e-9 * static_cast<double>(spec.bytes()) * slots / pass);
  start = now_s();
  std::vector<uint32_t> some(128);
  for (uint32_t i = 0; i < 128; ++i) some[i] = i * 37;
  device.open_round(*kept, 0, some);
  print("open_round_128", spec.precision, spec.n, now_s() - start, "leaves", 128);
  start = now_s();
  device.open_stream(*kept, ring, seed, some);
  print("open_stream_128", spec.precision, spec.n, now_s() - start, "groups", 128);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  double start = now_s();
  CudaDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("no GPU: %s\n", found.why_none.c_str());
    return 77;
  }
  std::printf("{\"figure\":\"start\",\"ms\":%.1f,\"driver\":\"%s\",\"cuda\":\"%s\"}\n", 1e3 * (now_s() - start), found.driver_version.c_str(),
              found.cuda_version.c_str());
  for (const auto& any : found.devices) {
    auto& device = static_cast<CudaDevice&>(*any);
    const DeviceClaim claim = device.claim();
    std::printf("{\"figure\":\"device\",\"name\":\"%s\",\"free_bytes\":%llu}\n", claim.name.c_str(),
                static_cast<unsigned long long>(claim.free_bytes));
    for (const Precision p : claim.precisions) {
      if (!is_gemm_precision(p)) {
        time_fma(device, p);
        continue;
      }
      time_gemm(device, p, 8192);
      if (!quick) time_gemm(device, p, 16384);
    }
    if (!quick) time_fill_and_stream(device);
  }
  return 0;
}
