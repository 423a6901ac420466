// Proofs of Groth16 against vectors/groth16.json, and what is refused; circuits that are drawn, of any size.
#pragma once
#include "bn254_checks.hpp"
#include "engine_error.hpp"
#include "zk/groth16/groth16.hpp"
#include "zk/scalar_lists.hpp"
#include "zk/transcript.hpp"

namespace assay_test {

inline std::vector<assay::Fr> scalars_of(const std::string& hex) {
  std::vector<assay::Fr> list;
  for (size_t at = 0; at < hex.size(); at += 64) list.push_back(number_of<assay::Fr>(hex.substr(at, 64)));
  return list;
}

inline assay::zk::KeySecrets secrets_of(const std::string& hex) {
  const std::vector<assay::Fr> list = scalars_of(hex);
  return {list.at(0), list.at(1), list.at(2), list.at(3), list.at(4)};
}

inline bool operator==(const assay::zk::Groth16Key& a, const assay::zk::Groth16Key& b) {
  return a.alpha1 == b.alpha1 && a.beta1 == b.beta1 && a.delta1 == b.delta1 && a.beta2 == b.beta2 && a.gamma2 == b.gamma2 && a.delta2 == b.delta2 &&
         a.inputs == b.inputs && a.a == b.a && a.b1 == b.b1 && a.b2 == b.b2 && a.others == b.others && a.powers == b.powers;
}

// The proof that who knows a key's secrets makes without any of its lists.
inline std::vector<uint8_t> known_proof(assay::ThreadPool& pool, const assay::zk::Circuit& circuit, const assay::zk::KeySecrets& of, const assay::zk::Solved& solved,
                                        const assay::Fr& r, const assay::Fr& s) {
  using namespace assay;
  const zk::WirePolynomials at = zk::wires_at(pool, circuit, of.tau);
  Fr sums[3], others = Fr::zero();
  for (size_t k = 0; k < 3; ++k) {
    sums[k] = Fr::zero();
    for (size_t i = 0; i < solved.wires.size(); ++i) sums[k] = sums[k] + solved.wires[i] * at.own[k][i];
  }
  for (size_t i = circuit.inputs + 1; i < solved.wires.size(); ++i)
    others = others + solved.wires[i] * (of.beta * at.own[0][i] + of.alpha * at.own[1][i] + at.own[2][i]);
  const Fr a = of.alpha + sums[0] + r * of.delta, b = of.beta + sums[1] + s * of.delta;
  const Fr c = (others + sums[0] * sums[1] - sums[2]) * of.delta.inverted() + s * a + r * b - r * s * of.delta;
  const auto points = zk::cpu_point_maker(pool);
  const std::vector<G1Affine> firsts = points->first(std::vector<Fr>{a, c});
  std::vector<uint8_t> proof;
  zk::append(proof, firsts[0]);
  zk::append(proof, points->second(std::vector<Fr>{b})[0]);
  zk::append(proof, firsts[1]);
  return proof;
}

// `copies` of so many constraints, each of which makes a wire of sums of up to 2·terms - 1 wires that were
// there before it.
inline assay::zk::Circuit drawn_circuit(uint32_t copies, uint32_t constraints, uint32_t terms) {
  using namespace assay;
  constexpr uint32_t kInputs = 3, kSecrets = 64;
  uint64_t state = 99;
  const auto draw = [&](uint32_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>((state >> 33) % below);
  };
  const uint32_t own = kSecrets + constraints, first = kInputs + 1;
  zk::Circuit circuit{};
  circuit.inputs = kInputs;
  circuit.wires = first + copies * own;
  circuit.coefficients = {Fr::one(), Fr::zero() - Fr::one()};
  for (uint32_t i = 0; i < 4096; ++i) circuit.coefficients.push_back(circuit.coefficients.back() * Fr::of(0x9E3779B97F4A7C15) + Fr::of(i));
  for (uint32_t copy = 0; copy < copies; ++copy)
    for (uint32_t i = 0; i < kSecrets; ++i) circuit.secrets.push_back(first + copy * own + i);
  zk::Section section{copies, {{first, own}}, {}, {}, 0};
  for (uint32_t i = 0; i < constraints; ++i) {
    zk::Constraint one{section.terms.size(), {1 + draw(2 * terms - 1), 1 + draw(2 * terms - 1), 0}, first + kSecrets + i};
    // Mostly of what was made not long before.
    for (uint32_t k = 0; k < one.counts[0] + one.counts[1]; ++k)
      section.terms.push_back({draw(20) == 0 ? draw(first) : first + kSecrets + i - 1 - draw(std::min(kSecrets + i, 300u)), draw(4098)});
    section.constraints.push_back(one);
  }
  circuit.sections.push_back(std::move(section));
  circuit.constraints = uint64_t{copies} * constraints;
  return circuit;
}

inline std::vector<assay::Fr> drawn_scalars(size_t count, uint64_t seed) {
  std::vector<assay::Fr> list;
  assay::Fr now = assay::Fr::of(seed) * assay::Fr::of(0xD1342543DE82EF95);
  for (size_t i = 0; i < count; ++i) list.push_back(now = now * now + assay::Fr::of(i + 1));
  return list;
}

inline bool is_refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const assay::EngineError& error) {
    return error.code() == assay::ErrorCode::bad_request;
  }
  return false;
}

