// Times what proofs are made of (docs/zk.md) on each GPU, and prints one JSON object a line: the median of
// five, the host's clock around work that was waited for, commitments read back. Usage: proof_bench [log2 of
// the largest sums, 24 unless told | cpu: smaller segments on the host's cores]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/cuda_device.hpp"
#include "cuda/zk/msm.hpp"
#include "devices.hpp"
#include "../test/kit/drawn_segment.hpp"

using namespace assay;
using cuda::Buffer;

namespace {

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void figure(const char* name, unsigned log2, unsigned bits, const std::function<void()>& act) {
  act();
  double ms[5];
  for (double& one : ms) {
    const double start = now_ms();
    act();
    one = now_ms() - start;
  }
  std::sort(ms, ms + 5);
  std::printf("{\"figure\":\"%s\",\"log2\":%u,\"bits\":%u,\"ms\":%.3f,\"least\":%.3f,\"most\":%.3f}\n", name, log2, bits, ms[2], ms[0], ms[4]);
  std::fflush(stdout);
}

uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

void time_sums(const std::shared_ptr<const cuda::Context>& card, unsigned most) {
  const size_t count = size_t{1} << most;
  const Buffer powers(card, count * sizeof(G1Affine)), values(card, count * sizeof(Fr));
  const double start = now_ms();
  cuda::make_powers(card, Fr::of(0x123456789ABCDEF) * Fr::of(77), count, powers.at());
  std::printf("{\"figure\":\"powers\",\"log2\":%u,\"ms\":%.1f}\n", most, now_ms() - start);
  cuda::Msm msm(card);
  std::vector<Fr> scalars(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < 4; ++k) scalars[i].w[k] = mixed(4 * i + k + 1);
    scalars[i].w[3] &= (uint64_t{1} << 61) - 1;
  }
  ASSAY_CUDA_CALL(cuMemcpyHtoD, values.at(), scalars.data(), count * sizeof(Fr));
  for (unsigned log2 = most;; log2 -= 4) {
    figure("msm", log2, 254, [&] { msm.of_scalars(powers.at(), values.at(), 1u << log2); });
    if (log2 < 16) break;
  }
  scalars = {};
  std::vector<int64_t> numbers(count);
  for (const unsigned bits : {1u, 8u, 12u, 14u, 16u, 31u}) {
    for (size_t i = 0; i < count; ++i) {
      const int64_t size = static_cast<int64_t>(mixed(i + 1) >> (64 - bits));
      numbers[i] = bits > 1 && i % 2 == 0 ? -size : size;
    }
    ASSAY_CUDA_CALL(cuMemcpyHtoD, values.at(), numbers.data(), count * sizeof(int64_t));
    figure("msm of numbers", most, bits, [&] { msm.of_numbers(powers.at(), values.at(), 1u << most); });
  }
}

struct Case {
  const char* name;
  unsigned chunk_bits, step_bits, batch_bits;
  std::vector<uint32_t> sizes;
};

constexpr size_t kTimes = 5, kPhases = 9;
constexpr const char* kPhaseNames[kPhases] = {"run", "statement", "values", "helpers", "lookups", "products", "weights", "claims", "opening"};

// One after the other: the run, the points of the statement, and the parts of the proof.
std::array<double, kPhases> time_phases(const zk::ProofPlan& plan, zk::ProofMemory& memory, const zk::SegmentStart& start, size_t& bytes) {
  const uint8_t seed[32] = {7, 1, 2};
  std::array<double, kPhases> phases{};
  double last = now_ms();
  const auto lap = [&](size_t phase) {
    const double now = now_ms();
    phases[phase] = now - last;
    last = now;
  };
  zk::SegmentProver prover(plan, memory, memory.run(plan, start, seed, 0, kNeverStop));
  lap(0);
  prover.statement_points([](uint32_t, uint32_t) {});
  lap(1);
  uint32_t known = 0;
  bytes = prover.prove(Hash{}, [&](uint32_t done, uint32_t) {
    if (done != known) lap(1 + done);
    known = done;
  }).size();
  return phases;
}

// `card`: null on the host.
void time_segment(Device& device, const cuda::Context* card, const Case& of) {
  const zk::ProofPlan plan = assay_test::plan_of({of.chunk_bits, of.step_bits, of.batch_bits, 13, 33, 12, 14, 8, 12, {13, 13, 13}, of.sizes, true});
  assay_test::Draw draw(1);
  const zk::SegmentStart start = assay_test::start_of(plan, draw, 64, 1 << 29);
  const uint64_t free_before = card == nullptr ? 0 : card->free_bytes();
  const auto memory = device.proof_kernels()->prepare(plan.bytes());
  memory->make_powers(Fr::of(77777), plan.chunk(), kNeverStop);
  std::array<std::vector<double>, kPhases + 1> ms;
  size_t bytes = 0;
  try {
    for (size_t i = 0; i <= kTimes; ++i) {
      const std::array<double, kPhases> phases = time_phases(plan, *memory, start, bytes);
      double whole = 0;
      for (size_t k = 0; k < kPhases; ++k) {
        if (i > 0) ms[k].push_back(phases[k]);
        whole += phases[k];
      }
      if (i > 0) ms[kPhases].push_back(whole);
    }
  } catch (const EngineError& error) {
    std::printf("{\"figure\":\"segment\",\"plan\":\"%s\",\"said\":\"%s\"}\n", of.name, error.what());
    return;
  }
  for (std::vector<double>& list : ms) std::sort(list.begin(), list.end());
  std::printf("{\"figure\":\"segment\",\"plan\":\"%s\",\"steps\":%llu,\"batch\":%llu,\"chunk\":%u,\"proof bytes\":%zu,\"device MB\":%.0f,\"ms\":%.1f,\"ms a step\":%.2f", of.name,
              static_cast<unsigned long long>(plan.steps()), static_cast<unsigned long long>(plan.batch()), of.chunk_bits, bytes,
              static_cast<double>(card == nullptr ? 0 : free_before - card->free_bytes()) / 1e6, ms[kPhases][kTimes / 2], ms[kPhases][kTimes / 2] / static_cast<double>(plan.steps()));
  for (size_t k = 0; k < kPhases; ++k) std::printf(",\"%s\":%.1f", kPhaseNames[k], ms[k][kTimes / 2]);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "cpu") == 0) {
    const auto host = make_cpu_device(std::max(1u, std::thread::hardware_concurrency()));
    for (const Case& one : {Case{"64-128-128-10", 14, 2, 4, {64, 128, 128, 10}}, Case{"256-256 (3 times)-10", 18, 2, 4, {256, 256, 256, 256, 10}}, Case{"784-512-512-10", 20, 3, 5, {784, 512, 512, 10}}})
      time_segment(*host, nullptr, one);
    return 0;
  }
  const unsigned most = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 24;
  const FoundDevices found = find_cuda_devices();
  for (const auto& device : found.devices) {
    const auto card = static_cast<cuda::CudaDevice&>(*device).shared_context();
    card->enter();
    time_sums(card, most);
    const std::vector<uint32_t> equal(12, 1024), digits = {784, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 10};
    for (const Case& one : {Case{"11 links of 1,024", 22, 0, 5, equal}, Case{"11 links of 1,024", 22, 5, 6, equal}, Case{"784-1024 (10 times)-10", 22, 5, 6, digits},
                            Case{"784-1024 (10 times)-10", 24, 5, 6, digits}})
      time_segment(*device, card.get(), one);
  }
  return found.devices.empty() ? 77 : 0;
}
