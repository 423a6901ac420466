// Runs a `map` that map_plan.cpp made ready, block by block of its output, with the loops of
// kernels_lanes.inc.
#pragma once
#include "cpu/work/map_plan.hpp"
#include "work/work_device.hpp"

namespace assay {

// The elements first … end of an op's output, in row-major order.
struct Part {
  uint64_t first, end;
};

void run_planned_map(const MapPlan& plan, const assay_kernels::LaneKernels& kernels, const work::Op& op, const void* const* operands, void* out,
                     const work::Moment& moment, Part part);

}  // namespace assay
