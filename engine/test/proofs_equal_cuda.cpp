// Compares what proofs are made of (docs/zk.md) on each GPU with the CPU, bit for bit: fields, points, sums
// of points, all that is done to lists, whole proofs. Sums too large for the CPU are made of powers of a
// known τ, where they are one product. Without a GPU it says so and ends with 77.
//   proofs_equal_cuda [--small]
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "cpu/msm.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/zk/msm.hpp"
#include "devices.hpp"
#include "kit/drawn_segment.hpp"
#include "kit/proof_memory_checks.hpp"
#include "zk/prove_session.hpp"

using namespace assay;
using cuda::Buffer;
using cuda::CUdeviceptr;

namespace {

unsigned passed = 0, failed = 0;
void expect(bool holds, const std::string& what) {
  ++(holds ? passed : failed);
  if (!holds) std::printf("FAILED %s\n", what.c_str());
}

using Card = std::shared_ptr<const cuda::Context>;

uint64_t drawn(uint64_t& state) {
  state += 0x9E3779B97F4A7C15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

template <typename F>
F drawn_number(uint64_t& state) {
  F out;
  for (uint64_t& word : out.w) word = drawn(state);
  out.w[3] &= (uint64_t{1} << 60) - 1;
  // Below the order, since both begin with 0x3.
  return out;
}

template <typename T>
Buffer sent(const Card& card, const std::vector<T>& list) {
  Buffer out(card, list.size() * sizeof(T));
  ASSAY_CUDA_CALL(cuMemcpyHtoD, out.at(), list.data(), list.size() * sizeof(T));
  return out;
}

template <typename T>
std::vector<T> received(CUdeviceptr from, size_t count) {
  std::vector<T> out(count);
  ASSAY_CUDA_CALL(cuMemcpyDtoH, out.data(), from, count * sizeof(T));
  return out;
}

template <typename F>
void compare_fields(const Card& card, const char* kernel) {
  uint64_t state = 1;
  std::vector<F> edges = {F::zero(), F::one(), F::zero() - F::one(), F::of(2), F::zero() - F::of(2), F::of(~uint64_t{0})}, a, b;
  // As words: the order minus one, and words of all ones that stay below the order.
  edges.push_back(F{{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, 0x2fffffffffffffff}});
  edges.push_back(F{{1, 0, 0, 0}});
  edges.push_back(F{{0, 0, 0, 0x3000000000000000}});
  F last = F::zero() - F{{1, 0, 0, 0}};
  edges.push_back(last);
  for (const F& x : edges)
    for (const F& y : edges) a.push_back(x), b.push_back(y);
  while (a.size() < 5000) a.push_back(drawn_number<F>(state)), b.push_back(drawn_number<F>(state));
  const uint32_t count = static_cast<uint32_t>(a.size());
  const Buffer on_a = sent(card, a), on_b = sent(card, b), out(card, 6 * a.size() * sizeof(F));
  card->launch({kernel, (count + 127) / 128, 128}, on_a.at(), on_b.at(), count, out.at());
  const std::vector<F> made = received<F>(out.at(), 6 * a.size());
  const char* names[6] = {"sum", "difference", "product", "two products", "plain", "inverse"};
  for (size_t op = 0; op < 6; ++op) {
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (op == 5 && i % 8 != 0) continue;
      const F x = a[i], y = b[i];
      const F want = op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : op == 3 ? x * y + x * x : op == 4 ? x.plain() : x.inverted();
      if (!(made[6 * i + op] == want)) ++wrong;
    }
    expect(wrong == 0, std::string(kernel) + " " + names[op] + ": " + std::to_string(wrong) + " wrong");
  }
}

std::vector<G1Affine> some_points(size_t count, uint64_t seed) {
  std::vector<G1Affine> out;
  const G1Affine g{Fp::one(), Fp::of(2)};
  G1 step = G1::of(g), own = step;
  for (uint64_t i = 0; i < seed % 64; ++i) step = step.doubled() + g;
  std::vector<G1> sums;
  for (size_t i = 0; i < count; ++i) sums.push_back(own = own + step);
  std::vector<Fp> inverses;
  for (const G1& s : sums) inverses.push_back(s.zzz);
  invert_all(std::span<Fp>(inverses));
  for (size_t i = 0; i < count; ++i) {
    const Fp root = inverses[i] * sums[i].zz;
    out.push_back({sums[i].x * root * root, sums[i].y * inverses[i]});
  }
  return out;
}

bool same(const G1& a, const G1& b) { return a.x == b.x && a.y == b.y && a.zz == b.zz && a.zzz == b.zzz; }

void compare_points(const Card& card) {
  const std::vector<G1Affine> points = some_points(64, 5);
  const G1Affine none{Fp::zero(), Fp::zero()};
  std::vector<G1> sums;
  std::vector<G1Affine> others;
  for (size_t i = 0; i < 64; ++i) {
    const G1 own = G1::of(points[i]);
    // Any sum, twice the same point in two spellings, a point and its opposite, and nothing.
    sums.push_back(i % 8 == 7 ? G1::infinity() : i % 4 == 1 ? own : own.doubled() + points[(i + 1) % 64]);
    others.push_back(i % 8 == 6 ? none : i % 16 == 5 ? -points[i] : i % 8 == 2 ? sums[i].affine() : points[i]);
  }
  sums[1] = sums[0];
  sums[3] = G1::of(-sums[2].affine());
  const uint32_t count = 64;
  const Buffer on_sums = sent(card, sums), on_others = sent(card, others), out(card, 3 * count * sizeof(G1));
  card->launch({"zk_point_operations", 1, 128}, on_sums.at(), on_others.at(), count, out.at());
  const std::vector<G1> made = received<G1>(out.at(), 3 * count);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "points " + std::to_string(i);
    expect(same(made[3 * i], sums[i] + others[i]), name + ": sum with an affine one");
    expect(same(made[3 * i + 1], sums[i] + sums[(i + 1) % count]), name + ": sum");
    expect(same(made[3 * i + 2], sums[i].doubled()), name + ": twice");
  }
}

