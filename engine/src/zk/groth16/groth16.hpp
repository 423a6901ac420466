// Groth16 (ePrint 2016/260) over BN254: keys and proofs of circuits, docs/zk.md §13. What is computed where
// is a device's matter; proofs are the same on all. The reference is vectors/naive-groth16.ts.
#pragma once
#include <memory>

#include "zk/groth16/circuit.hpp"

namespace assay::zk {

struct Groth16Key {
  G1Affine alpha1, beta1, delta1;
  G2Affine beta2, gamma2, delta2;
  // Of 1 and the inputs.
  std::vector<G1Affine> inputs;
  // By wire; of the wires that are no inputs; of powers of τ.
  std::vector<G1Affine> a, b1;
  std::vector<G2Affine> b2;
  std::vector<G1Affine> others, powers;
  // `powers` are of the polynomials that are 1 at one place of the coset of root_of_one(log2 + 1) and 0 at
  // all others of it and of the roots: as many as there are roots.
  bool has_values = false;
};

// Points as x ‖ y, big-endian; of the second group with imaginary parts first. In the order of Groth16Key,
// after the numbers of inputs and wires and log2, u32 each, little-endian. Each is on its curve. Throws
// EngineError bad_request.
Groth16Key read_key(std::span<const uint8_t> bytes);

// Who knows them can prove anything.
struct KeySecrets {
  Fr tau, alpha, beta, gamma, delta;
};
// The polynomials of each wire in a, b and c, at τ.
struct WirePolynomials {
  std::vector<Fr> own[3];
};
WirePolynomials wires_at(ThreadPool& pool, const Circuit& circuit, const Fr& tau);
// Multiples of the generators of both groups.
class PointMaker {
 public:
  virtual ~PointMaker() = default;
  virtual std::vector<G1Affine> first(std::span<const Fr> scalars) = 0;
  virtual std::vector<G2Affine> second(std::span<const Fr> scalars) = 0;
};
std::unique_ptr<PointMaker> cpu_point_maker(ThreadPool& pool);
// A key for tests and measurements.
Groth16Key make_key(ThreadPool& pool, PointMaker& points, const Circuit& circuit, const KeySecrets& secrets);
G2Affine second_generator();

// Σ wire·point of each list of a key, and of the coefficients of (a·b − c)/(X^size − 1), or of the values of
// a·b − c on the coset.
struct KeySums {
  G1Affine a, b1, others, powers;
  G2Affine b2;
};
class Groth16Device {
 public:
  virtual ~Groth16Device() = default;
  virtual KeySums sums(const Solved& solved) = 0;
};
// The key outlives it.
std::unique_ptr<Groth16Device> cpu_groth16(ThreadPool& pool, const Groth16Key& key);

// A, B, C, 256 bytes. `r`, `s`: what hides the wires.
std::vector<uint8_t> prove_groth16(Groth16Device& device, const Groth16Key& key, const Solved& solved, const Fr& r, const Fr& s);

}  // namespace assay::zk
