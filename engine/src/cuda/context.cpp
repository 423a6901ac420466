// See context.hpp.
#include "context.hpp"

#include <algorithm>

#include "kernels.hpp"
#include "launch_shape.hpp"
#include "work/limb_shape.hpp"

namespace assay::cuda {
namespace {

int attribute(CUdevice device, int number) {
  int value = 0;
  ASSAY_CUDA_CALL(cuDeviceGetAttribute, &value, number, device);
  return value;
}

}  // namespace

Context::Context(CUdevice device, Which which) : device_(device), which_(which) {
  compute_ = static_cast<uint32_t>(10 * attribute(device, kAttributeMajor) + attribute(device, kAttributeMinor));
  units_ = static_cast<uint32_t>(attribute(device, kAttributeUnits));
#if defined(ASSAY_PLAYED_COMPUTE)
  compute_ = std::min<uint32_t>(compute_, ASSAY_PLAYED_COMPUTE);  // CMakeLists.txt: for tests
#endif
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
    load_all();
    make_streams();
  } catch (...) {
    release();
    throw;
  }
}

void Context::load(const KernelModule& embedded) const {
  CUmodule& module = modules_.emplace_back(nullptr);
  ASSAY_CUDA_CALL(cuModuleLoadData, &module, embedded.image);
  for (const char* kernel : embedded.kernels) ASSAY_CUDA_CALL(cuModuleGetFunction, &kernels_[kernel], module, kernel);
}

// All of them at once, so that free_bytes() counts what they take.
void Context::load_all() {
  const auto allow = [this](const char* kernel, uint32_t shared_bytes) {
    ASSAY_CUDA_CALL(cuFuncSetAttribute, kernels_[kernel], kFunctionMaxDynamicShared, static_cast<int>(shared_bytes));
  };
  for (const KernelModule& module : kernel_modules()) load(module);
  for (uint8_t p = 0; p < std::size(kMultiply); ++p)
    allow(kMultiply[p], tile_shape(static_cast<Precision>(p), compute_).shared_bytes());
  has_warpgroups_ =
      compute_ == 90 && driver().cuTensorMapEncodeTiled != nullptr && driver().cuLaunchKernelEx != nullptr;
  if (!has_warpgroups_) return;
  load(warpgroup_module());
  for (const char* kernel : kWarpgroups) allow(kernel, kWarpgroupSharedBytes);
}

void Context::load_work(bool by_mma) const {
  enter();
  // A kernel's name ends with its planes, like 2s_1u.
  const auto allow = [this](const std::string& kernel, auto shared_bytes) {
    const size_t at = kernel.size() - 5;
    const uint32_t shared = shared_bytes(kernel[at] - '0', kernel[at + 3] - '0');
    ASSAY_CUDA_CALL(cuFuncSetAttribute, kernels_[kernel], kFunctionMaxDynamicShared, static_cast<int>(shared));
  };
  std::call_once(work_, [&] {
    load(work_module());
    load(thin_module());
    if (!has_warpgroups_) return;
    for (const KernelModule& module : limb_modules()) {
      load(module);
      // A narrow one asks for no more than its wide twin.
      for (const char* kernel : module.kernels) allow(kernel, [](uint32_t a, uint32_t b) { return limb_shared_bytes(a, b, limb_tile_n(a, b)); });
    }
  });
  if (!by_mma) return;
  std::call_once(work_by_mma_, [&] {
    load(limb_mma_module());
    for (const char* kernel : kLimbsByMma)
      allow(kernel, [this](uint32_t a, uint32_t b) { return limb_mma_shared_bytes(a, b, compute_); });
  });
}

void Context::load_proofs() const {
  enter();
  std::call_once(proofs_, [this] {
    for (const KernelModule& module : proof_modules()) load(module);
  });
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
  for (CUmodule module : modules_)
    if (module != nullptr) driver().cuModuleUnload(module);
  driver().cuCtxSetCurrent(nullptr);
  if (which_ == Which::primary) driver().cuDevicePrimaryCtxRelease(device_);
  else driver().cuCtxDestroy(context_);
}

uint64_t Context::free_bytes() const {
  size_t free = 0, total = 0;
  ASSAY_CUDA_CALL(cuMemGetInfo, &free, &total);
  return free;
}

void Context::launch_in_pairs(CUfunction kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes, CUstream stream, void** arguments) const {
  LaunchAttribute cluster{};
  cluster.id = kLaunchCluster;
  cluster.dimensions[0] = 2;
  cluster.dimensions[1] = cluster.dimensions[2] = 1;
  const LaunchConfig config{{blocks, 1, 1}, {threads, 1, 1}, shared_bytes, stream, &cluster, 1};
  ASSAY_CUDA_CALL(cuLaunchKernelEx, &config, kernel, arguments, nullptr);
}

void Context::launch_raw(const Launch& what, void** arguments) const {
  const auto found = kernels_.find(what.kernel);
  if (found == kernels_.end()) throw EngineError(ErrorCode::unsupported, std::string("no kernel named ") + what.kernel);
  if (what.where == Where::main_in_pairs)
    return launch_in_pairs(found->second, what.blocks, what.threads, what.shared_bytes, what.stream, arguments);
  const CUresult result = driver().cuLaunchKernel(found->second, what.blocks, what.rows, 1, what.threads, 1, 1, what.shared_bytes,
                                                  what.where == Where::aside ? aside_ : what.stream, arguments, nullptr);
  if (result != kCudaSuccess) check(result, (std::string("launching ") + what.kernel).c_str());
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