struct Scalars {
  std::string name;
  std::function<Fr(size_t, uint64_t&)> at;
};

void compare_scalar_sums(const Card& card, bool small) {
  const Scalars kinds[] = {
      {"any", [](size_t, uint64_t& state) { return drawn_number<Fr>(state); }},
      {"one value", [](size_t, uint64_t&) { return Fr::zero() - Fr::of(5); }},
      {"zeros", [](size_t, uint64_t&) { return Fr::zero(); }},
      {"extremes", [](size_t i, uint64_t&) { return i % 3 == 0 ? Fr::zero() - Fr::one() : i % 3 == 1 ? Fr::one() : Fr::zero() - Fr::of(i); }},
      {"seldom", [](size_t i, uint64_t& state) { return i % 97 == 0 ? drawn_number<Fr>(state) : Fr::zero(); }}};
  cuda::Msm msm(card);
  for (const size_t count : {size_t{1}, size_t{2}, size_t{16}, size_t{100}, size_t{1000}, size_t{4096}, size_t{30011}}) {
    if (small && count > 100) continue;
    std::vector<G1Affine> points = some_points(count, count);
    if (count == 100) points[7] = {Fp::zero(), Fp::zero()}, points[8] = points[9], points[11] = -points[10];
    const Buffer on_points = sent(card, points);
    for (const Scalars& kind : kinds) {
      if (count > 5000 && &kind != kinds) continue;
      uint64_t state = count;
      std::vector<Fr> scalars;
      std::vector<uint64_t> plain;
      for (size_t i = 0; i < count; ++i) {
        scalars.push_back(kind.at(i, state));
        const Fr own = scalars.back().plain();
        plain.insert(plain.end(), own.w, own.w + 4);
      }
      const Buffer on_scalars = sent(card, scalars);
      expect(msm.of_scalars(on_points.at(), on_scalars.at(), static_cast<uint32_t>(count)) == assay::msm(points, plain, 4).affine(),
             "sum of " + std::to_string(count) + " points, " + kind.name);
    }
  }
}

