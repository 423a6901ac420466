// What every part of the engine throws: a code of the wire and a sentence, which become an ERROR frame.
#pragma once
#include <atomic>
#include <stdexcept>
#include <string>

#include "wire/frame_table.hpp"

namespace assay {

class EngineError : public std::runtime_error {
 public:
  EngineError(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Work that is told to stop ends so.
inline void throw_if(const std::atomic<bool>& stop) {
  if (stop.load(std::memory_order_relaxed)) throw EngineError(ErrorCode::cancelled, "stopped");
}
inline const std::atomic<bool> kNeverStop{false};

}  // namespace assay
