// RELEASE: forgets a session and frees its memory, on the device's own thread.
#include "commands.hpp"

namespace assay {

void release_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  in.finish();
  server.check_id(id);
  auto request = std::make_shared<Request>();
  request->id = id;
  request->leaves_queue = false;  // the session is off the books already, so it must be freed
  request->run = [](Device&, uint32_t, Request& r) -> std::optional<Final> {
    free_session(*r.session);
    return done(0, r.stop);
  };
  server.submit_release(request, session);
}

}  // namespace assay
