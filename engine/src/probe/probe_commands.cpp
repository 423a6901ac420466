// See probe_commands.hpp.
#include "probe_commands.hpp"

namespace assay {

std::optional<Final> with_kept_rounds(Server& server, Device& device, uint32_t index, Request& request, uint32_t reader,
                                      uint32_t newest,
                                      const std::function<Final(const std::vector<uint32_t>& slots)>& act) {
  if (request.stop) return done(0, true);
  const uint32_t owner = request.session->device;
  if (!server.session_ready(*request.session)) {
    if (index == owner) throw EngineError(ErrorCode::no_session, "the session was not made");
    server.forward(request, owner);
    return std::nullopt;
  }
  {
    const SessionTurn turn(*request.session, request.stop);
    if (!turn) return done(0, true);
    std::optional<KeptRounds>& gemm = probe_session(*request.session).gemm;
    if (!gemm) throw EngineError(ErrorCode::bad_request, "this needs the session of a GEMM");
    const uint32_t rounds = gemm->newest_or_all(newest);
    try {
      if (index == owner) gemm->make_whole(probe_kernels_of(device), rounds, request.stop);
    } catch (const EngineError& e) {
      if (!is_own_stop(e, request)) throw;
      return done(0, true);
    }
    if (index == reader && gemm->are_whole(rounds)) return act(gemm->slots_in_order(rounds));
  }
  server.forward(request, index == owner ? reader : owner);
  return std::nullopt;
}

uint32_t run_chain(Server& server, Request& request, uint32_t total, Tag tag, Hash seed,
                   const std::function<Hash(const Hash& seed)>& step) {
  Progress progress(server, request.id, total);
  uint32_t sent = 0;
  try {
    while (sent < total && !request.stop) {
      const Hash root = step(seed);
      server.send(request.id, RootReply{sent, root});
      if (++sent < total) progress.say(sent);
      seed = chained_hash(tag, seed, root);
    }
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  return sent;
}

void Progress::say(uint32_t done_so_far) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  server_.send(id_, ProgressReply{done_so_far, total_});
}

}  // namespace assay
