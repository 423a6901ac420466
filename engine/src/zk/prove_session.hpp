// A segment to prove, on one device: plan, data, weights and powers as they come, then its commitments, then
// its proof; or several of them, one after the other, and one proof of all. FRAMES.md, "Proofs".
#pragma once
#include <memory>

#include "server/session.hpp"
#include "zk/run/run_fold.hpp"

namespace assay::zk {

class ProveSession {
 public:
  static constexpr char kPlural[] = "proofs";

  ProveSession(ProofKernels& kernels, std::span<const uint8_t> plan);

  const ProofPlan& plan() const { return plan_; }
  // What GIVE names: 0 features, 1 labels, 2 powers, 3 … the weights of each link, then blinders. From the
  // start, in order.
  void give(uint32_t what, uint64_t offset, std::span<const uint8_t> bytes);
  // Runs the segment; points of the statement, 64 bytes each.
  std::vector<uint8_t> commit(const uint8_t seed[32], uint32_t first_step, const std::atomic<bool>& stop, const OnPart& on_part);
  std::vector<uint8_t> prove(const Hash& statement, const OnPart& on_part);
  // The next segment of a run: all but its opening. Then its weights are forgotten, and those of the next one
  // can be given.
  std::vector<uint8_t> prove_part(const Hash& statement, const Hash& nonce, const OnPart& on_part);
  // Of all parts proven so far: the opening that they share, hidden by what follows from the secret. Then
  // they are forgotten.
  std::vector<uint8_t> fold(const Hash& secret, const OnPart& on_part);

 private:
  uint32_t given_blinders() const;
  uint64_t chunks() const;
  uint64_t bytes_of(uint32_t what) const;
  bool is_optional(uint32_t what) const;
  void take_blinders(std::span<const uint8_t> bytes);
  const G1Affine& next_power();
  std::optional<Blinders> blinders();
  void check_given() const;
  uint64_t element_bytes(uint32_t what) const;
  uint64_t weight_bytes() const { return plan_.is_wide ? sizeof(int64_t) : sizeof(int32_t); }
  void take_powers(std::span<const uint8_t> bytes);
  void take_weights(std::vector<int64_t>& weights, std::span<const uint8_t> bytes);

  ProofPlan plan_;
  std::unique_ptr<ProofMemory> memory_;
  SegmentStart start_;
  std::vector<G1Affine> powers_;
  bool has_powers_ = false;
  // The first that chunks do not use.
  std::optional<G1Affine> next_power_;
  std::vector<Fr> blinders_;
  // Bytes that came, of each.
  std::vector<uint64_t> given_;
  std::unique_ptr<SegmentProver> prover_;
  std::vector<FoldPart> parts_;
};

}  // namespace assay::zk
