// See prove_commands.hpp.
#include "zk/prove_commands.hpp"

#include "server/session_request.hpp"
#include "zk/given_session.hpp"
#include "zk/prove_session.hpp"

namespace assay {

namespace {

// Each holds a run and its columns.
constexpr int kMaxProveSessions = 4;
std::atomic<int> prove_sessions{0};

struct CountedProver final : GivenSession {
  CountedProver() {
    if (++prove_sessions > kMaxProveSessions) {
      --prove_sessions;
      throw EngineError(ErrorCode::busy, std::to_string(kMaxProveSessions) + " proofs at a time are the most");
    }
  }
  ~CountedProver() override {
    session.reset();
    --prove_sessions;
  }
  void give(uint32_t number, uint64_t offset, std::span<const uint8_t> bytes) override { session->give(number, offset, bytes); }
  std::optional<zk::ProveSession> session;
};

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
  if (!is_allowed) throw EngineError(ErrorCode::unsupported, "this engine proves nothing: it was started without --work");
  const auto run = [&server, asked](Device* device, uint32_t, Request& request) -> std::optional<Final> {
    if (request.stop) return done(0, true);
    zk::ProofKernels* kernels = device->proof_kernels();
    if (kernels == nullptr) throw EngineError(ErrorCode::unsupported, "this device proves nothing");
    auto content = std::make_unique<CountedProver>();
    const zk::ProofPlan& plan = content->session.emplace(*kernels, asked.plan).plan();
    const PlanReply reply{plan.bytes(), 0, 0, 0};
    server.session_stands(*request.session, std::move(content));
    return final_of(reply);
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
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
