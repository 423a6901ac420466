// What a device must be able to do to answer a probe: products, digests of them, chains through them, lanes,
// and the openings of each. docs/hardware-proof.md §3 to §6, §13. The backends must agree with core/ bit for
// bit; the CPU's is the reference. Calls come from the device's own worker; `stop` may be set from elsewhere.
// Kept products may be read by another device of their kind, and by a disk, each in the session's turn.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/chase.hpp"
#include "device.hpp"
#include "engine_error.hpp"

namespace assay {

using Seed = Hash;

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
  bool operator==(const FmaSpec&) const = default;
};

struct Opening {
  uint32_t index;             // leaf or group
  std::vector<uint8_t> leaf;  // 1024 bytes
  std::vector<Hash> path;     // siblings, bottom up; a promoted node has none (docs/hardware-proof.md §1)
};

// Kept products of one gemm session, one round a slot; made by ProbeKernels::keep, freed on destruction.
class Kept {
 public:
  virtual ~Kept() = default;
  // The product in a slot where it lies in host memory, at a page's boundary; else null.
  virtual const uint8_t* host_product(uint32_t) const { return nullptr; }
};

class ProbeKernels {
 public:
  virtual ~ProbeKernels() = default;

  // Room for `slots` products (at least 1) and the workspace of this shape. Throws no_memory / unsupported.
  virtual std::unique_ptr<Kept> keep(const GemmSpec& spec, uint32_t slots) = 0;
  // C = A·Bᵀ mod 2^16 for this seed into the slot; gives the root over its leaves. Throws cancelled on stop.
  virtual Hash gemm_round(Kept& kept, uint32_t slot, const Seed& seed, const std::atomic<bool>& stop) = 0;
  // Leaves and paths of the product in `slot`, from its bytes; `leaves` may repeat and come in any order.
  virtual std::vector<Opening> open_round(Kept& kept, uint32_t slot, std::span<const uint32_t> leaves) = 0;

  // Digests of every leaf of the slots, in the order given (kept leaf index counts across them); the root
  // over groups of 128. `kept` may be another device's of the same kind; open_stream is for the owner alone.
  virtual Hash stream_pass(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, const std::atomic<bool>& stop) = 0;
  virtual std::vector<Opening> open_stream(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                           std::span<const uint32_t> groups) = 0;

  // The labels of a chase over the slots, in the order given: docs/hardware-proof.md §13. Throws cancelled on
  // `stop`.
  virtual std::vector<Label> chase(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce, uint32_t intervals,
                                   const std::atomic<bool>& stop) = 0;
  // Which leaves (counted as kept leaves) an interval's hops from each of these states go to, 64 for each.
  virtual std::vector<uint64_t> hop_targets(Kept& kept, std::span<const uint32_t> slots, const Hash& nonce,
                                            std::span<const uint64_t> starts) = 0;

  virtual Hash fma_round(const FmaSpec& spec, const Seed& seed, const std::atomic<bool>& stop) = 0;
  virtual std::vector<Opening> open_fma(const FmaSpec& spec, const Seed& seed, std::span<const uint32_t> leaves) = 0;
};

// Throws unsupported where the device has none.
inline ProbeKernels& probe_kernels_of(Device& device) {
  if (ProbeKernels* kernels = device.probe_kernels()) return *kernels;
  throw EngineError(ErrorCode::unsupported, std::string("a ") + kind_name(device.kind()) + " computes nothing");
}

}  // namespace assay
