// Keys of Groth16: their bytes, and keys of known secrets.
#include <mutex>
#include <string>

#include "core/portable.hpp"
#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/cpu/cpu_list.hpp"
#include "zk/groth16/groth16.hpp"
#include "zk/groth16/roots.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

namespace {

constexpr size_t kKeyHead = 12, kFirstBytes = 64, kSecondBytes = 128;

void need_key(bool is_right, const std::string& what) {
  if (!is_right) throw EngineError(ErrorCode::bad_request, "the key has " + what);
}

class KeyReader {
 public:
  explicit KeyReader(std::span<const uint8_t> bytes) : at_(bytes.data()) {}
  void read(G1Affine& point) {
    need_key(read_point(at_, point), "what is no point of the curve");
    at_ += kFirstBytes;
  }
  void read(G2Affine& point) {
    need_key(read_point(at_, point), "what is no point of the second curve");
    at_ += kSecondBytes;
  }
  template <typename Point>
  void read(std::vector<Point>& list, size_t count) {
    list.resize(count);
    for (Point& one : list) read(one);
  }

 private:
  const uint8_t* at_;
};

class CpuPointMaker final : public PointMaker {
 public:
  explicit CpuPointMaker(ThreadPool& pool) : pool_(pool) {}
  std::vector<G1Affine> first(std::span<const Fr> scalars) override { return made<Fp>({Fp::one(), Fp::of(2)}, scalars); }
  std::vector<G2Affine> second(std::span<const Fr> scalars) override { return made<Fp2>(second_generator(), scalars); }

 private:
  template <typename F>
  std::vector<AffinePoint<F>> made(const AffinePoint<F>& generator, std::span<const Fr> scalars) {
    const std::vector<AffinePoint<F>> table = multiples_table<F>(generator);
    std::vector<AffinePoint<F>> points(scalars.size());
    in_pieces(pool_, scalars.size(), 16, [&](size_t from, size_t to, size_t) {
      std::vector<PointSum<F>> sums;
      for (size_t i = from; i < to; ++i) sums.push_back(multiple_of<F>(table, scalars[i]));
      const std::vector<AffinePoint<F>> own = to_affine<F>(sums);
      std::copy(own.begin(), own.end(), points.begin() + static_cast<ptrdiff_t>(from));
    });
    return points;
  }
  ThreadPool& pool_;
};

// The polynomial that is 1 at one of the roots and 0 at all others, at τ, for each root: (τ^size - 1)·root^i
// / (size·(τ - root^i)).
std::vector<Fr> lagrange_at(ThreadPool& pool, const Fr& tau, unsigned log2) {
  const size_t size = size_t{1} << log2;
  std::vector<Fr> list(size, Fr::one()), below(size);
  times_powers(pool, list, root_of_one(log2), Fr::one());
  const Fr zero = power_of(tau, size) - Fr::one(), many = Fr::of(size);
  in_pieces(pool, size, 1024, [&](size_t from, size_t to, size_t) {
    for (size_t i = from; i < to; ++i) below[i] = many * (tau - list[i]);
    invert_all(std::span(below).subspan(from, to - from));
    for (size_t i = from; i < to; ++i) list[i] = zero * list[i] * below[i];
  });
  return list;
}

}  // namespace

