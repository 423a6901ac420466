// Sessions that GIVE goes to: how they are made and counted, since each holds much. What one is given is the
// business of the session inside.
#pragma once
#include <optional>
#include <span>

#include "server/server.hpp"

namespace assay {

class GivenSession : public SessionContent {
 public:
  virtual void give(uint32_t number, uint64_t offset, std::span<const uint8_t> bytes) = 0;
};

// Of all connections together `kMost` stand at a time.
template <typename Session, int kMost>
struct CountedSession final : GivenSession {
  CountedSession() {
    if (++count <= kMost) return;
    --count;
    throw EngineError(ErrorCode::busy, std::to_string(kMost) + " " + Session::kPlural + " at a time are the most");
  }
  ~CountedSession() override {
    session.reset();
    --count;
  }
  void give(uint32_t number, uint64_t offset, std::span<const uint8_t> bytes) override { session->give(number, offset, bytes); }
  std::optional<Session> session;
  static inline std::atomic<int> count{0};
};

// Queues the making of one on the device. `make` puts the session into it and says how many bytes it takes.
template <typename Counted, typename Asked, typename Make>
void submit_making(Server& server, uint32_t id, const Asked& asked, bool is_allowed, Make make) {
  if (!is_allowed) throw EngineError(ErrorCode::unsupported, "this engine proves nothing: it was started without --work");
  const auto run = [&server, make = std::move(make)](Device* device, uint32_t, Request& request) -> std::optional<Final> {
    if (request.stop) return done(0, true);
    zk::ProofKernels* kernels = device->proof_kernels();
    if (kernels == nullptr) throw EngineError(ErrorCode::unsupported, "this device proves nothing");
    auto content = std::make_unique<Counted>();
    const PlanReply reply{make(content->session, *kernels), 0, 0, 0};
    server.session_stands(*request.session, std::move(content));
    return final_of(reply);
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
}

}  // namespace assay