void compare_number_sums(const Card& card, bool small) {
  cuda::Msm msm(card);
  const size_t count = small ? 500 : 20000;
  const std::vector<G1Affine> points = some_points(count, 3);
  const Buffer on_points = sent(card, points);
  for (const unsigned bits : {1u, 2u, 7u, 8u, 12u, 14u, 16u, 21u, 31u, 40u, 62u, 63u}) {
    uint64_t state = bits;
    std::vector<int64_t> numbers;
    std::vector<G1Affine> turned;
    std::vector<uint64_t> sizes;
    for (size_t i = 0; i < count; ++i) {
      int64_t own = static_cast<int64_t>(drawn(state) >> (64 - bits));
      if (i % 5 == 0) own = (int64_t{1} << (bits - 1)) - 1 + (int64_t{1} << (bits - 1));
      if (bits > 1 && i % 2 == 1) own = -own;
      numbers.push_back(own);
      sizes.push_back(static_cast<uint64_t>(own < 0 ? -own : own));
      turned.push_back(own < 0 ? -points[i] : points[i]);
    }
    const Buffer on_numbers = sent(card, numbers);
    expect(msm.of_numbers(on_points.at(), on_numbers.at(), static_cast<uint32_t>(count)) == assay::msm(turned, sizes, 1).affine(),
           "sum by numbers of " + std::to_string(bits) + " bits");
  }
  const Buffer least = sent(card, std::vector<int64_t>{INT64_MIN, INT64_MIN + 1, INT64_MAX});
  const std::vector<G1Affine> turned = {-points[0], -points[1], points[2]};
  const std::vector<uint64_t> sizes = {uint64_t{1} << 63, (uint64_t{1} << 63) - 1, (uint64_t{1} << 63) - 1};
  expect(msm.of_numbers(on_points.at(), least.at(), 3) == assay::msm(turned, sizes, 1).affine(), "the least number");
  const Buffer zeros = sent(card, std::vector<int64_t>(3));
  expect(msm.of_numbers(on_points.at(), zeros.at(), 3).is_infinity(), "numbers that are zeros");
}

Fr power_of(Fr x, uint64_t exponent) {
  Fr result = Fr::one();
  for (; exponent != 0; exponent /= 2, x = x * x)
    if (exponent % 2 == 1) result = result * x;
  return result;
}

G1Affine generator_times(const Fr& scalar) {
  const std::vector<G1Affine> one = {{Fp::one(), Fp::of(2)}};
  const Fr plain = scalar.plain();
  const std::vector<uint64_t> words(plain.w, plain.w + 4);
  return assay::msm(one, words, 4).affine();
}

// Σ s_i·[τ^i] is (Σ s_i·τ^i)·G.
void check_large(const Card& card, unsigned log2) {
  const size_t count = size_t{1} << log2;
  uint64_t state = 7;
  const Fr tau = drawn_number<Fr>(state);
  const Buffer powers(card, count * sizeof(G1Affine));
  cuda::make_powers(card, tau, count, powers.at());
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, count / 2 + 1, count - 1}) {
    const G1Affine own = received<G1Affine>(powers.at(i * sizeof(G1Affine)), 1)[0];
    expect(own == generator_times(power_of(tau, i)), "power " + std::to_string(i));
  }
  std::vector<Fr> scalars(count);
  std::vector<int64_t> numbers(count), bits(count);
  Fr power = Fr::one(), all = Fr::zero(), of_numbers = Fr::zero(), of_bits = Fr::zero();
  for (size_t i = 0; i < count; ++i, power = power * tau) {
    scalars[i] = drawn_number<Fr>(state);
    numbers[i] = static_cast<int64_t>(drawn(state) >> 48) - 32768;
    bits[i] = static_cast<int64_t>(drawn(state) >> 63);
    all = all + scalars[i] * power;
    const Fr size = Fr::of(static_cast<uint64_t>(numbers[i] < 0 ? -numbers[i] : numbers[i])) * power;
    of_numbers = numbers[i] < 0 ? of_numbers - size : of_numbers + size;
    if (bits[i] != 0) of_bits = of_bits + power;
  }
  cuda::Msm msm(card);
  const uint32_t many = static_cast<uint32_t>(count);
  const Buffer on_scalars = sent(card, scalars), on_numbers = sent(card, numbers), on_bits = sent(card, bits);
  const std::string name = "2^" + std::to_string(log2) + " powers";
  expect(msm.of_scalars(powers.at(), on_scalars.at(), many) == generator_times(all), name + ", scalars");
  expect(msm.of_numbers(powers.at(), on_numbers.at(), many) == generator_times(of_numbers), name + ", numbers of 16 bits");
  expect(msm.of_numbers(powers.at(), on_bits.at(), many) == generator_times(of_bits), name + ", bits");
}

