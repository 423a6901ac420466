// See commands.hpp.
#include "commands.hpp"

#include "probe/probe_commands.hpp"

namespace assay {

namespace {

template <typename Asked>
void run(void (*command)(Server&, uint32_t, const Asked&), Server& server, const Frame& frame) {
  const Asked asked = read_payload<Asked>(frame.payload);
  server.check_id(frame.id);
  command(server, frame.id, asked);
}

}  // namespace

void run_command(Server& server, const Frame& frame) {
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
    default: throw EngineError(ErrorCode::bad_frame, "unknown kind " + std::to_string(frame.kind));
  }
}

}  // namespace assay
