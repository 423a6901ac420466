// Segments to prove (docs/zk.md §4), drawn: plans by their sizes, data and weights of which a run stays in its ranges.
#pragma once
#include <cstring>

#include "engine_error.hpp"
#include "zk/segment_prover.hpp"

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

inline DrawnProof proof_of(const assay::zk::ProofPlan& plan, assay::zk::ProofMemory& memory, const assay::zk::SegmentStart& start) {
  const auto nothing = [](uint32_t, uint32_t) {};
  const uint8_t seed[32] = {7, 1, 2};
  try {
    assay::zk::SegmentProver prover(plan, memory, memory.run(plan, start, seed, 0, assay::kNeverStop));
    DrawnProof made{prover.statement_points(nothing), ""};
    const std::vector<uint8_t> proof = prover.prove(assay::Hash{}, nothing);
    made.bytes.insert(made.bytes.end(), proof.begin(), proof.end());
    return made;
  } catch (const assay::EngineError& error) {
    if (error.code() != assay::ErrorCode::tensor_range) throw;
    return {{}, error.what()};
  }
}

}  // namespace assay_test
