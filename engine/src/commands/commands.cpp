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
    default: throw EngineError(ErrorCode::bad_frame, "unknown kind " + std::to_string(kind));
  }
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
