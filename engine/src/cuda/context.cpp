// See context.hpp. The fat binary is embedded by the build (engine/build.sh) when there is an nvcc.
#include "context.hpp"

#include "launch_shape.hpp"

#if defined(ASSAY_CUDA)
extern "C" const unsigned char assay_kernels_begin[];
#else
static const unsigned char assay_kernels_begin[1] = {};  // never loaded: find_cuda_devices makes no Context then
#endif

namespace assay::cuda {
namespace {

constexpr const char* kKernels[] = {
    "generate_int8", "generate_fp8", "generate_fp16", "generate_bf16", "generate_tf32", "hash_leaves", "hash_pairs", "hash_levels",
    "hash_top",      "mix_leaves",   "fma_fp32",      "fma_fp64",      "fma_int32",     "has_wgmma",   "gather_openings",
};

struct GemmKernels {
  Precision precision;
  const char *plain, *warpgroups;
};

constexpr GemmKernels kGemmKernels[] = {
    {Precision::int8, "gemm_int8", "gemm_wgmma_int8"}, {Precision::fp8, "gemm_fp8", "gemm_wgmma_fp8"},
    {Precision::fp16, "gemm_fp16", "gemm_wgmma_fp16"}, {Precision::bf16, "gemm_bf16", "gemm_wgmma_bf16"},
    {Precision::tf32, "gemm_tf32", "gemm_wgmma_tf32"},
};

int attribute(CUdevice device, int number) {
  int value = 0;
  ASSAY_CUDA_CALL(cuDeviceGetAttribute, &value, number, device);
  return value;
}

}  // namespace

Context::Context(CUdevice device, Which which) : device_(device), which_(which) {
  compute_ = static_cast<uint32_t>(10 * attribute(device, kAttributeMajor) + attribute(device, kAttributeMinor));
  units_ = static_cast<uint32_t>(attribute(device, kAttributeUnits));
  if (compute_ < 75) throw EngineError(ErrorCode::unsupported, "its compute capability is below 7.5");
  if (which_ == Which::primary) {
    ASSAY_CUDA_CALL(cuDevicePrimaryCtxRetain, &context_, device);
  } else {
    if (driver().cuCtxCreate == nullptr || driver().cuCtxDestroy == nullptr)
      throw EngineError(ErrorCode::unsupported, "the driver makes no second context");
    ASSAY_CUDA_CALL(cuCtxCreate, &context_, 0u, device);
  }
  try {
    enter();
    ASSAY_CUDA_CALL(cuModuleLoadData, &module_, assay_kernels_begin);
    load_all();
    make_streams();
  } catch (...) {
    release();
    throw;
  }
}

CUfunction Context::load(const char* kernel) {
  CUfunction function = nullptr;
  ASSAY_CUDA_CALL(cuModuleGetFunction, &function, module_, kernel);
  kernels_.emplace(kernel, function);
  return function;
}

// All of them at once, so that free_bytes() counts what they take.
void Context::load_all() {
  const auto allow = [](CUfunction function, uint32_t shared_bytes) {
    ASSAY_CUDA_CALL(cuFuncSetAttribute, function, kFunctionMaxDynamicShared, static_cast<int>(shared_bytes));
  };
  for (const char* kernel : kKernels) load(kernel);
  for (const GemmKernels& kernel : kGemmKernels)
    allow(load(kernel.plain), tile_shape(kernel.precision, compute_).shared_bytes());

  CUdeviceptr answer = 0;
  uint32_t built_in = 0;
  ASSAY_CUDA_CALL(cuMemAlloc, &answer, sizeof built_in);
  launch("has_wgmma", 1, 1, 0, answer);
  ASSAY_CUDA_CALL(cuMemcpyDtoH, &built_in, answer, sizeof built_in);
  ASSAY_CUDA_CALL(cuMemFree, answer);
  has_warpgroups_ = compute_ == 90 && built_in == 1 && driver().cuTensorMapEncodeTiled != nullptr &&
                    driver().cuLaunchKernelEx != nullptr;
  if (!has_warpgroups_) return;
  for (const GemmKernels& kernel : kGemmKernels)
    allow(load(kernel.warpgroups), kWarpgroupSharedBytes);
}

void Context::make_streams() {
  int least = 0, greatest = 0;
  ASSAY_CUDA_CALL(cuCtxGetStreamPriorityRange, &least, &greatest);
  ASSAY_CUDA_CALL(cuStreamCreateWithPriority, &aside_, unsigned{kStreamNonBlocking}, greatest);
  for (CUevent* event : {&order_, &places_[0], &places_[1]}) ASSAY_CUDA_CALL(cuEventCreate, event, unsigned{kEventDisableTiming});
}

void Context::aside_waits_for_main() const {
  ASSAY_CUDA_CALL(cuEventRecord, order_, kMain);
  ASSAY_CUDA_CALL(cuStreamWaitEvent, aside_, order_, 0u);
}

void Context::main_waits_for_aside() const {
  ASSAY_CUDA_CALL(cuEventRecord, order_, aside_);
  ASSAY_CUDA_CALL(cuStreamWaitEvent, kMain, order_, 0u);
}

Context::~Context() { release(); }

void Context::release() noexcept {
  driver().cuCtxSetCurrent(context_);
  for (CUevent event : {order_, places_[0], places_[1]})
    if (event != nullptr) driver().cuEventDestroy(event);
  if (aside_ != nullptr) driver().cuStreamDestroy(aside_);
  if (module_ != nullptr) driver().cuModuleUnload(module_);
  driver().cuCtxSetCurrent(nullptr);
  if (which_ == Which::primary) driver().cuDevicePrimaryCtxRelease(device_);
  else driver().cuCtxDestroy(context_);
}

uint64_t Context::free_bytes() const {
  size_t free = 0, total = 0;
  ASSAY_CUDA_CALL(cuMemGetInfo, &free, &total);
  return free;
}

CUfunction Context::kernel_named(const char* kernel) const {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end()) throw EngineError(ErrorCode::unsupported, std::string("no kernel named ") + kernel);
  return found->second;
}

void Context::launch_raw(CUstream stream, const char* kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                         void** arguments) const {
  const CUresult result =
      driver().cuLaunchKernel(kernel_named(kernel), blocks, 1, 1, threads, 1, 1, shared_bytes, stream, arguments, nullptr);
  if (result != kCudaSuccess) check(result, (std::string("cuLaunchKernel of ") + kernel).c_str());
}

void Context::launch_pairs_raw(const char* kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
                               void** arguments) const {
  LaunchAttribute cluster{};
  cluster.id = kLaunchCluster;
  cluster.dimensions[0] = 2;
  cluster.dimensions[1] = cluster.dimensions[2] = 1;
  const LaunchConfig config{{blocks, 1, 1}, {threads, 1, 1}, shared_bytes, kMain, &cluster, 1};
  const CUresult result = driver().cuLaunchKernelEx(&config, kernel_named(kernel), arguments, nullptr);
  if (result != kCudaSuccess) check(result, (std::string("cuLaunchKernelEx of ") + kernel).c_str());
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
