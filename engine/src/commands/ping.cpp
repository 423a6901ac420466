// PING: the same bytes back, at once, from the reader thread.
#include "commands.hpp"

namespace assay {

void ping_command(Server& server, uint32_t id, PayloadReader& in) {
  if (in.left() > 64) throw EngineError(ErrorCode::bad_frame, "a PING carries at most 64 bytes");
  const auto payload = in.rest();
  server.check_id(id);
  server.send(Kind::pong, id, payload);
}

}  // namespace assay
