// What every part of the engine throws: a code of the wire and a sentence, which become an ERROR frame.
#pragma once
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

}  // namespace assay
