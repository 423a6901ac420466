// What the CPU says of itself right now. Claims only.
#pragma once
#include "device.hpp"

namespace assay {

// The first core's clock and the package's temperature, where the system shows them; power and throttling it
// does not.
Reading read_cpu_gauge();

}  // namespace assay
