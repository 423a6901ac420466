// Times what wrapped run proofs are made of (docs/zk.md §13) on each GPU, and prints one JSON object a line:
// medians of five of what is on the card, and a whole proof of a circuit as large as that of 64 segments,
// with its wires. The circuit is drawn: as many constraints and terms as the true one has. Usage:
// groth16_bench [copies constraints of each [terms of a sum]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cuda/cuda_device.hpp"
#include "cuda/groth16/cuda_groth16.hpp"
#include "cuda/groth16/ntt.hpp"
#include "cuda/zk/msm.hpp"
#include "devices.hpp"
#include "../test/kit/groth16_checks.hpp"

using namespace assay;
using namespace assay_test;
using cuda::Buffer;
using Card = std::shared_ptr<const cuda::Context>;

namespace {

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void figure(const Card& card, const char* name, unsigned log2, const std::function<void()>& act) {
  act();
  card->synchronize();
  double ms[5];
  for (double& one : ms) {
    const double start = now_ms();
    act();
    card->synchronize();
    one = now_ms() - start;
  }
  std::sort(ms, ms + 5);
  std::printf("{\"figure\":\"%s\",\"log2\":%u,\"ms\":%.3f,\"least\":%.3f,\"most\":%.3f}\n", name, log2, ms[2], ms[0], ms[4]);
  std::fflush(stdout);
}

void time_parts(const Card& card) {
  for (const unsigned log2 : {16u, 20u, 22u, 23u, 24u, 26u}) {
    const cuda::Ntt ntt(card, log2);
    const Buffer list(card, sizeof(Fr) << log2);
    ASSAY_CUDA_CALL(cuMemsetD32Async, list.at(), 0x1234567u, (sizeof(Fr) << log2) / 4, nullptr);
    figure(card, "ntt forward", log2, [&] { ntt.forward(list.at()); });
    figure(card, "ntt to a coset", log2, [&] { ntt.move_to_coset(list.at(), Fr::of(5)); });
  }
  for (const unsigned log2 : {16u, 20u, 22u}) {
    const size_t count = size_t{1} << log2;
    const std::vector<Fr> scalars = drawn_scalars(count, 3);
    const Buffer given(card, count * sizeof(Fr)), points(card, count * sizeof(G2Affine));
    ASSAY_CUDA_CALL(cuMemcpyHtoD, given.at(), scalars.data(), given.bytes());
    figure(card, "multiples of the second group", log2, [&] { cuda::make_multiples<Fp2>(card, zk::second_generator(), given.at(), count, points.at()); });
    cuda::MsmOf<Fp2> msm(card);
    figure(card, "msm of the second group", log2, [&] { msm.of_scalars(points.at(), given.at(), static_cast<uint32_t>(count)); });
  }
}

struct Given {
  zk::Circuit circuit;
  std::vector<Fr> inputs, secrets;
};

// By a key of secrets that everybody knows.
void time_proof(const Card& card, ThreadPool& pool, const Given& of) {
  double last = now_ms();
  const auto lap = [&] {
    const double now = now_ms(), taken = now - last;
    last = now;
    return taken;
  };
  const std::vector<Fr> some = drawn_scalars(7, 5);
  const zk::KeySecrets known{some[0], some[1], some[2], Fr::one(), some[4]};
  uint64_t terms = 0;
  for (const zk::Section& section : of.circuit.sections) terms += section.copies * section.terms.size();
  lap();
  const auto maker = cuda::cuda_point_maker(card);
  const zk::Groth16Key key = zk::make_key(pool, *maker, of.circuit, known);
  const double making = lap();
  const auto device = cuda::cuda_groth16(card, key);
  const double sending = lap();
  for (int time = 0; time < 3; ++time) {
    lap();
    const zk::Solved solved = zk::solve(pool, of.circuit, of.inputs, of.secrets);
    const double solving = lap();
    const std::vector<uint8_t> proof = zk::prove_groth16(*device, key, solved, some[5], some[6]);
    const double proving = lap();
    const bool is_right = time > 0 || proof == known_proof(pool, of.circuit, known, solved, some[5], some[6]);
    std::printf("{\"figure\":\"groth16\",\"constraints\":%llu,\"log2\":%u,\"terms\":%llu,\"threads\":%u,\"key ms\":%.0f,\"key to card ms\":%.0f,\"wires ms\":%.0f,\"proof ms\":%.0f,\"right\":%s}\n",
                static_cast<unsigned long long>(of.circuit.constraints), of.circuit.log2(), static_cast<unsigned long long>(terms), pool.threads(), making, sending, solving,
                proving, is_right ? "true" : "false");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, uint32_t otherwise) { return argc > i ? static_cast<uint32_t>(std::atoi(argv[i])) : otherwise; };
  const FoundDevices found = find_cuda_devices();
  ThreadPool pool(std::max(1u, std::thread::hardware_concurrency()));
  for (const auto& device : found.devices) {
    const Card card = static_cast<cuda::CudaDevice&>(*device).shared_context();
    card->enter();
    time_parts(card);
    Given given{drawn_circuit(number(1, 64), number(2, 76148), number(3, 10)), {}, {}};
    given.inputs = drawn_scalars(given.circuit.inputs, 1);
    given.secrets = drawn_scalars(given.circuit.secrets.size(), 2);
    time_proof(card, pool, given);
  }
  return found.devices.empty() ? 77 : 0;
}
