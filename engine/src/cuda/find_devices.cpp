// find_cuda_devices() of devices.hpp, and what NVML and the driver say about a card. Claims only.
#include <cstdio>
#include <fstream>

#include "cuda_device.hpp"
#include "devices.hpp"
#include "kernels.hpp"

namespace assay {
namespace cuda {

BoardClaim board_claim(CUdevice device) {
  BoardClaim claim;
  const NvmlApi* nvml = nvml_api();
  char bus[32] = {};
  nvmlDevice_t handle = nullptr;
  if (nvml == nullptr || nvml->nvmlDeviceGetHandleByPciBusId == nullptr ||
      driver().cuDeviceGetPCIBusId(bus, sizeof bus - 1, device) != kCudaSuccess ||
      nvml->nvmlDeviceGetHandleByPciBusId(bus, &handle) != 0)
    return claim;
  const auto ask = [&](auto call) {
    unsigned value = 0;
    return call != nullptr && call(handle, &value) == 0 ? value : 0u;
  };
  // The generation the link can reach, as it idles at a lower one; the width as it is now, which is how it is
  // wired.
  claim.pcie_gen = ask(nvml->nvmlDeviceGetMaxPcieLinkGeneration);
  claim.pcie_width = ask(nvml->nvmlDeviceGetCurrPcieLinkWidth);
  claim.power_limit_w = ask(nvml->nvmlDeviceGetPowerManagementLimit) / 1000;
  claim.power_default_w = ask(nvml->nvmlDeviceGetPowerManagementDefaultLimit) / 1000;
  unsigned celsius = 0;
  if (nvml->nvmlDeviceGetTemperature != nullptr && nvml->nvmlDeviceGetTemperature(handle, 0, &celsius) == 0)
    claim.temperature_c = celsius;
  return claim;
}

std::string driver_version() {
  const NvmlApi* nvml = nvml_api();
  char version[96] = {};
  if (nvml != nullptr && nvml->nvmlSystemGetDriverVersion != nullptr &&
      nvml->nvmlSystemGetDriverVersion(version, sizeof version - 1) == 0)
    return version;
  std::string line;  // without NVML the kernel module says it too
  std::getline(std::ifstream("/sys/module/nvidia/version"), line);
  return line.empty() ? "unknown" : line;
}

std::string device_uuid(CUdevice device) {
  CUuuid uuid{};
  ASSAY_CUDA_CALL(cuDeviceGetUuid, &uuid, device);
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char two[3];
    std::snprintf(two, sizeof two, "%02x", uuid.bytes[i]);
    text += two;
  }
  return text;
}

}  // namespace cuda

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
  return found;
}

}  // namespace assay