// Few: a part of what is cut or changed, where each takes long.
inline void test_groth16(const std::string& folder, bool has_few) {
  using namespace assay;
  ThreadPool pool(2);
  const auto points = zk::cpu_point_maker(pool);
  for (const Row& row : read_vectors(folder, "groth16")) {
    const std::string name = "groth16.json " + row.text("name");
    const std::vector<uint8_t> bytes = from_hex(row.text("circuit")), key_bytes = from_hex(row.text("key"));
    const zk::Circuit circuit = zk::read_circuit(bytes);
    const zk::Groth16Key key = zk::read_key(key_bytes);
    const std::vector<Fr> inputs = scalars_of(row.text("inputs")), secrets = scalars_of(row.text("secrets")), blinders = scalars_of(row.text("blinders"));
    const zk::Solved solved = zk::solve(pool, circuit, inputs, secrets);
    const std::vector<uint8_t> proof = zk::prove_groth16(*zk::cpu_groth16(pool, key), key, solved, blinders[0], blinders[1]);
    check(to_hex(proof.data(), proof.size()) == row.text("proof"), name + ": the proof");
    const zk::KeySecrets known = secrets_of(row.text("known"));
    check(zk::make_key(pool, *points, circuit, known) == key, name + ": the key");
    check(known_proof(pool, circuit, known, solved, blinders[0], blinders[1]) == proof, name + ": the proof of who knows all");
    bool are_all = true;
    for (size_t size = 0; size < bytes.size(); size += has_few ? 7 : 1) are_all = are_all && is_refused([&] { zk::read_circuit(std::span(bytes).first(size)); });
    for (const size_t size : {size_t{0}, size_t{11}, key_bytes.size() - 1}) are_all = are_all && is_refused([&] { zk::read_key(std::span(key_bytes).first(size)); });
    for (size_t at = 12; at < key_bytes.size(); at += has_few ? 4999 : 997) {
      std::vector<uint8_t> changed = key_bytes;
      changed[at] ^= 4;
      are_all = are_all && is_refused([&] { zk::read_key(changed); });
    }
    check(are_all, name + ": what is cut, or no point, is refused");
    // Whatever is changed: refused, or a circuit that can be solved or not.
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += has_few ? 43 : 5) {
      std::vector<uint8_t> changed = bytes;
      changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      try {
        const zk::Circuit other = zk::read_circuit(changed);
        if (other.wires < 4096 && other.constraints < 4096) zk::solve(pool, other, inputs, secrets);
      } catch (const EngineError& error) {
        if (error.code() != ErrorCode::bad_request) check(false, name + ": another error");
      }
    }
  }
}

}  // namespace assay_test
