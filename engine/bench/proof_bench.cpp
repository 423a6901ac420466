// Times what proofs are made of (docs/zk.md) on each GPU, and prints one JSON object a line: the median of five, the host's clock around work that was
// waited for, commitments read back.
// Usage: proof_bench [log2 of the largest sums, 24 unless told]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "cuda/cuda_device.hpp"
#include "cuda/zk/msm.hpp"
#include "devices.hpp"
#include "../test/drawn_segment.hpp"

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

// Eleven links of 1,024, 32 rows: as many as weights of 32 bits allow (docs/zk.md §4). Parts apart, each the median of three.
void time_segment(Device& device, const std::shared_ptr<const cuda::Context>& card) {
  const zk::ProofPlan plan = assay_test::plan_of({22, 0, 5, 5, 24, 12, 14, 8, 12, {11, 10, 10}, std::vector<uint32_t>(12, 1024)});
  std::vector<G1Affine> points(plan.chunk());
  {
    const Buffer powers(card, points.size() * sizeof(G1Affine));
    cuda::make_powers(card, Fr::of(77777), points.size(), powers.at());
    ASSAY_CUDA_CALL(cuMemcpyDtoH, points.data(), powers.at(), points.size() * sizeof(G1Affine));
  }
  assay_test::Draw draw(1);
  double start = now_ms();
  const auto run = assay_test::run_of(plan, assay_test::start_of(plan, draw, 255, 1 << 18));
  if (!run) {
    std::printf("{\"figure\":\"segment\",\"said\":\"a value left its range\"}\n");
    return;
  }
  const double run_ms = now_ms() - start;
  const auto memory = device.proof_kernels()->prepare(plan.bytes());
  memory->set_powers(points);
  double load[3], points_ms[3], prove[3];
  size_t bytes = 0;
  const uint64_t free_before = card->free_bytes();
  for (int i = 0; i < 3; ++i) {
    const auto nothing = [](uint32_t, uint32_t) {};
    zk::SegmentRun own = *run;
    start = now_ms();
    zk::SegmentProver prover(plan, *memory, own);
    load[i] = now_ms() - start;
    start = now_ms();
    prover.statement_points(nothing);
    points_ms[i] = now_ms() - start;
    start = now_ms();
    std::vector<double> moments;
    bytes = prover.prove(Hash{}, [&](uint32_t, uint32_t) { moments.push_back(now_ms() - start); }).size();
    prove[i] = now_ms() - start;
    if (i == 2 && std::getenv("MOMENTS") != nullptr)
      for (const double moment : moments) std::fprintf(stderr, "%.2f\n", moment);
  }
  for (double* list : {load, points_ms, prove}) std::sort(list, list + 3);
  std::printf("{\"figure\":\"segment\",\"links\":11,\"width\":1024,\"rows\":32,\"proof bytes\":%zu,\"host run ms\":%.0f,\"load ms\":%.1f,"
              "\"points ms\":%.1f,\"prove ms\":%.1f,\"device MB\":%.0f}\n",
              bytes, run_ms, load[1], points_ms[1], prove[1], static_cast<double>(free_before - card->free_bytes()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned most = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 24;
  const FoundDevices found = find_cuda_devices();
  for (const auto& device : found.devices) {
    const auto card = static_cast<cuda::CudaDevice&>(*device).shared_context();
    card->enter();
    time_sums(card, most);
    time_segment(*device, card);
  }
  return found.devices.empty() ? 77 : 0;
}
