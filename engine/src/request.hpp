// One unfinished request and how it ends.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "frames.hpp"
#include "session.hpp"

namespace assay {

// The last frame of a request: DONE, CLAIM or ERROR. Sent after the request is taken off the books, so that the
// verifier may use its id and its session again as soon as it sees this frame.
struct Final {
  Kind kind;
  std::vector<uint8_t> payload;
};

inline Final done(uint32_t count, bool cancelled) {
  return {Kind::done, PayloadWriter().u32(count).u8(cancelled ? 1 : 0).take()};
}

inline Final failed(ErrorCode code, const std::string& message) {
  return {Kind::error, PayloadWriter().u16(static_cast<uint16_t>(code)).text(clean_text(message, kMaxErrorBytes)).take()};
}

struct Request : std::enable_shared_from_this<Request> {
  uint32_t id = 0;
  uint32_t device = 0;  // in whose queue it is; under the server's lock
  std::shared_ptr<Session> session;  // none for HELLO
  bool makes_session = false;
  bool leaves_queue = true;  // CANCEL may take it out of the queue before it runs
  std::atomic<bool> stop{false};
  // Runs on the device's worker. No Final: another worker still has a part of it (HELLO asks every device,
  // a peer's STREAM may need the session's own device first).
  std::function<std::optional<Final>(Device&, uint32_t device, Request&)> run;
};

}  // namespace assay
