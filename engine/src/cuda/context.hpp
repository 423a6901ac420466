// One card made ready: its primary context, the loaded modules, their kernels by name, and memory that frees
// itself. Not here: what the kernels are launched for (cuda_device.cpp, tree.cpp).
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver_api.hpp"
#include "engine_error.hpp"

namespace assay::cuda {

struct KernelModule;

// Where a launch goes: the main stream, the same in clusters of two blocks (only where has_warpgroups()), or
// beside it and before it where both have blocks ready: for small work that must not wait its turn.
enum class Where { main, main_in_pairs, aside };
struct Launch {
  const char* kernel;
  uint32_t blocks, threads, shared_bytes = 0;
  Where where = Where::main;
  uint32_t rows = 1;          // of blocks
  CUstream stream = nullptr;  // in place of the main one
};

class Context {
 public:
  // Makes the context and loads the kernels; throws EngineError when the card cannot run them.
  // A context of its own, beside the primary one, is for tests: so one card plays two.
  enum class Which { primary, own };
  explicit Context(CUdevice device, Which which = Which::primary);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Every entry from outside calls this first: the context is current per thread.
  void enter() const { ASSAY_CUDA_CALL(cuCtxSetCurrent, context_); }
  void synchronize() const { ASSAY_CUDA_CALL(cuCtxSynchronize); }

  CUcontext handle() const { return context_; }
  CUdevice device() const { return device_; }
  uint32_t compute() const { return compute_; }  // major*10 + minor
  uint32_t units() const { return units_; }
  uint64_t free_bytes() const;

  // The kernels of programs, which a probe does without: loaded with the first of them. Those of products by
  // mma.sync: with the first that wants them.
  void load_work(bool by_mma) const;
  // Those of proofs.
  void load_proofs() const;

  // Hopper's own instructions: the card has them, and the driver can describe matrices.
  bool has_warpgroups() const { return has_warpgroups_; }
  // Arguments must have exactly the kernel's parameter types. Launches to one place run in order.
  template <typename... Arguments>
  void launch(const Launch& what, const Arguments&... arguments) const {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    launch_raw(what, pointers);
  }
  template <typename... Arguments>
  void launch_2d(const char* kernel, uint32_t blocks, uint32_t rows, uint32_t threads, const Arguments&... arguments) const {
    launch({kernel, blocks, threads, 0, Where::main, rows}, arguments...);
  }
  // A kernel that is not one of the embedded, in clusters of two blocks.
  void launch_in_pairs(CUfunction kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes, CUstream stream, void** arguments) const;
  void aside_waits_for_main() const;
  void main_waits_for_aside() const;
  // Marks a place in the side stream (0 or 1); the host waits for it later. Not marked yet: returns at once.
  void mark_aside(uint32_t place) const { ASSAY_CUDA_CALL(cuEventRecord, places_[place], aside_); }
  void wait_for_mark(uint32_t place) const { ASSAY_CUDA_CALL(cuEventSynchronize, places_[place]); }

 private:
  void load(const KernelModule& embedded) const;
  void load_all();
  static constexpr CUstream kMain = nullptr;
  void make_streams();
  void release() noexcept;
  void launch_raw(const Launch& what, void** arguments) const;
  CUfunction kernel_named(const char* kernel) const;

  CUdevice device_;
  Which which_;
  CUcontext context_ = nullptr;
  mutable std::vector<CUmodule> modules_;
  CUstream aside_ = nullptr;
  CUevent order_ = nullptr, places_[2] = {nullptr, nullptr};
  uint32_t compute_ = 0, units_ = 0;
  bool has_warpgroups_ = false;
  mutable std::map<std::string, CUfunction, std::less<>> kernels_;
  mutable std::once_flag work_, work_by_mma_, proofs_;
};

// Device memory. Keeps the context alive, so owners may die in any order and on any thread.
class Buffer {
 public:
  Buffer() = default;
  // Throws no_memory when there is no room. The caller has entered the context.
  Buffer(std::shared_ptr<const Context> context, uint64_t bytes);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  CUdeviceptr at(uint64_t offset = 0) const { return address_ + offset; }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  std::shared_ptr<const Context> context_;
  CUdeviceptr address_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace assay::cuda
