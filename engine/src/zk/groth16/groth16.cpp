// See groth16.hpp. Keys are in groth16_key.cpp.
#include "zk/groth16/groth16.hpp"

#include <bit>

#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/cpu/cpu_list.hpp"
#include "zk/groth16/roots.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

namespace {

constexpr size_t kPointsAtLeast = 256;

class CpuGroth16 final : public Groth16Device {
 public:
  CpuGroth16(ThreadPool& pool, const Groth16Key& key) : pool_(pool), key_(key) {}

  KeySums sums(const Solved& solved) override {
    const std::span<const Fr> wires(solved.wires);
    const std::vector<Fr> coefficients = quotient(solved);
    return {sum_of<Fp>(key_.a, wires), sum_of<Fp>(key_.b1, wires), sum_of<Fp>(key_.others, wires.subspan(key_.inputs.size())),
            sum_of<Fp>(key_.powers, std::span(coefficients).first(key_.powers.size())), sum_of<Fp2>(key_.b2, wires)};
  }

 private:
  template <typename F>
  AffinePoint<F> sum_of(std::span<const AffinePoint<F>> points, std::span<const Fr> scalars) {
    std::vector<PointSum<F>> parts(most_pieces(pool_), PointSum<F>::infinity());
    in_pieces(pool_, points.size(), kPointsAtLeast, [&](size_t from, size_t to, size_t piece) {
      std::vector<uint64_t> words;
      for (size_t i = from; i < to; ++i) {
        const Fr plain = scalars[i].plain();
        words.insert(words.end(), plain.w, plain.w + 4);
      }
      parts[piece] = msm_of<F>(points.subspan(from, to - from), words, 4);
    });
    PointSum<F> sum = PointSum<F>::infinity();
    for (const PointSum<F>& part : parts) sum = sum + part;
    return sum.affine();
  }

  // By values on a coset, where X^size - 1 is one number, and not 0.
  std::vector<Fr> quotient(const Solved& solved) {
    std::vector<Fr> a = solved.a, b = solved.b, c = solved.c;
    const size_t size = a.size();
    const unsigned log2 = bits_for_size(size);
    const Fr root = root_of_one(log2), back = root.inverted(), share = Fr::of(size).inverted(), shift = key_.has_values ? root_of_one(log2 + 1) : coset_shift();
    for (std::vector<Fr>* list : {&a, &b, &c}) {
      transform(pool_, *list, back);
      times_powers(pool_, *list, shift, share);
      transform(pool_, *list, root);
    }
    // Points of values have it in them.
    const Fr under = key_.has_values ? Fr::one() : (power_of(shift, size) - Fr::one()).inverted();
    in_pieces(pool_, size, 1024, [&](size_t from, size_t to, size_t) {
      for (size_t i = from; i < to; ++i) a[i] = (a[i] * b[i] - c[i]) * under;
    });
    if (key_.has_values) return a;
    transform(pool_, a, back);
    times_powers(pool_, a, shift.inverted(), share);
    return a;
  }

  static unsigned bits_for_size(size_t size) { return static_cast<unsigned>(std::countr_zero(size)); }

  ThreadPool& pool_;
  const Groth16Key& key_;
};

}  // namespace

std::unique_ptr<Groth16Device> cpu_groth16(ThreadPool& pool, const Groth16Key& key) { return std::make_unique<CpuGroth16>(pool, key); }

std::vector<uint8_t> prove_groth16(Groth16Device& device, const Groth16Key& key, const Solved& solved, const Fr& r, const Fr& s) {
  if (solved.wires.size() != key.a.size() || solved.a.size() != key.powers.size() + (key.has_values ? 0 : 1)) throw EngineError(ErrorCode::bad_request, "the key is of another circuit");
  const KeySums sums = device.sums(solved);
  const G1Affine a = (times_scalar(key.delta1, r) + sums.a + key.alpha1).affine();
  const G2Affine b2 = (times_scalar(key.delta2, s) + sums.b2 + key.beta2).affine();
  const G1Affine b1 = (times_scalar(key.delta1, s) + sums.b1 + key.beta1).affine();
  const G1 c = times_scalar(a, s) + times_scalar(b1, r) + times_scalar(key.delta1, Fr::zero() - r * s) + sums.others + sums.powers;
  std::vector<uint8_t> proof;
  append(proof, a);
  append(proof, b2);
  append(proof, c.affine());
  return proof;
}

}  // namespace assay::zk
