// Segments to prove (docs/zk.md §4), drawn: plans by their sizes, data and weights of which a run stays in
// its ranges.
#pragma once
#include <cstring>

#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/run/run_fold.hpp"

namespace assay_test {

struct SegmentSizes {
  unsigned chunk_bits, step_bits, batch_bits, row_bits, scale, h, d, activation, gradient;
  std::vector<uint32_t> limbs, sizes;
  bool is_wide = false;
};

inline assay::zk::ProofPlan plan_of(const SegmentSizes& of) {
  std::vector<uint32_t> words = {1, of.chunk_bits, of.step_bits, of.batch_bits, of.row_bits, of.scale, of.h, of.d, of.activation, of.gradient};
  words.insert(words.end(), of.limbs.begin(), of.limbs.end());
  words.insert(words.end(), {1, of.is_wide ? 1u : 0u, static_cast<uint32_t>(of.sizes.size() - 1)});
  words.insert(words.end(), of.sizes.begin(), of.sizes.end());
  std::vector<uint8_t> bytes(4 * words.size());
  memcpy(bytes.data(), words.data(), bytes.size());
  return assay::zk::read_proof_plan(bytes);
}

// A plan that cards do not run, as PROVER has it: a link from four numbers to two classes, with softmax.
inline std::vector<uint8_t> softmax_plan() {
  const std::vector<uint32_t> words = {2, 8, 1, 1, 3, 8, 8, 10, 4, 6, 6, 6, 6, 1, 1, 1, 4, 2, 12, 0, 0, 0, 0, 0, 0};
  std::vector<uint8_t> bytes(4 * words.size());
  memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  unsigned from(unsigned least, unsigned most) { return least + static_cast<unsigned>(next() % (most - least + 1)); }
  int32_t within(int64_t most) { return static_cast<int32_t>(static_cast<int64_t>(next() % static_cast<uint64_t>(2 * most + 1)) - most); }

 private:
  uint64_t state_;
};

// `features`, `weights`: the largest there are.
inline assay::zk::SegmentStart start_of(const assay::zk::ProofPlan& plan, Draw& draw, int64_t features, int64_t weights) {
  assay::zk::SegmentStart start;
  start.features.resize(uint64_t{plan.sizes[0]} << plan.row_bits);
  for (int16_t& one : start.features) one = static_cast<int16_t>(draw.within(features));
  start.labels.resize(plan.rows());
  for (int32_t& one : start.labels) one = static_cast<int32_t>(draw.next() % plan.sizes.back());
  for (size_t l = 0; l < plan.links(); ++l) {
    start.weights.emplace_back(uint64_t{plan.sizes[l]} * plan.sizes[l + 1]);
    for (int64_t& one : start.weights.back()) one = draw.within(weights);
  }
  return start;
}

// Points of the statement, then the proof; or what the run says that left its range.
struct DrawnProof {
  std::vector<uint8_t> bytes;
  std::string left;
  bool operator==(const DrawnProof&) const = default;
};

inline std::optional<assay::zk::Blinders> blinders_of(const assay::zk::ProofPlan& plan) {
  assay::zk::Blinders blinders{assay::times_scalar<assay::Fp>({assay::Fp::one(), assay::Fp::of(2)}, assay::Fr::of(77)).affine(), {}};
  uint64_t number = 1000;
  for (unsigned g = 0; g < assay::zk::kGroups; ++g)
    for (uint64_t i = 0; i < plan.groups[g].chunks; ++i) blinders.of_chunks[g].push_back(assay::Fr::of(++number).inverted());
  return blinders;
}

// `is_run`: with blinders and a mask. Then as parts of a run and their fold.
inline DrawnProof proof_of(const assay::zk::ProofPlan& plan, assay::zk::ProofMemory& memory, const assay::zk::SegmentStart& start, bool is_run = false) {
  const auto nothing = [](uint32_t, uint32_t) {};
  const uint8_t seed[32] = {7, 1, 2};
  try {
    assay::zk::SegmentProver prover(plan, memory, memory.run(plan, start, seed, 0, assay::kNeverStop), is_run ? blinders_of(plan) : std::nullopt);
    DrawnProof made{prover.statement_points(nothing), ""};
    const auto add = [&](const std::vector<uint8_t>& bytes) { made.bytes.insert(made.bytes.end(), bytes.begin(), bytes.end()); };
    add(prover.prove(assay::Hash{}, nothing));
    // The same segment twice, as a run: no verifier would take it, but devices make the same of it.
    std::vector<assay::zk::FoldPart> parts;
    for (const uint64_t nonce : {5, 6}) {
      assay::zk::ProvenPart part = prover.prove_part(assay::Hash{}, assay::Fr::of(nonce), nothing);
      add(part.proof);
      parts.push_back({std::move(part.left), part.digest, nullptr});
    }
    const assay::G1Affine power = assay::times_scalar<assay::Fp>({assay::Fp::one(), assay::Fp::of(2)}, assay::Fr::of(77)).affine();
    add(assay::zk::RunFold(memory).prove(parts, {}, power, nothing));
    if (is_run) add(assay::zk::RunFold(memory).prove(parts, assay::zk::mask_of(assay::Hash{{1}}, plan.chunk() + 1), power, nothing));
    return made;
  } catch (const assay::EngineError& error) {
    if (error.code() != assay::ErrorCode::tensor_range) throw;
    return {{}, error.what()};
  }
}

}  // namespace assay_test