G2Affine second_generator() {
  const auto coordinate = [](const char* hex) {
    uint8_t bytes[32];
    for (int i = 0; i < 32; ++i) {
      const auto digit = [](char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
      bytes[i] = static_cast<uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    }
    Fp out;
    Fp::from_bytes(bytes, out);
    return out;
  };
  return {{coordinate("1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"), coordinate("198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2")},
          {coordinate("12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"), coordinate("090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b")}};
}

WirePolynomials wires_at(ThreadPool& pool, const Circuit& circuit, const Fr& tau) {
  const std::vector<Fr> lagrange = lagrange_at(pool, tau, circuit.log2());
  WirePolynomials at;
  for (std::vector<Fr>& list : at.own) list.assign(circuit.wires, Fr::zero());
  for (const Section& section : circuit.sections) {
    // What copies have in common is added by one at a time.
    const uint32_t shared = section.copies == 1 || section.steps.empty() ? 0 : section.steps[0].first;
    std::mutex mutex;
    pool.run(section.copies, [&](uint64_t copy) {
      std::vector<Fr> common[3];
      for (std::vector<Fr>& list : common) list.assign(shared, Fr::zero());
      uint64_t row = section.number + copy * section.constraints.size();
      for (const Constraint& one : section.constraints) {
        uint64_t term = one.at;
        const auto add = [&](size_t k, uint32_t wire, const Fr& more) {
          Fr& to = wire < shared ? common[k][wire] : at.own[k][section.wire_in(wire, static_cast<uint32_t>(copy))];
          to = to + more;
        };
        for (size_t k = 0; k < 3; ++k)
          for (const uint64_t end = term + one.counts[k]; term < end; ++term)
            add(k, section.terms[term].wire, circuit.coefficients[section.terms[term].coefficient] * lagrange[row]);
        if (one.product != 0) add(2, one.product, lagrange[row]);
        ++row;
      }
      const std::lock_guard lock(mutex);
      for (size_t k = 0; k < 3; ++k)
        for (uint32_t i = 0; i < shared; ++i) at.own[k][i] = at.own[k][i] + common[k][i];
    });
  }
  for (uint32_t i = 0; i <= circuit.inputs; ++i) at.own[0][i] = at.own[0][i] + lagrange[circuit.constraints + i];
  return at;
}

std::unique_ptr<PointMaker> cpu_point_maker(ThreadPool& pool) { return std::make_unique<CpuPointMaker>(pool); }

Groth16Key make_key(ThreadPool& pool, PointMaker& points, const Circuit& circuit, const KeySecrets& of) {
  const unsigned log2 = circuit.log2();
  const WirePolynomials at = wires_at(pool, circuit, of.tau);
  const Fr by_gamma = of.gamma.inverted(), by_delta = of.delta.inverted();
  std::vector<Fr> joined(circuit.wires);
  in_pieces(pool, joined.size(), 1024, [&](size_t from, size_t to, size_t) {
    for (size_t i = from; i < to; ++i)
      joined[i] = (of.beta * at.own[0][i] + of.alpha * at.own[1][i] + at.own[2][i]) * (i <= circuit.inputs ? by_gamma : by_delta);
  });
  std::vector<Fr> powers((size_t{1} << log2) - 1, Fr::one());
  times_powers(pool, powers, of.tau, (power_of(of.tau, size_t{1} << log2) - Fr::one()) * by_delta);
  const std::vector<G1Affine> firsts = points.first(std::vector<Fr>{of.alpha, of.beta, of.delta});
  const std::vector<G2Affine> seconds = points.second(std::vector<Fr>{of.beta, of.gamma, of.delta});
  const std::span<const Fr> all(joined);
  return {firsts[0], firsts[1], firsts[2], seconds[0], seconds[1], seconds[2], points.first(all.first(circuit.inputs + 1)), points.first(at.own[0]),
          points.first(at.own[1]), points.second(at.own[1]), points.first(all.subspan(circuit.inputs + 1)), points.first(powers)};
}

Groth16Key read_key(std::span<const uint8_t> bytes) {
  need_key(bytes.size() >= kKeyHead, "another length");
  const uint64_t inputs = load_le32(bytes.data()), wires = load_le32(bytes.data() + 4), log2 = load_le32(bytes.data() + 8);
  need_key(inputs < wires && log2 >= 1 && log2 <= kMostRootBits, "numbers out of range");
  const uint64_t powers = (uint64_t{1} << log2) - 1, others = wires - inputs - 1;
  const uint64_t firsts = 3 + (inputs + 1) + 2 * wires + others + powers, seconds = 3 + wires;
  need_key(bytes.size() - kKeyHead == kFirstBytes * firsts + kSecondBytes * seconds, "another length");
  KeyReader reader(bytes.subspan(kKeyHead));
  Groth16Key key;
  for (G1Affine* one : {&key.alpha1, &key.beta1, &key.delta1}) reader.read(*one);
  for (G2Affine* one : {&key.beta2, &key.gamma2, &key.delta2}) reader.read(*one);
  reader.read(key.inputs, inputs + 1);
  reader.read(key.a, wires);
  reader.read(key.b1, wires);
  reader.read(key.b2, wires);
  reader.read(key.others, others);
  reader.read(key.powers, powers);
  return key;
}

}  // namespace assay::zk
