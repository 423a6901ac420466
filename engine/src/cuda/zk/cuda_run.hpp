// A segment's run on a card: zk/segment_run.hpp, with its results.
#pragma once
#include "cuda_list.hpp"

namespace assay::cuda {

zk::RunLists run_on_card(const RoomPtr& room, const zk::ProofPlan& plan, const zk::SegmentStart& start, const uint8_t seed[32], uint32_t first_step,
                         const std::atomic<bool>& stop);

}  // namespace assay::cuda
