// RELEASE: forgets a session and frees its memory, on the device's own thread.
#include "commands.hpp"

namespace assay {

void release_command(Server& server, uint32_t id, const ReleaseRequest& asked) {
  const auto run = [](Device&, uint32_t, Request& r) -> std::optional<Final> {
    free_session(*r.session);
    return done(0, r.stop);
  };
  auto request = std::make_shared<Request>(id, run, SessionUse::frees);
  request->leaves_queue = false;  // the session is off the books already, so it must be freed
  server.submit(request, asked.session);
}

}  // namespace assay
