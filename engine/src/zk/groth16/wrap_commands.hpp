// The requests of FRAMES.md that prove circuits: from frames to a WrapSession and back. They run on the
// thread of the session's device.
#pragma once
#include "server/server.hpp"

namespace assay {

void wrapper_command(Server& server, uint32_t id, const WrapperRequest& asked, bool is_allowed);
void wrap_command(Server& server, uint32_t id, const WrapRequest& asked);
void key_command(Server& server, uint32_t id, const KeyRequest& asked);

}  // namespace assay
