// See prove_commands.hpp.
#include "zk/prove_commands.hpp"

#include "server/session_request.hpp"
#include "zk/given_session.hpp"
#include "zk/prove_session.hpp"

namespace assay {

namespace {

// Each holds a run and its columns.
using CountedProver = CountedSession<zk::ProveSession, 4>;

// Ten a second at most; throws when the request is to stop.
zk::OnPart progress_of(Server& server, Request& request) {
  using Clock = std::chrono::steady_clock;
  return [&server, &request, told = Clock::now()](uint32_t done, uint32_t total) mutable {
    throw_if(request.stop);
    if (Clock::now() - told < std::chrono::milliseconds(100)) return;
    told = Clock::now();
    server.send(request.id, ProgressReply{done, total});
  };
}

// As many frames as they need.
Final send_bytes(Server& server, const Request& request, std::span<const uint8_t> bytes) {
  uint32_t pieces = 0;
  for (size_t at = 0; at < bytes.size(); at += kMaxPieceBytes, ++pieces) {
    const auto piece = bytes.subspan(at, std::min<size_t>(kMaxPieceBytes, bytes.size() - at));
    server.send(request.id, BytesReply{{piece.begin(), piece.end()}});
  }
  return done(pieces, false);
}

template <typename Act>
void submit_prover(Server& server, uint32_t id, uint32_t session, Act act) {
  submit_on_session<CountedProver>(server, id, session, "PROVER", [act = std::move(act)](CountedProver& counted, Request& request) {
    return act(*counted.session, request);
  });
}

}  // namespace

void prover_command(Server& server, uint32_t id, const ProverRequest& asked, bool is_allowed) {
  submit_making<CountedProver>(server, id, asked, is_allowed, [asked](std::optional<zk::ProveSession>& session, zk::ProofKernels& kernels) {
    return session.emplace(kernels, asked.plan).plan().bytes();
  });
}

void give_command(Server& server, uint32_t id, const GiveRequest& asked) {
  submit_on_session<GivenSession>(server, id, asked.session, "PROVER or WRAPPER", [asked](GivenSession& session, Request&) {
    session.give(asked.number, asked.offset, asked.bytes);
    return done(0, false);
  });
}

void commit_command(Server& server, uint32_t id, const CommitRequest& asked) {
  submit_prover(server, id, asked.session, [&server, asked](zk::ProveSession& session, Request& request) {
    return send_bytes(server, request, session.commit(asked.seed.b, asked.first_step, request.stop, progress_of(server, request)));
  });
}

void prove_command(Server& server, uint32_t id, const ProveRequest& asked) {
  submit_prover(server, id, asked.session, [&server, asked](zk::ProveSession& session, Request& request) {
    return send_bytes(server, request, session.prove(asked.statement, progress_of(server, request)));
  });
}

void part_command(Server& server, uint32_t id, const PartRequest& asked) {
  submit_prover(server, id, asked.session, [&server, asked](zk::ProveSession& session, Request& request) {
    return send_bytes(server, request, session.prove_part(asked.statement, asked.nonce, progress_of(server, request)));
  });
}

void fold_command(Server& server, uint32_t id, const FoldRequest& asked) {
  submit_prover(server, id, asked.session, [&server, asked](zk::ProveSession& session, Request& request) {
    return send_bytes(server, request, session.fold(asked.secret, progress_of(server, request)));
  });
}

}  // namespace assay
