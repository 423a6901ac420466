// find_cuda_devices() of devices.hpp.
#include "cuda_device.hpp"
#include "devices.hpp"
#include "kernels.hpp"

namespace assay {

FoundDevices find_cuda_devices() {
  FoundDevices found;
  DriverClaim& claim = found.driver;
  claim.is_built_in = !cuda::kernel_modules().empty();
  if (!claim.is_built_in) {
    claim.why_none = "built without CUDA";
    return found;
  }
  const cuda::DriverApi* api = cuda::driver_api(claim.why_none);
  if (api == nullptr) return found;
#if defined(ASSAY_NO_CARDS)  // a checked build where no card is: without what only a card would run
  claim.why_none = "built for tests without a card";
#else
  claim.driver_version = cuda::driver_version();
  int version = 0, count = 0;
  if (api->cuDriverGetVersion(&version) == cuda::kCudaSuccess)
    claim.cuda_version = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  if (api->cuDeviceGetCount(&count) != cuda::kCudaSuccess || count <= 0) {
    claim.why_none = "the NVIDIA driver shows no device";
    return found;
  }
  for (int i = 0; i < count; ++i) {
    try {
      cuda::CUdevice device = 0;
      ASSAY_CUDA_CALL(cuDeviceGet, &device, i);
      found.devices.push_back(std::make_unique<cuda::CudaDevice>(device));
    } catch (const EngineError& error) {  // one broken or old card does not hide the others
      if (!claim.why_none.empty()) claim.why_none += "; ";
      claim.why_none += "device " + std::to_string(i) + ": " + error.what();
    }
  }
  if (!found.devices.empty()) claim.why_none.clear();
#endif
  return found;
}

}  // namespace assay
