// CANCEL: DONE at once, then the other request ends. An id that is not known may just have ended, so it is no
// error.
#include "commands.hpp"

namespace assay {

void cancel_command(Server& server, uint32_t id, const CancelRequest& asked) {
  server.send(id, DoneReply{});
  server.cancel(asked.target);
}

}  // namespace assay
