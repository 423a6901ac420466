// Reports of GPUs through NVML, by dlopen: hosts without the driver start as well. Sizes and names are those
// of NVIDIA's nvml.h.
#include <dlfcn.h>

#include <memory>
#include <string_view>

#include "attest.hpp"

namespace assay {

namespace {

constexpr unsigned kMostDevices = 64;

struct ConfidentialState {
  unsigned environment = 0, feature = 0, dev_tools = 0;
};
struct Certificate {
  unsigned chain_size = 0, attestation_chain_size = 0;
  uint8_t chain[0x1000] = {}, attestation_chain[0x1400] = {};
};
struct Report {
  unsigned has_cec_report = 0, report_size = 0, cec_report_size = 0;
  uint8_t nonce[32] = {}, report[0x2000] = {}, cec_report[0x1000] = {};
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      why_ = "libnvidia-ml.so.1 is not there";
      return;
    }
    find("nvmlErrorString", error_string_);
    int (*start)() = nullptr;
    for (const auto& [name, found] : {std::pair{"nvmlInit_v2", find("nvmlInit_v2", start)},
                                      {"nvmlDeviceGetCount_v2", find("nvmlDeviceGetCount_v2", count)},
                                      {"nvmlDeviceGetHandleByIndex_v2", find("nvmlDeviceGetHandleByIndex_v2", handle)}})
      if (!found && why_.empty()) why_ = std::string("libnvidia-ml.so.1 has no ") + name;
    if (!why_.empty()) return;
    if (const int result = start(); result != 0) why_ = answer("nvmlInit_v2", result);
    find("nvmlSystemGetConfComputeState", state);
    find("nvmlDeviceGetConfComputeGpuAttestationReport", report);
    find("nvmlDeviceGetConfComputeGpuCertificate", certificate);
  }

  const std::string& why() const { return why_; }
  std::string answer(const char* call, int result) const {
    const char* words = error_string_ != nullptr ? error_string_(result) : nullptr;
    return std::string(call) + " answered " + std::to_string(result) + (words != nullptr ? " (" + std::string(words) + ")" : "");
  }

  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*state)(ConfidentialState*) = nullptr;
  int (*report)(void*, Report*) = nullptr;
  int (*certificate)(void*, Certificate*) = nullptr;

 private:
  template <typename Call>
  bool find(const char* name, Call& call) {
    call = reinterpret_cast<Call>(dlsym(library_, name));
    return call != nullptr;
  }
  void* library_;  // stays for the life of the program, as the driver's own does
  const char* (*error_string_)(int) = nullptr;
  std::string why_;
};

// For whoever wonders why there is no report.
std::string confidential_state(const Nvml& nvml) {
  ConfidentialState state;
  if (nvml.state == nullptr) return "no nvmlSystemGetConfComputeState";
  if (const int result = nvml.state(&state); result != 0) return nvml.answer("nvmlSystemGetConfComputeState", result);
  return std::string("confidential computing is ") + (state.feature != 0 ? "on" : "off");
}

// What is wrong, or nothing.
std::string tell_one(const Nvml& nvml, unsigned index, const Hash& nonce, const TellPart& tell) {
  void* device = nullptr;
  if (const int result = nvml.handle(index, &device); result != 0) return nvml.answer("nvmlDeviceGetHandleByIndex_v2", result);
  if (nvml.report == nullptr || nvml.certificate == nullptr) return "this driver's NVML gives no attestation reports";
  const auto report = std::make_unique<Report>();
  std::copy_n(nonce.b, sizeof report->nonce, report->nonce);
  if (const int result = nvml.report(device, report.get()); result != 0)
    return nvml.answer("nvmlDeviceGetConfComputeGpuAttestationReport", result) + "; " + confidential_state(nvml);
  const auto certificate = std::make_unique<Certificate>();
  if (const int result = nvml.certificate(device, certificate.get()); result != 0)
    return nvml.answer("nvmlDeviceGetConfComputeGpuCertificate", result);
  if (report->report_size > sizeof report->report || certificate->attestation_chain_size > sizeof certificate->attestation_chain)
    return "NVML says that a report or chain is longer than it can be";
  tell(static_cast<uint16_t>(index), ReportPart::report, {report->report, report->report_size});
  tell(static_cast<uint16_t>(index), ReportPart::chain, {certificate->attestation_chain, certificate->attestation_chain_size});
  return "";
}

}  // namespace

void tell_device_reports(const Hash& nonce, const std::atomic<bool>& stop, const TellPart& tell) {
  static const Nvml nvml;
  const auto say = [&](unsigned index, const std::string& why) {
    tell(static_cast<uint16_t>(index), ReportPart::nothing, {reinterpret_cast<const uint8_t*>(why.data()), why.size()});
  };
  if (!nvml.why().empty()) return say(0, nvml.why());
  unsigned count = 0;
  if (const int result = nvml.count(&count); result != 0) return say(0, nvml.answer("nvmlDeviceGetCount_v2", result));
  if (count == 0) return say(0, "NVML knows no GPU");
  for (unsigned index = 0; index < std::min(count, kMostDevices) && !stop; ++index)
    if (const std::string why = tell_one(nvml, index, nonce, tell); !why.empty()) say(index, why);
}

}  // namespace assay
