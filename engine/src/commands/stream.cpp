// STREAM: a keyed digest over every kept byte of a GEMM session, again and again. docs/hardware-proof.md §5.
#include "../cpu/sha256_host.hpp"
#include "commands.hpp"

namespace assay {

namespace {

Final run_stream(Server& server, Device& device, Request& request, uint32_t newest, uint32_t passes, Hash nonce) {
  if (request.stop) return done(0, true);
  Session& session = *request.session;
  if (!server.session_ready(session)) throw EngineError(ErrorCode::no_session, "the session was not made");
  if (!session.gemm) throw EngineError(ErrorCode::bad_request, "STREAM needs the session of a GEMM");
  session.nonces.clear();
  session.streamed_rounds = session.gemm->newest_or_all(newest);
  RootSender sender(server, request.id, passes);
  try {
    const std::vector<uint32_t> slots = session.gemm->slots_in_order(device, session.streamed_rounds, request.stop);
    while (sender.sent() < passes && !request.stop) {
      const Hash root = device.stream_pass(session.gemm->store(), slots, nonce, request.stop);
      session.nonces.push_back(nonce);
      sender.root(root);
      nonce = chained_hash(Tag::nonce, nonce, root);
    }
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  return done(sender.sent(), sender.sent() < passes);
}

}  // namespace

void stream_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint16_t reader = in.u16();
  in.zeros(2);
  const uint32_t newest = in.u32(), passes = in.u32();
  const Hash nonce = in.hash();
  in.finish();
  server.check_id(id);
  if (passes == 0 || passes > 65536) throw EngineError(ErrorCode::bad_request, "passes must be 1 to 65536");
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, newest, passes, nonce](Device& d, uint32_t, Request& r) -> std::optional<Final> {
    return run_stream(server, d, r, newest, passes, nonce);
  };
  server.submit_for(request, session, reader);
}

}  // namespace assay
