// Stands in for cuda/ in a tree that has none.
#include "device.hpp"

namespace assay {

CudaDevices find_cuda_devices() {
  CudaDevices none;
  none.why_none = "built without CUDA";
  return none;
}

}  // namespace assay
