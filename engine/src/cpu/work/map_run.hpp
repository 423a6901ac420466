// Runs a `map` that map_plan.cpp made ready, block by block of its output, with the loops of
// kernels_lanes.inc.
#pragma once
#include "cpu/work/map_plan.hpp"
#include "work/run_op.hpp"

namespace assay {

void run_planned_map(const MapPlan& plan, const assay_kernels::LaneKernels& kernels, const work::Op& op, const void* const* operands, void* out,
                     const work::Moment& moment, work::Part part);

}  // namespace assay
