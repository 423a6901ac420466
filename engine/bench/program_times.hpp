// Times a program (docs/work.md) on a card: steps, with and without the roots of its state, its trace, and
// each kernel.
#pragma once
#include <string>

#include "cuda/cuda_device.hpp"

namespace assay {

void time_program(cuda::CudaDevice& device, const std::string& file, uint32_t segments, bool traces);

}  // namespace assay
