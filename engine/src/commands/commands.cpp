// Which kind is which command; see commands.hpp.
#include "commands.hpp"

namespace assay {

void run_command(Server& server, uint8_t kind, uint32_t id, PayloadReader& in) {
  switch (static_cast<Kind>(kind)) {
    case Kind::hello: return hello_command(server, id, in);
    case Kind::gemm: return gemm_command(server, id, in);
    case Kind::stream: return stream_command(server, id, in);
    case Kind::fma: return fma_command(server, id, in);
    case Kind::open: return open_command(server, id, in);
    case Kind::release: return release_command(server, id, in);
    case Kind::ping: return ping_command(server, id, in);
    case Kind::cancel: return cancel_command(server, id, in);
    case Kind::copy: return copy_command(server, id, in);
    case Kind::read: return read_command(server, id, in);
    default: throw EngineError(ErrorCode::bad_frame, "unknown kind " + std::to_string(kind));
  }
}

std::optional<Final> with_kept_rounds(Server& server, Device& device, uint32_t index, Request& request, uint32_t reader, uint32_t newest,
                                      const std::function<Final(const std::vector<uint32_t>& slots)>& act) {
  if (request.stop) return done(0, true);
  Session& session = *request.session;
  const uint32_t owner = session.device;
  if (!server.session_ready(session)) {
    if (index == owner) throw EngineError(ErrorCode::no_session, "the session was not made");
    server.forward(request, owner);
    return std::nullopt;
  }
  {
    const SessionTurn turn(session, request.stop);
    if (!turn) return done(0, true);
    if (!session.gemm) throw EngineError(ErrorCode::bad_request, "this needs the session of a GEMM");
    const uint32_t rounds = session.gemm->newest_or_all(newest);
    try {
      if (index == owner) session.gemm->make_whole(device, rounds, request.stop);
    } catch (const EngineError& e) {
      if (!is_own_stop(e, request)) throw;
      return done(0, true);
    }
    if (index == reader && session.gemm->are_whole(rounds)) return act(session.gemm->slots_in_order(rounds));
  }
  server.forward(request, index == owner ? reader : owner);
  return std::nullopt;
}

void RootSender::root(const Hash& root) {
  server_.send(Kind::root, id_, PayloadWriter().u32(sent_).hash(root).take());
  ++sent_;
  if (sent_ < total_) progress(sent_);
}

void RootSender::progress(uint32_t done_so_far) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  server_.send(Kind::progress, id_, PayloadWriter().u32(done_so_far).u32(total_).take());
}

}  // namespace assay