void compare_commitments(zk::ProofMemory& cpu, zk::ProofMemory& gpu) {
  const std::vector<G1Affine> points = some_points(1000, 9);
  cpu.set_powers(points), gpu.set_powers(points);
  uint64_t state = 3;
  std::vector<Fr> scalars;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < 1500; ++i) {
    scalars.push_back(drawn_number<Fr>(state));
    numbers.push_back(static_cast<int64_t>(drawn(state)) >> 40);
  }
  const auto committed = [&](zk::ProofMemory& memory) {
    const zk::ListPtr some = memory.scalars(scalars), small = memory.numbers(numbers), none = memory.zeros(64);
    const std::vector<zk::Slice> slices = {{some, 0, 1000}, {some, 500, 1000}, {small, 1, 999}, {small, 1400, 100}, all_of(none), {some, 0, 0}};
    return memory.commit(slices);
  };
  expect(committed(cpu) == committed(gpu), "commitments");
}

assay_test::SegmentSizes drawn_sizes(assay_test::Draw& draw) {
  const unsigned step_bits = draw.from(0, 2), batch_bits = draw.from(0, 2), h = draw.from(4, 7), activation = draw.from(0, 2);
  std::vector<uint32_t> sizes;
  for (unsigned i = draw.from(2, 5); i > 0; --i) sizes.push_back(draw.from(1, 6));
  return {2 * draw.from(2, 5), step_bits, batch_bits, step_bits + batch_bits + draw.from(0, 2), draw.from(2, 7), h, h + draw.from(1, 3), activation,
          activation + draw.from(0, 2), {draw.from(2, 5), draw.from(2, 5), draw.from(2, 5)}, sizes, draw.from(0, 1) == 1};
}

// Whole proofs, byte for byte: of plans of all shapes, and of two that a program has.
void compare_proofs(const Card& card, Device& gpu, bool small) {
  const auto host = make_cpu_device(std::max(1u, std::thread::hardware_concurrency()));
  constexpr size_t kPowers = 1 << 14;
  const Buffer powers(card, kPowers * sizeof(G1Affine));
  uint64_t state = 5;
  cuda::make_powers(card, drawn_number<Fr>(state), kPowers, powers.at());
  const std::vector<G1Affine> points = received<G1Affine>(powers.at(), kPowers);
  assay_test::Draw draw(1);
  // Whether there is a proof.
  const auto compare_one = [&](const zk::ProofPlan& plan, const zk::SegmentStart& start, const std::string& name, bool is_run) {
    assay_test::DrawnProof proofs[2];
    for (Device* device : {host.get(), &gpu}) {
      const auto memory = device->proof_kernels()->prepare(plan.bytes());
      memory->set_powers(std::span(points).first(plan.chunk()));
      proofs[device == &gpu] = assay_test::proof_of(plan, *memory, start, is_run);
    }
    expect(proofs[0] == proofs[1], name + (proofs[0].left.empty() ? "" : ", which has no proof: " + proofs[0].left + "; " + proofs[1].left));
    return proofs[0].left.empty();
  };
  unsigned tried = 0, refused = 0;
  for (unsigned made = 0; made < (small ? 2u : 300u); ++tried) {
    const zk::ProofPlan plan = assay_test::plan_of(drawn_sizes(draw));
    const bool is_made = compare_one(plan, assay_test::start_of(plan, draw, 3, std::min(16, 1 << (plan.low_bits + 1))), "proof of plan " + std::to_string(tried), tried % 2 == 0);
    ++(is_made ? made : refused);
  }
  std::printf("plans: %u, of which %u have no proof\n", tried, refused);
  if (small) return;
  for (const auto& sizes : {std::vector<uint32_t>{64, 128, 128, 10}, std::vector<uint32_t>{33, 100, 17, 70, 5}, std::vector<uint32_t>{200, 300, 140, 7}}) {
    const bool is_wide = sizes.size() == 4;
    const std::vector<uint32_t> limbs = is_wide ? std::vector<uint32_t>{13, 13, 13} : std::vector<uint32_t>{11, 10, 10};
    const zk::ProofPlan plan = assay_test::plan_of({14, 2, 3, 6, 26, 12, 14, 8, 12, limbs, sizes, is_wide});
    const bool is_made = compare_one(plan, assay_test::start_of(plan, draw, 255, 1 << 19), "proof of an MLP of " + std::to_string(sizes.size() - 1) + " links", true);
    expect(is_made, "a run stays in its ranges");
  }
}

