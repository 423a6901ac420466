// See cuda_device.hpp: what a card says of itself, through the driver and NVML. Claims only; what NVML does
// not say, or is not there to say, is 0.
#include "cpu/host_info.hpp"
#include "cuda_device.hpp"

namespace assay::cuda {
namespace {

enum : int { kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0 };

std::string bus_of(CUdevice device) {
  char bus[32] = {};
  return driver().cuDeviceGetPCIBusId(bus, sizeof bus - 1, device) == kCudaSuccess ? bus : "";
}

class NvmlCard {
 public:
  explicit NvmlCard(const std::string& bus)
      : known_(nvml_ != nullptr && nvml_->nvmlDeviceGetHandleByPciBusId != nullptr &&
               nvml_->nvmlDeviceGetHandleByPciBusId(bus.c_str(), &card_) == 0) {}
  template <typename Value = unsigned>
  Value ask(auto NvmlApi::*call, auto... which) const {
    Value value = 0;
    return known_ && nvml_->*call != nullptr && (nvml_->*call)(card_, which..., &value) == 0 ? value : 0;
  }

 private:
  const NvmlApi* nvml_ = nvml_api();
  nvmlDevice_t card_ = nullptr;
  bool known_;
};

Reading read_card(const std::string& bus) {
  const NvmlCard card(bus);
  Reading reading;
  reading.core_mhz = card.ask(&NvmlApi::nvmlDeviceGetClockInfo, int{kClockSm});
  reading.memory_mhz = card.ask(&NvmlApi::nvmlDeviceGetClockInfo, int{kClockMemory});
  reading.power_mw = card.ask(&NvmlApi::nvmlDeviceGetPowerUsage);
  reading.temperature_c = card.ask(&NvmlApi::nvmlDeviceGetTemperature, int{kTemperatureGpu});
  // All reasons that are defined fit 32 bits.
  reading.throttle_reasons = static_cast<uint32_t>(
      card.ask<unsigned long long>(&NvmlApi::nvmlDeviceGetCurrentClocksThrottleReasons));
  return reading;
}

}  // namespace

std::string driver_version() {
  const NvmlApi* nvml = nvml_api();
  char version[96] = {};
  if (nvml != nullptr && nvml->nvmlSystemGetDriverVersion != nullptr &&
      nvml->nvmlSystemGetDriverVersion(version, sizeof version - 1) == 0)
    return version;
  // Without NVML the kernel module says it too.
  const std::string line = first_line("/sys/module/nvidia/version");
  return line.empty() ? "unknown" : line;
}

Gauge CudaDevice::gauge() const {
  const std::string bus = bus_of(context_->device());
  if (bus.empty()) return {};
  return [bus] { return read_card(bus); };
}

DeviceClaim CudaDevice::claim() {
  context_->enter();
  lanes_ = Buffer();
  peer_.reset();
  const CUdevice device = context_->device();
  DeviceClaim claim;
  char name[128] = {};
  ASSAY_CUDA_CALL(cuDeviceGetName, name, sizeof name - 1, device);
  claim.name = name;
  CUuuid uuid{};
  ASSAY_CUDA_CALL(cuDeviceGetUuid, &uuid, device);
  claim.uuid = "GPU";
  for (const auto& [from, count] : {std::pair{0, 4}, {4, 2}, {6, 2}, {8, 2}, {10, 6}})
    claim.uuid.append("-").append(hex_of(std::span(uuid.bytes).subspan(from, count)));
  size_t total = 0;
  ASSAY_CUDA_CALL(cuDeviceTotalMem, &total, device);
  claim.memory_bytes = total;
  claim.free_bytes = context_->free_bytes();
  claim.units = context_->units();
  int khz = 0;  // newer drivers may no longer say
  if (driver().cuDeviceGetAttribute(&khz, kAttributeClockKhz, device) == kCudaSuccess)
    claim.clock_mhz = static_cast<uint32_t>(khz / 1000);
  claim.compute = std::to_string(context_->compute() / 10) + "." + std::to_string(context_->compute() % 10);
  const NvmlCard card(bus_of(device));
  // The generation the link can reach, as it idles at a lower one; the width as it is now: how it is wired.
  claim.pcie_gen = card.ask(&NvmlApi::nvmlDeviceGetMaxPcieLinkGeneration);
  claim.pcie_width = card.ask(&NvmlApi::nvmlDeviceGetCurrPcieLinkWidth);
  claim.power_limit_w = card.ask(&NvmlApi::nvmlDeviceGetPowerManagementLimit) / 1000;
  claim.power_default_w = card.ask(&NvmlApi::nvmlDeviceGetPowerManagementDefaultLimit) / 1000;
  claim.temperature_c = card.ask(&NvmlApi::nvmlDeviceGetTemperature, int{kTemperatureGpu});
  claim.precisions = precisions();
  return claim;
}

std::vector<Precision> CudaDevice::precisions() const {
  const uint32_t compute = context_->compute();
  std::vector<Precision> out{Precision::int8};
  if (compute >= 89) out.push_back(Precision::fp8);
  out.push_back(Precision::fp16);
  if (compute >= 80) out.insert(out.end(), {Precision::bf16, Precision::tf32});
  out.insert(out.end(), {Precision::fp32, Precision::fp64, Precision::int32});
  return out;
}

}  // namespace assay::cuda
