// A circuit, a key of it, and proofs by both, on one device: FRAMES.md, "Wrapped runs". Sizes are said first,
// and memory is taken for them; what comes must be of these sizes.
#pragma once
#include "core/sha256.hpp"
#include "zk/groth16/groth16.hpp"
#include "zk/sum_prover.hpp"

namespace assay::zk {

// As the session was asked for.
struct WrapShape {
  // 0: points as x ‖ y, big-endian. 1: lists as snarkjs writes them. 2: a key of secrets that everybody
  // knows, which is made here.
  uint32_t form;
  uint64_t inputs, wires, log2, circuit_bytes;

  // Throws EngineError bad_request.
  void check() const;
  uint64_t size() const { return uint64_t{1} << log2; }
  uint64_t key_bytes() const;
  // What a proof takes at most, of the host and of a card.
  uint64_t host_bytes() const;
  uint64_t card_bytes() const;
};

class WrapSession {
 public:
  static constexpr char kPlural[] = "keys";

  // Throws EngineError bad_request or no_memory.
  WrapSession(ProofKernels& kernels, const WrapShape& shape);

  // What GIVE names: 0 the circuit, 1 inputs and secrets, 2 … the key's points. From the start, in order.
  void give(uint32_t what, uint64_t offset, std::span<const uint8_t> bytes);
  // α, β, γ, δ, and the points of 1 and the inputs.
  std::vector<uint8_t> verifying_key(const OnPart& on_part);
  // A proof for the numbers that were given, which are forgotten then.
  std::vector<uint8_t> prove(const Hash& r, const Hash& s, const OnPart& on_part);

 private:
  uint64_t element_bytes(uint32_t what) const;
  uint64_t bytes_of(uint32_t what) const;
  void take_circuit();
  void take_points(uint32_t what, std::span<const uint8_t> bytes);
  void take_ends(std::span<const uint8_t> bytes);
  void need_circuit_whole() const;
  ThreadPool& pool();
  const Groth16Key& key();

  ProofKernels& kernels_;
  WrapShape shape_;
  std::shared_ptr<const void> held_;
  std::unique_ptr<ThreadPool> own_pool_;
  // Bytes of the circuit until all are there.
  std::vector<uint8_t> circuit_bytes_;
  std::optional<Circuit> circuit_;
  std::vector<Fr> numbers_;
  Groth16Key key_;
  bool has_key_ = false;
  std::unique_ptr<Groth16Device> device_;
  // Bytes that came, of each.
  std::vector<uint64_t> given_;
};

}  // namespace assay::zk
