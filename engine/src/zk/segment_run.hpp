// The run of a segment whose proof is asked for, on the host: every value that is committed, and those that
// sums are over. Exact SGD in whole numbers, docs/zk.md §5. A value that leaves its range ends it: such a run
// has no proof.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "zk/proof_plan.hpp"

namespace assay::zk {

// Which row stands at a place of an epoch: the order `cube`, docs/work.md §10.
struct CubeOrder {
  std::vector<unsigned> places;
  uint64_t mask;
};
CubeOrder cube_order(const uint8_t seed[32], uint32_t epoch, unsigned bits);

// Where a segment's rows stand: the order of its epoch, and the place of its first row there.
struct SegmentPlace {
  CubeOrder order;
  uint64_t first;
};
SegmentPlace place_of_segment(const ProofPlan& plan, const uint8_t seed[32], uint32_t first_step);

struct SegmentStart {
  // Per row: what enters the first link, the bias in its last column; the class.
  std::vector<int16_t> features;
  std::vector<int32_t> labels;
  // By link: (output, input).
  std::vector<std::vector<int64_t>> weights;
};

// ⌊2^K / Σ e⌋ for each unit; distance to the row's largest; score; 1 beyond the classes; distance or that; Σ
// e of each row.
enum SoftmaxList : unsigned { kWideInverse, kDistance, kScore, kPadding, kNoTop, kRowSum, kSoftmaxLists };

struct SegmentRun {
  // Of all groups but the helpers, with zeros up to whole chunks.
  std::array<std::vector<int64_t>, kHelpers> groups;
  // By link, padded; q of the last link is empty, and so is `last`: the units of the last column.
  std::vector<std::vector<int64_t>> z, q, entering, last;
  // Of convolutions but a first one: the weights of every step, (step, output, column).
  std::vector<std::vector<int64_t>> stepped;
  // Of a loss by softmax: what follows from its columns.
  std::array<std::vector<int64_t>, kSoftmaxLists> softmax;
  CubeOrder order;
  // Of the segment's first row, in its epoch.
  uint64_t first_place = 0;

  std::span<int64_t> column(const ProofPlan& plan, Column column, size_t of);
};

// Throws EngineError tensor_range with the step and what left its range; cancelled.
SegmentRun run_segment(const ProofPlan& plan, const SegmentStart& start, const uint8_t seed[32], uint32_t first_step,
                       const std::atomic<bool>& stop);

// A value of the run left its range: throws tensor_range.
[[noreturn]] void left_range(const std::string& what, size_t link, uint64_t step);

GroupNumber group_of(Column column);

}  // namespace assay::zk
