// See commands.hpp.
#include "commands.hpp"

#include "probe/probe_commands.hpp"
#include "zk/groth16/wrap_commands.hpp"
#include "zk/prove_commands.hpp"

namespace assay {

namespace {

// PING: the same bytes back, at once, from the reader thread.
void ping_command(Server& server, uint32_t id, const PingRequest& asked) { server.send(id, PongReply{asked.payload}); }

// CANCEL: DONE at once, then the other request ends. An unknown id is no error: it may just have ended.
void cancel_command(Server& server, uint32_t id, const CancelRequest& asked) {
  server.send(id, DoneReply{});
  server.cancel(asked.target);
}

// READ: what a device says of itself right now, whatever else runs.
void read_command(Server& server, uint32_t id, const ReadRequest& asked) { server.submit_reading(id, asked.device); }

// RELEASE: forgets a session and frees its memory, on the device's own thread.
void release_command(Server& server, uint32_t id, const ReleaseRequest& asked) {
  const auto run = [](Device*, uint32_t, Request& r) -> std::optional<Final> {
    free_session(*r.session);
    return done(0, r.stop);
  };
  auto request = std::make_shared<Request>(id, run, SessionUse::frees);
  request->leaves_queue = false;  // the session is off the books already, so it must be freed
  server.submit(request, asked.session);
}

template <typename Asked>
void run(void (*command)(Server&, uint32_t, const Asked&), Server& server, const Frame& frame) {
  const Asked asked = read_payload<Asked>(frame.payload);
  server.check_id(frame.id);
  command(server, frame.id, asked);
}

}  // namespace

void run_command(Server& server, const Frame& frame, const WorkSettings& work, GuestDoor& guest) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::hello: return run(hello_command, server, frame);
    case Kind::ping: return run(ping_command, server, frame);
    case Kind::cancel: return run(cancel_command, server, frame);
    case Kind::read: return run(read_command, server, frame);
    case Kind::release: return run(release_command, server, frame);
    case Kind::gemm: return run(gemm_command, server, frame);
    case Kind::stream: return run(stream_command, server, frame);
    case Kind::fma: return run(fma_command, server, frame);
    case Kind::open: return run(open_command, server, frame);
    case Kind::copy: return run(copy_command, server, frame);
    case Kind::chase: return run(chase_command, server, frame);
    case Kind::program: {
      const auto asked = read_payload<ProgramRequest>(frame.payload);
      server.check_id(frame.id);
      return program_command(server, frame.id, asked, work);
    }
    case Kind::tensor: return run(tensor_command, server, frame);
    case Kind::hash: return run(hash_command, server, frame);
    case Kind::load: return run(load_command, server, frame);
    case Kind::run: return run(run_segments_command, server, frame);
    case Kind::save: return run(save_command, server, frame);
    case Kind::seed: return run(seed_command, server, frame);
    case Kind::fetch: return run(fetch_command, server, frame);
    case Kind::evaluate: return run(evaluate_command, server, frame);
    case Kind::trace: return run(trace_command, server, frame);
    case Kind::ask: return run(ask_command, server, frame);
    case Kind::prover: {
      const auto asked = read_payload<ProverRequest>(frame.payload);
      server.check_id(frame.id);
      return prover_command(server, frame.id, asked, work.is_allowed);
    }
    case Kind::give: return run(give_command, server, frame);
    case Kind::commit: return run(commit_command, server, frame);
    case Kind::prove: return run(prove_command, server, frame);
    case Kind::part: return run(part_command, server, frame);
    case Kind::fold: return run(fold_command, server, frame);
    case Kind::wrapper: {
      const auto asked = read_payload<WrapperRequest>(frame.payload);
      server.check_id(frame.id);
      return wrapper_command(server, frame.id, asked, work.is_allowed);
    }
    case Kind::wrap: return run(wrap_command, server, frame);
    case Kind::key: return run(key_command, server, frame);
    case Kind::attest: {
      const auto asked = read_payload<AttestRequest>(frame.payload);
      server.check_id(frame.id);
      return attest_command(server, frame.id, asked, guest);
    }
    default: throw EngineError(ErrorCode::bad_frame, "unknown kind " + std::to_string(frame.kind));
  }
}

}  // namespace assay
