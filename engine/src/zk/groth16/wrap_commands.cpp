// See wrap_commands.hpp.
#include "zk/groth16/wrap_commands.hpp"

#include "server/session_request.hpp"
#include "zk/given_session.hpp"
#include "zk/groth16/wrap_session.hpp"

namespace assay {

namespace {

// Each holds a key.
using CountedWrapper = CountedSession<zk::WrapSession, 2>;

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
  submit_making<CountedWrapper>(server, id, asked, is_allowed, [asked](std::optional<zk::WrapSession>& session, zk::ProofKernels& kernels) {
    const zk::WrapShape shape{asked.form, asked.inputs, asked.wires, asked.log2, asked.circuit_bytes};
    session.emplace(kernels, shape);
    return shape.host_bytes();
  });
}

void wrap_command(Server& server, uint32_t id, const WrapRequest& asked) {
  submit_wrapper(server, id, asked.session, [asked](zk::WrapSession& session, const zk::OnPart& on_part) { return session.prove(asked.r, asked.s, on_part); });
}

void key_command(Server& server, uint32_t id, const KeyRequest& asked) {
  submit_wrapper(server, id, asked.session, [](zk::WrapSession& session, const zk::OnPart& on_part) { return session.verifying_key(on_part); });
}

}  // namespace assay
