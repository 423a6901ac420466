// See context.hpp. The fat binary is embedded by the build (engine/build.sh) when there is an nvcc.
#include "context.hpp"

#include "gemm_shape.hpp"

#if defined(ASSAY_CUDA)
extern "C" const unsigned char assay_kernels_begin[];
#else
static const unsigned char assay_kernels_begin[1] = {};  // never loaded: find_cuda_devices makes no Context then
#endif

namespace assay::cuda {
namespace {

struct KernelName {
  const char* name;
  bool is_gemm;
  Precision precision;
};

constexpr KernelName kKernels[] = {
    {"generate_int8", false, {}}, {"generate_fp8", false, {}},
    {"generate_fp16", false, {}}, {"generate_bf16", false, {}},
    {"generate_tf32", false, {}}, {"gemm_int8", true, Precision::int8},
    {"gemm_fp8", true, Precision::fp8}, {"gemm_fp16", true, Precision::fp16},
    {"gemm_bf16", true, Precision::bf16}, {"gemm_tf32", true, Precision::tf32},
    {"hash_leaves", false, {}}, {"hash_level", false, {}},
    {"hash_top", false, {}}, {"gather_openings", false, {}},
    {"mix_leaves", false, {}}, {"fma_fp32", false, {}},
    {"fma_fp64", false, {}}, {"fma_int32", false, {}},
};

int attribute(CUdevice device, int number) {
  int value = 0;
  ASSAY_CUDA_CALL(cuDeviceGetAttribute, &value, number, device);
  return value;
}

}  // namespace

Context::Context(CUdevice device) : device_(device) {
  compute_ = static_cast<uint32_t>(10 * attribute(device, kAttributeMajor) + attribute(device, kAttributeMinor));
  units_ = static_cast<uint32_t>(attribute(device, kAttributeUnits));
  if (compute_ < 75) throw EngineError(ErrorCode::unsupported, "its compute capability is below 7.5");
  ASSAY_CUDA_CALL(cuDevicePrimaryCtxRetain, &context_, device);
  try {
    enter();
    ASSAY_CUDA_CALL(cuModuleLoadData, &module_, assay_kernels_begin);
    // All of them now, so that free_bytes() counts what they take.
    for (const KernelName& kernel : kKernels) {
      CUfunction function = nullptr;
      ASSAY_CUDA_CALL(cuModuleGetFunction, &function, module_, kernel.name);
      if (kernel.is_gemm) {
        const auto bytes = static_cast<int>(tile_shape(kernel.precision, compute_).shared_bytes());
        ASSAY_CUDA_CALL(cuFuncSetAttribute, function, kFunctionMaxDynamicShared, bytes);
      }
      kernels_.emplace(kernel.name, function);
    }
  } catch (...) {
    if (module_ != nullptr) driver().cuModuleUnload(module_);
    driver().cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

Context::~Context() {
  driver().cuCtxSetCurrent(context_);
  driver().cuModuleUnload(module_);
  driver().cuCtxSetCurrent(nullptr);
  driver().cuDevicePrimaryCtxRelease(device_);
}

uint64_t Context::free_bytes() const {
  size_t free = 0, total = 0;
  ASSAY_CUDA_CALL(cuMemGetInfo, &free, &total);
  return free;
}

void Context::launch_raw(const char* kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes, void** arguments) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) throw EngineError(ErrorCode::unsupported, std::string("no kernel named ") + kernel);
  const CUresult result =
      driver().cuLaunchKernel(found->second, blocks, 1, 1, threads, 1, 1, shared_bytes, nullptr, arguments, nullptr);
  if (result != kCudaSuccess) check(result, (std::string("cuLaunchKernel of ") + kernel).c_str());
}

Buffer::Buffer(std::shared_ptr<const Context> context, uint64_t bytes) {
  CUdeviceptr address = 0;
  const CUresult result = driver().cuMemAlloc(&address, bytes);
  if (result == kCudaOutOfMemory)
    throw EngineError(ErrorCode::no_memory, "the device has no room for " + std::to_string(bytes) + " more bytes");
  check(result, "cuMemAlloc");
  context_ = std::move(context);
  address_ = address;
  bytes_ = bytes;
}

Buffer::~Buffer() {
  if (address_ == 0) return;
  driver().cuCtxSetCurrent(context_->handle());
  driver().cuMemFree(address_);  // waits for what still uses it
}

}  // namespace assay::cuda
