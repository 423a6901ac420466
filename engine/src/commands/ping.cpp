// PING: the same bytes back, at once, from the reader thread.
#include "commands.hpp"

namespace assay {

void ping_command(Server& server, uint32_t id, const PingRequest& asked) { server.send(id, PongReply{asked.payload}); }

}  // namespace assay
