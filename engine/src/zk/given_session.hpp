// A session that GIVE goes to: what it is given is its maker's business.
#pragma once
#include <span>

#include "server/session.hpp"

namespace assay {

class GivenSession : public SessionContent {
 public:
  virtual void give(uint32_t number, uint64_t offset, std::span<const uint8_t> bytes) = 0;
};

}  // namespace assay
