// See wrap_commands.hpp.
#include "zk/groth16/wrap_commands.hpp"

#include "server/session_request.hpp"
#include "zk/given_session.hpp"
#include "zk/groth16/wrap_session.hpp"

namespace assay {

namespace {

// Each holds a key.
constexpr int kMaxWrapSessions = 2;
std::atomic<int> wrap_sessions{0};

struct CountedWrapper final : GivenSession {
  CountedWrapper() {
    if (++wrap_sessions > kMaxWrapSessions) {
      --wrap_sessions;
      throw EngineError(ErrorCode::busy, std::to_string(kMaxWrapSessions) + " keys at a time are the most");
    }
  }
  ~CountedWrapper() override {
    session.reset();
    --wrap_sessions;
  }
  void give(uint32_t number, uint64_t offset, std::span<const uint8_t> bytes) override { session->give(number, offset, bytes); }
  std::optional<zk::WrapSession> session;
};

template <typename Act>
void submit_wrapper(Server& server, uint32_t id, uint32_t session, Act act) {
  submit_on_session<CountedWrapper>(server, id, session, "WRAPPER", [&server, act = std::move(act)](CountedWrapper& counted, Request& request) {
    const auto on_part = [&](uint32_t part, uint32_t total) {
      throw_if(request.stop);
      server.send(request.id, ProgressReply{part, total});
    };
    server.send(request.id, BytesReply{act(*counted.session, on_part)});
    return done(1, false);
  });
}

}  // namespace

void wrapper_command(Server& server, uint32_t id, const WrapperRequest& asked, bool is_allowed) {
  if (!is_allowed) throw EngineError(ErrorCode::unsupported, "this engine proves nothing: it was started without --work");
  const auto run = [&server, asked](Device* device, uint32_t, Request& request) -> std::optional<Final> {
    if (request.stop) return done(0, true);
    zk::ProofKernels* kernels = device->proof_kernels();
    if (kernels == nullptr) throw EngineError(ErrorCode::unsupported, "this device proves nothing");
    auto content = std::make_unique<CountedWrapper>();
    const zk::WrapShape shape{asked.form, asked.inputs, asked.wires, asked.log2, asked.circuit_bytes};
    content->session.emplace(*kernels, shape);
    server.session_stands(*request.session, std::move(content));
    return final_of(PlanReply{shape.host_bytes(), 0, 0, 0});
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
}

void wrap_command(Server& server, uint32_t id, const WrapRequest& asked) {
  submit_wrapper(server, id, asked.session, [asked](zk::WrapSession& session, const zk::OnPart& on_part) { return session.prove(asked.r, asked.s, on_part); });
}

void key_command(Server& server, uint32_t id, const KeyRequest& asked) {
  submit_wrapper(server, id, asked.session, [](zk::WrapSession& session, const zk::OnPart& on_part) { return session.verifying_key(on_part); });
}

}  // namespace assay