void compare_memories(Device& gpu, bool small) {
  const auto host = make_cpu_device(std::max(1u, std::thread::hardware_concurrency()));
  const auto a = host->proof_kernels()->prepare(1 << 20), b = gpu.proof_kernels()->prepare(1 << 20);
  for (const unsigned log2 : {2u, 3u, 5u, 8u, 11u, 14u, 17u})
    if (!small || log2 < 9) assay_test::MemoryChecks(*a, *b, expect).run(log2);
  assay_test::MemoryChecks crossed(*a, *b, expect);
  for (const size_t count : {0, 1, 2, 3, 4, 5, 8, 9, 31, 33, 100, 1000}) crossed.check_crossed(count, count - count / 3, true);
  if (small) return compare_commitments(*a, *b);
  for (const unsigned log2 : {12u, 13u, 15u, 16u, 18u, 19u, 20u}) crossed.check_crossed((size_t{1} << log2) + 1, size_t{1} << log2, false);
  // Too many for a CPU.
  for (const unsigned log2 : {22u, 24u, 26u}) assay_test::MemoryChecks(*b, *b, expect).check_crossed((size_t{1} << log2) + 1, size_t{1} << log2, false);
  compare_commitments(*a, *b);
}

void check_refused(Device& gpu) {
  try {
    zk::ProveSession session(*gpu.proof_kernels(), assay_test::softmax_plan());
    expect(false, "softmax on a card");
  } catch (const EngineError& error) {
    expect(error.code() == ErrorCode::unsupported, "softmax on a card is unsupported");
  }
}

void compare(const Card& card, bool small) {
  card->enter();
  card->load_proofs();
  const auto so_far = [](const char* what) {
    std::printf("%s: %u passed, %u failed so far\n", what, passed, failed);
    std::fflush(stdout);
  };
  compare_fields<Fr>(card, "zk_scalar_operations");
  compare_fields<Fp>(card, "zk_coordinate_operations");
  compare_points(card);
  so_far("fields and points");
  compare_scalar_sums(card, small);
  compare_number_sums(card, small);
  so_far("sums");
  check_large(card, small ? 10 : 18);
  if (!small) check_large(card, 24);
  so_far("large sums");
}

}  // namespace

int main(int argc, char** argv) {
  const bool small = argc > 1 && std::strcmp(argv[1], "--small") == 0;
  FoundDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("no GPU: %s\n", found.driver.why_none.c_str());
    return 77;
  }
  for (const auto& device : found.devices) {
    try {
      compare(static_cast<cuda::CudaDevice&>(*device).shared_context(), small);
      check_refused(*device);
      compare_memories(*device, small);
      std::printf("lists: %u passed, %u failed so far\n", passed, failed);
      std::fflush(stdout);
      compare_proofs(static_cast<cuda::CudaDevice&>(*device).shared_context(), *device, small);
    } catch (const EngineError& error) {
      expect(false, std::string("no error: ") + error.what());
    }
  }
  std::printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
