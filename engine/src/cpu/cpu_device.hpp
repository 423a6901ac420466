// The CPU as a device, with the choice of instruction set open to tests; make_cpu_device (devices.hpp) takes
// the best.
#pragma once
#include <memory>

#include "devices.hpp"
#include "probe/probe_kernels.hpp"
#include "kernels.hpp"

namespace assay {

std::unique_ptr<Device> make_cpu_device_with(unsigned threads, const assay_kernels::Kernels& kernels);

}  // namespace assay
