// CANCEL: DONE at once, then the other request ends. An id that is not known may just have ended, so it is no error.
#include "commands.hpp"

namespace assay {

void cancel_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t other = in.u32();
  in.finish();
  server.check_id(id);
  const Final final = done(0, false);
  server.send(final.kind, id, final.payload);
  server.cancel(other);
}

}  // namespace assay
