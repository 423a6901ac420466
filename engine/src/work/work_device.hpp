// What a device must do to run programs (docs/work.md): hold one block of memory, run one op on addresses in
// it, hash a stretch of it. In which order ops run, and where tensors lie, is runner.cpp: the same for every
// device.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/philox.hpp"
#include "work/program.hpp"

namespace assay::work {

// When an op runs.
struct Moment {
  uint64_t segment = 0;
  uint32_t step = 0, k = 1;
  PhiloxKey key{};
};

using Root = std::array<uint8_t, 32>;
// Bytes from the start of a session's memory.
using Address = uint64_t;
struct Stretch {
  Address at;
  uint64_t bytes;
};
struct MemoryPlan;  // plan.hpp

// Memory and compiled ops of one program on one device. Calls run in order; only read, hash and finish wait
// for them.
class WorkMemory {
 public:
  virtual ~WorkMemory() = default;
  virtual void write(Address at, std::span<const uint8_t> bytes) = 0;
  virtual void read(Address at, std::span<uint8_t> bytes) = 0;
  virtual void clear(Address at, uint64_t bytes) = 0;
  virtual void copy(Address from, Address to, uint64_t bytes) = 0;
  // `number` is what prepare was given for this op.
  virtual void run(uint32_t number, std::span<const Address> operands, Address out, const Moment& moment) = 0;
  // Root of the tagged tree over 1 KiB leaves, the last one filled with zeros.
  virtual Root hash(Address at, uint64_t bytes) = 0;
  // The same for each of them, in order.
  virtual std::vector<Root> hash_all(std::span<const Stretch> all) {
    std::vector<Root> roots;
    for (const auto& [at, bytes] : all) roots.push_back(hash(at, bytes));
    return roots;
  }
  // All ops of a phase once, in a way of the device's own: it leaves in every tensor what `run` op by op
  // would, and what ops give beside that nowhere. False: it has no such way.
  virtual bool run_phase(Phase, const Moment&) { return false; }
  virtual void finish() = 0;
};

class WorkKernels {
 public:
  virtual ~WorkKernels() = default;
  // Memory as planned, at zero, and every op of the program made ready: those of init, then those of step.
  // Throws EngineError no_memory. `checked` and `plan` outlive what is returned.
  virtual std::unique_ptr<WorkMemory> prepare(const CheckedProgram& checked, const MemoryPlan& plan) = 0;
  // What the device needs beside the plan's bytes to run this program.
  virtual uint64_t extra_bytes(const CheckedProgram& checked, const MemoryPlan& plan) = 0;
};

}  // namespace assay::work
