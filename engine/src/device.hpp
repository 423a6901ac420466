// One device: what it is, what it says of itself, and what it can do. A backend (cpu/, cuda/, disk/) is a
// device with one or more capabilities; each capability is an interface of its own, in the folder of those
// who use it (probe/). All calls for one device come from that device's own worker thread, one at a time;
// only a gauge is read from any thread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/entries.hpp"

namespace assay {

enum class DeviceKind { gpu, cpu, disk };
constexpr const char* kind_name(DeviceKind kind) {
  return kind == DeviceKind::gpu ? "gpu" : kind == DeviceKind::cpu ? "cpu" : "disk";
}

// What the device says of itself right now (FRAMES.md, READING); 0 where nothing is known. Claims only.
struct Reading {
  uint32_t core_mhz = 0, memory_mhz = 0, power_mw = 0, temperature_c = 0;
  uint32_t throttle_reasons = 0;  // NVML's bits
};
// Takes a reading; from any thread, also when its device is busy or gone. Empty: nothing can be read.
using Gauge = std::function<Reading()>;

// What the host says of the device; filled by backends, printed by hello. Claims only.
struct DeviceClaim {
  std::string name, uuid;
  // free: what could be allocated now, with the context already made.
  uint64_t memory_bytes = 0, free_bytes = 0;
  uint32_t units = 0;                         // SMs or cores
  uint32_t clock_mhz = 0;
  std::string compute;  // "9.0", empty for a cpu
  uint32_t pcie_gen = 0, pcie_width = 0;
  uint32_t power_limit_w = 0, power_default_w = 0, temperature_c = 0;
  std::vector<Precision> precisions;  // which challenges it can answer
};

class ProbeKernels;
class ProductCopies;
namespace work {
class WorkKernels;
}
namespace zk {
class ProofKernels;
}

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual DeviceClaim claim() = 0;
  virtual Gauge gauge() const { return {}; }

  // Its capabilities, which live as long as the device; null where it has none such.
  virtual ProbeKernels* probe_kernels() { return nullptr; }    // probe/probe_kernels.hpp
  virtual ProductCopies* product_copies() { return nullptr; }  // probe/product_copies.hpp
  virtual work::WorkKernels* work_kernels() { return nullptr; }  // work/work_device.hpp
  virtual zk::ProofKernels* proof_kernels() { return nullptr; }  // zk/proof_kernels.hpp
};

}  // namespace assay
