// Who holds how much of the host's memory among the CPU devices of this process. Virtual devices have equal
// shares of what is free and held together, so that all of them filled at once fit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine_error.hpp"
#include "host_info.hpp"

namespace assay {

class MemoryLedger {
 public:
  explicit MemoryLedger(uint32_t devices) : held_(devices, 0) {}

  // What this device may still take.
  uint64_t allocatable(uint32_t device) {
    const std::lock_guard lock(mutex_);
    return room(device);
  }

 private:
  friend class HeldMemory;
  // Memory left to the rest of the host: filling all of it gets somebody killed.
  static uint64_t margin_bytes(uint64_t free_bytes) { return std::max<uint64_t>(uint64_t{256} << 20, free_bytes / 32); }

  uint64_t room(uint32_t device) const {
    // mmap promises more than there is: what is promised and not yet taken from the system is not free.
    const uint64_t free = read_ram_free_bytes(), reserved = margin_bytes(free) + untouched_;
    const uint64_t left = free > reserved ? free - reserved : 0;
    uint64_t all = left;
    for (const uint64_t held : held_) all += held;
    const uint64_t share = all / held_.size();
    return share > held_[device] ? std::min(share - held_[device], left) : 0;
  }

  std::mutex mutex_;
  std::vector<uint64_t> held_;  // by device
  uint64_t untouched_ = 0;      // of all held bytes, those no page was taken for yet
};

// An entry in the ledger for as long as it lives.
class HeldMemory {
 public:
  HeldMemory(std::shared_ptr<MemoryLedger> ledger, uint32_t device, unsigned __int128 bytes)
      : ledger_(std::move(ledger)), device_(device), bytes_(static_cast<uint64_t>(bytes)), untouched_(bytes_) {
    const std::lock_guard lock(ledger_->mutex_);
    if (bytes > ledger_->room(device)) throw EngineError(ErrorCode::no_memory, "not enough host memory for these products");
    ledger_->held_[device_] += bytes_;
    ledger_->untouched_ += untouched_;
  }
  ~HeldMemory() {
    const std::lock_guard lock(ledger_->mutex_);
    ledger_->held_[device_] -= bytes_;
    ledger_->untouched_ -= untouched_;
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  void touch_all() { touch(untouched_); }
  // So many more of its bytes are about to be written for the first time.
  void touch(uint64_t bytes) {
    const std::lock_guard lock(ledger_->mutex_);
    ledger_->untouched_ -= bytes;
    untouched_ -= bytes;
  }

 private:
  std::shared_ptr<MemoryLedger> ledger_;
  uint32_t device_;
  uint64_t bytes_, untouched_;
};

}  // namespace assay
