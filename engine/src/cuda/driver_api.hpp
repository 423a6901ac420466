// The parts of the CUDA driver API and of NVML that the engine calls, declared here and found at run time
// with dlopen, so that the program builds without a toolkit and starts on hosts without a driver. Names and
// signatures are those of libcuda.so.1 (the versioned symbols) and libnvidia-ml.so.1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
struct CUuuid {
  unsigned char bytes[16];
};

constexpr CUresult kCudaSuccess = 0;
constexpr CUresult kCudaOutOfMemory = 2;

// Numbers of cuDeviceGetAttribute and cuFuncSetAttribute.
enum : int {
  kAttributeClockKhz = 13,
  kAttributeUnits = 16,
  kAttributeMajor = 75,
  kAttributeMinor = 76,
  kFunctionMaxDynamicShared = 8,
  kStreamNonBlocking = 1,
  kEventDisableTiming = 2,
};

#define ASSAY_DRIVER_CALLS(X)                                                                                     \
  X(cuInit, cuInit, (unsigned))                                                                                   \
  X(cuDriverGetVersion, cuDriverGetVersion, (int*))                                                               \
  X(cuGetErrorName, cuGetErrorName, (CUresult, const char**))                                                     \
  X(cuDeviceGetCount, cuDeviceGetCount, (int*))                                                                   \
  X(cuDeviceGet, cuDeviceGet, (CUdevice*, int))                                                                   \
  X(cuDeviceGetName, cuDeviceGetName, (char*, int, CUdevice))                                                     \
  X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (CUuuid*, CUdevice))                                                     \
  X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char*, int, CUdevice))                                             \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t*, CUdevice))                                                   \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int*, int, CUdevice))                                            \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                   \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                                          \
  X(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext))                                                                \
  X(cuCtxSynchronize, cuCtxSynchronize, ())                                                                       \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule*, const void*))                                                 \
  X(cuModuleUnload, cuModuleUnload, (CUmodule))                                                                   \
  X(cuModuleGetFunction, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                               \
  X(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction, int, int))                                               \
  X(cuMemGetInfo, cuMemGetInfo_v2, (size_t*, size_t*))                                                            \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr*, size_t))                                                            \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr))                                                                       \
  X(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr, const void*, size_t))                                            \
  X(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void*, CUdeviceptr, size_t))                                                  \
  X(cuMemsetD32Async, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                                \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, CUdeviceptr, size_t, CUstream))                              \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream))                                                         \
  X(cuEventElapsedTime, cuEventElapsedTime, (float*, CUevent, CUevent))                                           \
  X(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                              \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                        \
  X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, CUdevice, CUdevice))                                     \
  X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext, unsigned))                                          \
  X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))     \
  X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int*, int*))                                       \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, (CUstream*, unsigned, int))                           \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream))                                                              \
  X(cuStreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                          \
  X(cuEventCreate, cuEventCreate, (CUevent*, unsigned))                                                           \
  X(cuEventRecord, cuEventRecord, (CUevent, CUstream))                                                            \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent))                                                            \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent))                                                                 \
  X(cuLaunchKernel, cuLaunchKernel,                                                                               \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))

// CUlaunchConfig with CUlaunchAttribute, as the driver lays them out.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char room[64];
    unsigned dimensions[3];
  };
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
constexpr int kLaunchCluster = 4;

// Null where they are not: drivers before CUDA 12 lack the first two, and the engine then does without wgmma;
// those of graphs (before CUDA 11.4) let the steps of a program start as one; the others make a context
// beside the primary one, for tests that need two on a card.
#define ASSAY_OPTIONAL_DRIVER_CALLS(X)                                                                            \
  X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                               \
    (void* map, int type, unsigned rank, void* address, const uint64_t* dims, const uint64_t* strides,            \
     const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int promotion, int fill)) \
  X(cuLaunchKernelEx, cuLaunchKernelEx, (const LaunchConfig*, CUfunction, void** arguments, void** extra))        \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, int mode))                                          \
  X(cuStreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph*))                                                 \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec*, CUgraph, unsigned long long))                 \
  X(cuGraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                                        \
  X(cuGraphDestroy, cuGraphDestroy, (CUgraph))                                                                    \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                                        \
  X(cuCtxCreate, cuCtxCreate_v2, (CUcontext*, unsigned, CUdevice))                                                \
  X(cuCtxDestroy, cuCtxDestroy_v2, (CUcontext))

struct DriverApi {
#define ASSAY_DECLARE(NAME, SYMBOL, ARGUMENTS) CUresult(*NAME) ARGUMENTS = nullptr;
  ASSAY_DRIVER_CALLS(ASSAY_DECLARE)
  ASSAY_OPTIONAL_DRIVER_CALLS(ASSAY_DECLARE)
#undef ASSAY_DECLARE
};

// The loaded driver, initialised; null with the reason in `why`. Found once for the life of the program.
const DriverApi* driver_api(std::string& why);
// Same, where it is known to be there.
const DriverApi& driver();

// Throws EngineError device_failed with the error's name and the call's.
void check(CUresult result, const char* call);
#define ASSAY_CUDA_CALL(NAME, ...) ::assay::cuda::check(::assay::cuda::driver().NAME(__VA_ARGS__), #NAME)

using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;

#define ASSAY_NVML_CALLS(X)                                                                                       \
  X(nvmlInit, nvmlInit_v2, ())                                                                                    \
  X(nvmlSystemGetDriverVersion, nvmlSystemGetDriverVersion, (char*, unsigned))                                    \
  X(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetHandleByPciBusId_v2, (const char*, nvmlDevice_t*))                \
  X(nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetPowerManagementLimit, (nvmlDevice_t, unsigned*))              \
  X(nvmlDeviceGetPowerManagementDefaultLimit, nvmlDeviceGetPowerManagementDefaultLimit, (nvmlDevice_t, unsigned*)) \
  X(nvmlDeviceGetClockInfo, nvmlDeviceGetClockInfo, (nvmlDevice_t, int, unsigned*))                               \
  X(nvmlDeviceGetPowerUsage, nvmlDeviceGetPowerUsage, (nvmlDevice_t, unsigned*))                                  \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, nvmlDeviceGetCurrentClocksThrottleReasons,                         \
    (nvmlDevice_t, unsigned long long*))                                                                          \
  X(nvmlDeviceGetTemperature, nvmlDeviceGetTemperature, (nvmlDevice_t, int, unsigned*))                           \
  X(nvmlDeviceGetMaxPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkGeneration, (nvmlDevice_t, unsigned*))            \
  X(nvmlDeviceGetCurrPcieLinkWidth, nvmlDeviceGetCurrPcieLinkWidth, (nvmlDevice_t, unsigned*))

struct NvmlApi {
#define ASSAY_DECLARE(NAME, SYMBOL, ARGUMENTS) nvmlReturn_t(*NAME) ARGUMENTS = nullptr;
  ASSAY_NVML_CALLS(ASSAY_DECLARE)
#undef ASSAY_DECLARE
};

// Null when there is none: claims then do without. A call that an old library lacks is null.
const NvmlApi* nvml_api();

}  // namespace assay::cuda
