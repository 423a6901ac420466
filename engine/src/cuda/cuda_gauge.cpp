// What a card says of itself right now, through NVML. Claims only; zeros without NVML, or where a card does
// not answer.
#include "cuda_device.hpp"

namespace assay::cuda {
namespace {

enum : int { kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0 };

Reading read_card(const std::string& bus) {
  Reading reading;
  const NvmlApi* nvml = nvml_api();
  nvmlDevice_t card = nullptr;
  if (nvml == nullptr || nvml->nvmlDeviceGetHandleByPciBusId == nullptr ||
      nvml->nvmlDeviceGetHandleByPciBusId(bus.c_str(), &card) != 0)
    return reading;
  const auto ask = [card](auto call, auto... which) {
    unsigned value = 0;
    return call != nullptr && call(card, which..., &value) == 0 ? value : 0u;
  };
  reading.core_mhz = ask(nvml->nvmlDeviceGetClockInfo, int{kClockSm});
  reading.memory_mhz = ask(nvml->nvmlDeviceGetClockInfo, int{kClockMemory});
  reading.power_mw = ask(nvml->nvmlDeviceGetPowerUsage);
  reading.temperature_c = ask(nvml->nvmlDeviceGetTemperature, int{kTemperatureGpu});
  unsigned long long reasons = 0;  // all that are defined fit 32 bits
  if (nvml->nvmlDeviceGetCurrentClocksThrottleReasons != nullptr &&
      nvml->nvmlDeviceGetCurrentClocksThrottleReasons(card, &reasons) == 0)
    reading.throttle_reasons = static_cast<uint32_t>(reasons);
  return reading;
}

}  // namespace

Gauge CudaDevice::gauge() const {
  char bus[32] = {};
  if (driver().cuDeviceGetPCIBusId(bus, sizeof bus - 1, context_->device()) != kCudaSuccess) return {};
  return [bus = std::string(bus)] { return read_card(bus); };
}

}  // namespace assay::cuda
