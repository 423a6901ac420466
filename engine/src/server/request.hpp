// One unfinished request and how it ends.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "device.hpp"
#include "session.hpp"
#include "wire/frames.hpp"

namespace assay {

// The last frame of a request. Sent after the request is taken off the books, so that the verifier may use
// its id and its session again as soon as it sees this frame.
struct Final {
  Kind kind;
  std::vector<uint8_t> payload;
};

template <typename Reply>
Final final_of(const Reply& reply) {
  return {Reply::kKind, payload_of(reply)};
}
inline Final done(uint32_t count, bool cancelled) { return final_of(DoneReply{count, cancelled}); }
inline Final failed(ErrorCode code, const std::string& message) {
  return final_of(ErrorReply{static_cast<uint16_t>(code), clean_text(message, kMaxErrorBytes)});
}

// How a request ends by the exception that is being handled.
inline Final failed_now() {
  try {
    throw;
  } catch (const EngineError& e) {
    return failed(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return failed(ErrorCode::no_memory, "out of host memory");
  } catch (const std::exception& e) {
    return failed(ErrorCode::device_failed, e.what());
  }
}

// What a request does with the session that it names.
enum class SessionUse { makes, uses, frees };

struct Request : std::enable_shared_from_this<Request> {
  // Runs on the worker of a device, or, without one, on that of the readings. No Final: another worker still
  // has a part of it (HELLO asks every device, a peer's STREAM may need the session's own device first).
  using Run = std::function<std::optional<Final>(Device*, uint32_t device, Request&)>;
  Request(uint32_t id, Run run, SessionUse use = SessionUse::uses) : id(id), use(use), run(std::move(run)) {}

  const uint32_t id;
  const SessionUse use;
  bool leaves_queue = true;  // CANCEL may take it out of the queue before it runs
  const Run run;
  std::atomic<bool> stop{false};
  uint32_t device = 0;               // in whose queue it is; under the server's lock
  std::shared_ptr<Session> session;  // none for HELLO and READ
};

}  // namespace assay
