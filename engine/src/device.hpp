// One device as the commands see it: what a backend (cpu/, cuda/, disk/) must be able to do, and nothing about frames.
// All calls for one device come from that device's own worker thread, one at a time; `stop` may be set from another. Kept products
// may be read by another device of their kind, and by a disk; their session's turn (session.hpp) keeps two users apart.
// A backend must agree with core/ bit for bit; the CPU backend is the reference.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/entries.hpp"
#include "core/mix.hpp"
#include "core/sha256.hpp"

namespace assay {

using Seed = Hash;

// Numbers are on the wire (FRAMES.md, ERROR).
enum class ErrorCode : uint16_t {
  bad_frame = 1,
  bad_request = 2,
  no_device = 3,
  no_memory = 4,
  busy = 5,
  no_session = 6,
  device_failed = 7,
  cancelled = 8,
  unsupported = 9,
  version = 10,
};

class EngineError : public std::runtime_error {
 public:
  EngineError(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

struct GemmSpec {
  Precision precision;
  uint32_t m, n, k;  // m, k multiples of 128; n a multiple of 512
  uint32_t leaves() const { return m * (n / 512); }
  uint64_t bytes() const { return uint64_t{2} * m * n; }
};

struct FmaSpec {
  Precision precision;
  uint32_t lanes;  // multiple of 256
  uint32_t steps;  // multiple of kBlockSteps
  uint32_t lanes_per_leaf() const { return precision == Precision::fp64 ? 128u : 256u; }
  uint32_t leaves() const { return lanes / lanes_per_leaf(); }
};

struct Opening {
  uint32_t index;             // leaf or group
  std::vector<uint8_t> leaf;  // 1024 bytes
  std::vector<Hash> path;     // siblings, bottom up; a promoted node has none (docs/hardware-proof.md §1)
};

enum class DeviceKind { gpu, cpu, disk };
constexpr const char* kind_name(DeviceKind kind) {
  return kind == DeviceKind::gpu ? "gpu" : kind == DeviceKind::cpu ? "cpu" : "disk";
}

// What the device says of itself right now (FRAMES.md, READING); 0 where nothing is known. Claims only.
struct Reading {
  uint32_t core_mhz = 0, memory_mhz = 0, power_mw = 0, temperature_c = 0;
  uint32_t throttle_reasons = 0;  // NVML's bits
};
// Takes a reading; from any thread, at any time, also when the device it came from is busy or gone. Empty: nothing can be read.
using Gauge = std::function<Reading()>;

// What the host says of the device; filled by backends, printed by hello. Claims only.
struct DeviceClaim {
  std::string name, uuid;
  uint64_t memory_bytes = 0, free_bytes = 0;  // free: what could be allocated now, with the context already made
  uint32_t units = 0;                         // SMs or cores
  uint32_t clock_mhz = 0;
  std::string compute;  // "9.0", empty for a cpu
  uint32_t pcie_gen = 0, pcie_width = 0;
  uint32_t power_limit_w = 0, power_default_w = 0, temperature_c = 0;
  std::vector<Precision> precisions;  // which challenges it can answer
};

// Kept products of one gemm session. Slot i holds one round; made by Device::keep, freed on destruction.
class Kept {
 public:
  virtual ~Kept() = default;
  // The product in a slot where it lies in host memory, at a page's boundary; else null.
  virtual const uint8_t* host_product(uint32_t) const { return nullptr; }
};

// Products of one session in a file; its room is free again on destruction, on any thread.
class DiskCopy {
 public:
  virtual ~DiskCopy() = default;
};
struct Copied {
  std::unique_ptr<DiskCopy> copy;
  Hash root;  // of the digests, as stream_pass makes it
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual DeviceClaim claim() = 0;
  virtual Gauge gauge() const { return {}; }

  // Room for `slots` products (at least 1) and the workspace of this shape. Throws no_memory / unsupported.
  virtual std::unique_ptr<Kept> keep(const GemmSpec& spec, uint32_t slots) = 0;
  // C = A·Bᵀ mod 2^16 for this seed into the slot; returns the Merkle root over its leaves. Throws cancelled on `stop`.
  virtual Hash gemm_round(Kept& kept, uint32_t slot, const Seed& seed, const std::atomic<bool>& stop) = 0;
  // Leaves and paths of the product in `slot`; `leaves` may repeat and come in any order. Rebuilds the tree from the bytes.
  virtual std::vector<Opening> open_round(Kept& kept, uint32_t slot, std::span<const uint32_t> leaves) = 0;

  // Digests of every leaf of the slots, in the order given (kept leaf index counts across them); the root over groups of 128.
  // `kept` may be another device's of the same kind, which is then only read; open_stream is for the owner alone.
  virtual Hash stream_pass(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) = 0;
  virtual std::vector<Opening> open_stream(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                           std::span<const uint32_t> groups) = 0;

  virtual Hash fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) = 0;
  virtual std::vector<Opening> open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) = 0;

  // Disks only. Products (of host_product), in this order, into a file, and their digests; durable when it returns. Throws no_memory.
  virtual Copied copy_products(const GemmSpec&, std::span<const uint8_t* const>, const Hash&, const std::atomic<bool>&) {
    throw EngineError(ErrorCode::unsupported, "this device is no disk");
  }
  // stream_pass over the last `products` of a copy, read from the medium.
  virtual Hash stream_copy(DiskCopy&, uint32_t /*products*/, const Hash& /*nonce*/, const std::atomic<bool>& /*stop*/) {
    throw EngineError(ErrorCode::unsupported, "this device is no disk");
  }
};

// Backends. CUDA: empty when there is no driver or no device; `why` then says so in words for the claim.
std::unique_ptr<Device> make_cpu_device(unsigned threads);  // 0: all usable cores
// `count` virtual devices that share the threads and the memory equally, each with one thread at least.
std::vector<std::unique_ptr<Device>> make_cpu_devices(unsigned threads, unsigned count);
// The disk under `directory`; under the first usable of $TMPDIR, /var/tmp and the current directory when that is empty. Null, with
// the reason in `why`, where no file can be made that goes past the page cache.
std::unique_ptr<Device> find_disk(const std::string& directory, std::string& why);
struct CudaDevices {
  bool is_built_in = false;  // whether this program has device code
  std::vector<std::unique_ptr<Device>> devices;
  std::string driver_version;  // e.g. "580.159.04", empty without a driver
  std::string cuda_version;    // e.g. "13.0"
  std::string why_none;        // empty when devices were found
};
CudaDevices find_cuda_devices();

}  // namespace assay
