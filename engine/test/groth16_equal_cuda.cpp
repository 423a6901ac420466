// Proofs of Groth16 on a GPU against the CPU's, bit for bit: values of polynomials, sums and multiples of
// points of the second group, whole proofs. Without a GPU it ends with 77.
// Usage: groth16_equal_cuda [FOLDER_OF_VECTORS | --small]   --small: what a sanitizer gets through
#include <cstdio>

#include "cuda/cuda_device.hpp"
#include "cuda/groth16/cuda_groth16.hpp"
#include "cuda/groth16/ntt.hpp"
#include "cuda/zk/msm.hpp"
#include "devices.hpp"
#include "kit/groth16_checks.hpp"
#include "zk/groth16/roots.hpp"

using namespace assay;
using namespace assay_test;
using cuda::Buffer;
using Card = std::shared_ptr<const cuda::Context>;

namespace {

template <typename T>
Buffer sent(const Card& card, const std::vector<T>& list) {
  Buffer buffer(card, list.size() * sizeof(T));
  ASSAY_CUDA_CALL(cuMemcpyHtoD, buffer.at(), list.data(), buffer.bytes());
  return buffer;
}

template <typename T>
std::vector<T> received(const Buffer& from, size_t count) {
  std::vector<T> list(count);
  ASSAY_CUDA_CALL(cuMemcpyDtoH, list.data(), from.at(), count * sizeof(T));
  return list;
}

void compare_transforms(const Card& card, ThreadPool& pool, unsigned log2) {
  const std::string name = "2^" + std::to_string(log2) + " numbers: ";
  const std::vector<Fr> given = drawn_scalars(size_t{1} << log2, log2);
  const cuda::Ntt ntt(card, log2);
  const Fr root = zk::root_of_one(log2), share = Fr::of(given.size()).inverted(), shift = zk::coset_shift();
  std::vector<Fr> expected = given;
  zk::transform(pool, expected, root);
  const Buffer list = sent(card, given);
  ntt.forward(list.at());
  check(received<Fr>(list, given.size()) == expected, name + "values");
  ntt.inverse(list.at());
  check(received<Fr>(list, given.size()) == given, name + "and back");
  expected = given;
  zk::transform(pool, expected, root.inverted());
  zk::times_powers(pool, expected, shift, share);
  zk::transform(pool, expected, root);
  ntt.move_to_coset(list.at(), shift);
  check(received<Fr>(list, given.size()) == expected, name + "values on a coset");
  zk::transform(pool, expected, root.inverted());
  zk::times_powers(pool, expected, shift.inverted(), share);
  ntt.from_coset(list.at(), shift);
  check(received<Fr>(list, given.size()) == expected, name + "coefficients from a coset");
  // Two lists, the second one half as long.
  expected = given;
  std::vector<Fr> other = drawn_scalars(given.size(), log2 + 100);
  std::fill(other.begin() + static_cast<ptrdiff_t>(other.size() / 2), other.end(), Fr::zero());
  const Buffer first = sent(card, given), second = sent(card, other);
  zk::cross(pool, expected, other);
  ntt.cross(first.at(), second.at());
  check(received<Fr>(first, given.size()) == expected, name + "crossed");
}

// Too many for the CPU's transforms: some of the values, and back.
void check_large_transform(const Card& card, unsigned log2) {
  const std::string name = "2^" + std::to_string(log2) + " numbers: ";
  const std::vector<Fr> given = drawn_scalars(size_t{1} << log2, log2);
  const cuda::Ntt ntt(card, log2);
  const Buffer list = sent(card, given);
  ntt.forward(list.at());
  const std::vector<Fr> values = received<Fr>(list, given.size());
  for (const size_t place : {size_t{0}, size_t{1}, given.size() / 3, given.size() - 1}) {
    const Fr x = zk::power_of(zk::root_of_one(log2), place);
    Fr value = Fr::zero();
    for (size_t i = given.size(); i-- > 0;) value = value * x + given[i];
    check(values[place] == value, name + "value " + std::to_string(place));
  }
  ntt.inverse(list.at());
  check(received<Fr>(list, given.size()) == given, name + "and back");
}

// Known multiples of the generator, so that their sum is one too.
void compare_second_group(const Card& card, ThreadPool& pool, size_t count) {
  const std::string name = std::to_string(count) + " points of the second group: ";
  std::vector<Fr> multiples = drawn_scalars(count, 7), scalars = drawn_scalars(count, 8);
  for (size_t i = 0; i < count; ++i) {
    if (i % 7 == 3) multiples[i] = Fr::zero();
    if (i % 11 == 5) multiples[i] = multiples[i / 2];
    if (i % 13 == 6) scalars[i] = i % 2 == 0 ? Fr::zero() : scalars[i / 2];
    if (i % 17 == 7) scalars[i] = Fr::one();
  }
  const auto maker = cuda::cuda_point_maker(card), host = zk::cpu_point_maker(pool);
  const std::vector<G2Affine> points = maker->second(multiples);
  const size_t some = std::min<size_t>(count, 2000);
  check(std::vector<G2Affine>(points.begin(), points.begin() + static_cast<ptrdiff_t>(some)) == host->second(std::span(multiples).first(some)), name + "multiples");
  Fr total = Fr::zero();
  for (size_t i = 0; i < count; ++i) total = total + multiples[i] * scalars[i];
  const Buffer on_points = sent(card, points), on_scalars = sent(card, scalars);
  cuda::MsmOf<Fp2> msm(card);
  check(msm.of_scalars(on_points.at(), on_scalars.at(), static_cast<uint32_t>(count)) == host->second(std::span(&total, 1))[0], name + "their sum");
}

void compare_drawn_proof(const Card& card, ThreadPool& pool, uint32_t copies, uint32_t constraints, bool with_cpu) {
  const std::string name = std::to_string(copies) + " copies of " + std::to_string(constraints) + " constraints: ";
  const zk::Circuit circuit = drawn_circuit(copies, constraints, 6);
  const std::vector<Fr> some = drawn_scalars(7, 5);
  const zk::KeySecrets known{some[0], some[1], some[2], some[3], some[4]};
  const auto maker = cuda::cuda_point_maker(card);
  const zk::Groth16Key key = zk::make_key(pool, *maker, circuit, known);
  const zk::Solved solved = zk::solve(pool, circuit, drawn_scalars(circuit.inputs, 1), drawn_scalars(circuit.secrets.size(), 2));
  const std::vector<uint8_t> proof = zk::prove_groth16(*cuda::cuda_groth16(card, key), key, solved, some[5], some[6]);
  check(proof == known_proof(pool, circuit, known, solved, some[5], some[6]), name + "the proof of who knows all");
  if (!with_cpu) return;
  check(key == zk::make_key(pool, *zk::cpu_point_maker(pool), circuit, known), name + "the key");
  check(proof == zk::prove_groth16(*zk::cpu_groth16(pool, key), key, solved, some[5], some[6]), name + "the CPU's proof");
}

void compare_vectors(const Card& card, ThreadPool& pool, const std::string& folder) {
  for (const Row& row : read_vectors(folder, "groth16")) {
    const zk::Circuit circuit = zk::read_circuit(from_hex(row.text("circuit")));
    const zk::Groth16Key key = zk::read_key(from_hex(row.text("key")));
    const std::vector<Fr> blinders = scalars_of(row.text("blinders"));
    const zk::Solved solved = zk::solve(pool, circuit, scalars_of(row.text("inputs")), scalars_of(row.text("secrets")));
    const std::vector<uint8_t> proof = zk::prove_groth16(*cuda::cuda_groth16(card, key), key, solved, blinders[0], blinders[1]);
    check(to_hex(proof.data(), proof.size()) == row.text("proof"), "groth16.json " + row.text("name"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool small = argc > 1 && std::string(argv[1]) == "--small";
  FoundDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("no GPU: %s\n", found.driver.why_none.c_str());
    return 77;
  }
  ThreadPool pool(std::max(1u, std::thread::hardware_concurrency()));
  for (const auto& device : found.devices) {
    const Card card = static_cast<cuda::CudaDevice&>(*device).shared_context();
    card->enter();
    try {
      for (unsigned log2 = 1; log2 <= (small ? 11 : 17); ++log2) compare_transforms(card, pool, log2);
      std::printf("transforms compared\n");
      if (small) continue;
      for (const unsigned log2 : {20u, 23u, 24u, 25u}) check_large_transform(card, log2);
      std::printf("large transforms checked\n");
      for (const size_t count : {1, 2, 3, 33, 1000, 20000, 1 << 20}) compare_second_group(card, pool, count);
      std::printf("second group compared\n");
      if (argc > 1) compare_vectors(card, pool, argv[1]);
      compare_drawn_proof(card, pool, 1, 5, true);
      compare_drawn_proof(card, pool, 3, 1000, true);
      compare_drawn_proof(card, pool, 8, 20000, false);
    } catch (const std::exception& error) {
      check(false, error.what());
    }
  }
  return report();
}
