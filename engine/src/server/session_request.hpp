// A request on a session that stands, of one kind of content.
#pragma once
#include "server/server.hpp"

namespace assay {

// Queues what works on a session of `Content`. Its own stop ends it as cancelled, with nothing counted. `who`
// makes such sessions.
template <typename Content, typename Act>
void submit_on_session(Server& server, uint32_t id, uint32_t session, const char* who, Act act) {
  const auto run = [&server, who, act = std::move(act)](Device*, uint32_t, Request& request) -> std::optional<Final> {
    if (request.stop) return done(0, true);
    if (!server.session_ready(*request.session)) throw EngineError(ErrorCode::no_session, "the session was not made");
    const SessionTurn turn(*request.session, request.stop);
    if (!turn) return done(0, true);
    auto* content = dynamic_cast<Content*>(request.session->content.get());
    if (content == nullptr) throw EngineError(ErrorCode::bad_request, std::string("this needs the session of a ") + who);
    try {
      return act(*content, request);
    } catch (const EngineError& e) {
      if (e.code() != ErrorCode::cancelled || !request.stop) throw;
      return done(0, true);
    }
  };
  server.submit(std::make_shared<Request>(id, run), session);
}

}  // namespace assay
