// Finding libcuda.so.1 and libnvidia-ml.so.1 at run time. Neither is ever closed: drivers do not survive
// being unloaded.
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

struct LoadedDriver {
  DriverApi api;
  bool ready = false;
  std::string why;

  LoadedDriver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "no NVIDIA driver: libcuda.so.1 was not found";
      return;
    }
#define ASSAY_FIND(NAME, SYMBOL, ARGUMENTS)                                      \
  if (!find(library, #SYMBOL, api.NAME)) {                                       \
    why = "the NVIDIA driver is too old: libcuda.so.1 has no " #SYMBOL;          \
    return;                                                                      \
  }
    ASSAY_DRIVER_CALLS(ASSAY_FIND)
#undef ASSAY_FIND
    find(library, "cuTensorMapEncodeTiled", api.cuTensorMapEncodeTiled);
    find(library, "cuLaunchKernelEx", api.cuLaunchKernelEx);
    find(library, "cuCtxCreate_v2", api.cuCtxCreate);
    find(library, "cuCtxDestroy_v2", api.cuCtxDestroy);
    const CUresult result = api.cuInit(0);
    if (result != kCudaSuccess) {
      const char* name = nullptr;
      api.cuGetErrorName(result, &name);
      why = std::string("the NVIDIA driver does not start: cuInit answered ") +
            (name != nullptr ? name : std::to_string(result).c_str());
      return;
    }
    ready = true;
  }
};

LoadedDriver& loaded_driver() {
  static LoadedDriver loaded;
  return loaded;
}

struct LoadedNvml {
  NvmlApi api;
  bool ready = false;

  LoadedNvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
#define ASSAY_FIND(NAME, SYMBOL, ARGUMENTS) find(library, #SYMBOL, api.NAME);
    ASSAY_NVML_CALLS(ASSAY_FIND)
#undef ASSAY_FIND
    if (api.nvmlDeviceGetCurrentClocksThrottleReasons == nullptr)  // its newer name
      find(library, "nvmlDeviceGetCurrentClocksEventReasons", api.nvmlDeviceGetCurrentClocksThrottleReasons);
    ready = api.nvmlInit != nullptr && api.nvmlInit() == 0;
  }
};

}  // namespace

const DriverApi* driver_api(std::string& why) {
  LoadedDriver& loaded = loaded_driver();
  if (!loaded.ready) {
    why = loaded.why;
    return nullptr;
  }
  return &loaded.api;
}

const DriverApi& driver() { return loaded_driver().api; }

void check(CUresult result, const char* call) {
  if (result == kCudaSuccess) return;
  const char* name = nullptr;
  driver().cuGetErrorName(result, &name);
  throw EngineError(ErrorCode::device_failed,
                    std::string(call) + " failed: " + (name != nullptr ? name : std::to_string(result).c_str()));
}

const NvmlApi* nvml_api() {
  static LoadedNvml loaded;
  return loaded.ready ? &loaded.api : nullptr;
}

}  // namespace assay::cuda
