// Finds libcuda.so.1 and libnvidia-ml.so.1 at run time. Neither is ever closed: drivers do not survive that.
#include "driver_api.hpp"

#include <dlfcn.h>

#include "engine_error.hpp"

namespace assay::cuda {
namespace {

template <typename Function>
bool find(void* library, const char* symbol, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  return out != nullptr;
}

struct Loaded {
  DriverApi api;
  std::string why;  // it is not ready; empty when it is
};

std::string name_of(const DriverApi& api, CUresult result) {
  const char* name = nullptr;
  api.cuGetErrorName(result, &name);
  return name != nullptr ? name : std::to_string(result);
}

Loaded load_driver() {
  Loaded loaded;
  DriverApi& api = loaded.api;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {{}, "no NVIDIA driver: libcuda.so.1 was not found"};
#define ASSAY_FIND(NAME, SYMBOL, ARGUMENTS) \
  if (!find(library, #SYMBOL, api.NAME)) return {{}, "the NVIDIA driver is too old: libcuda.so.1 has no " #SYMBOL};
  ASSAY_DRIVER_CALLS(ASSAY_FIND)
#undef ASSAY_FIND
#define ASSAY_FIND(NAME, SYMBOL, ARGUMENTS) find(library, #SYMBOL, api.NAME);
  ASSAY_OPTIONAL_DRIVER_CALLS(ASSAY_FIND)
  if (const CUresult result = api.cuInit(0); result != kCudaSuccess)
    loaded.why = "the NVIDIA driver does not start: cuInit answered " + name_of(api, result) + " (does it with --no-sandbox?)";
  return loaded;
}

const Loaded& loaded_driver() {
  static const Loaded loaded = load_driver();
  return loaded;
}

// Without nvmlInit where it does not start.
NvmlApi load_nvml() {
  NvmlApi api;
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return api;
  ASSAY_NVML_CALLS(ASSAY_FIND)
#undef ASSAY_FIND
  if (api.nvmlDeviceGetCurrentClocksThrottleReasons == nullptr)  // its newer name
    find(library, "nvmlDeviceGetCurrentClocksEventReasons", api.nvmlDeviceGetCurrentClocksThrottleReasons);
  if (api.nvmlInit != nullptr && api.nvmlInit() != 0) api.nvmlInit = nullptr;
  return api;
}

}  // namespace

const DriverApi* driver_api(std::string& why) {
  why = loaded_driver().why;
  return why.empty() ? &loaded_driver().api : nullptr;
}

const DriverApi& driver() { return loaded_driver().api; }

void check(CUresult result, const char* call) {
  if (result == kCudaSuccess) return;
  throw EngineError(ErrorCode::device_failed, std::string(call) + " failed: " + name_of(driver(), result));
}

const NvmlApi* nvml_api() {
  static const NvmlApi api = load_nvml();
  return api.nvmlInit != nullptr ? &api : nullptr;
}

}  // namespace assay::cuda
