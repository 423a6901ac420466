// See session.hpp.
#include "session.hpp"

#include <chrono>

namespace assay {

SessionTurn::SessionTurn(Session& session, const std::atomic<bool>& stop) : session_(session) {
  std::unique_lock lock(session_.turn_mutex);
  // `stop` is set without this lock: look now and then.
  while (session_.taken && !stop) session_.turn_free.wait_for(lock, std::chrono::milliseconds(20));
  if (session_.taken) return;
  session_.taken = mine_ = true;
}

SessionTurn::~SessionTurn() {
  if (!mine_) return;
  {
    const std::lock_guard lock(session_.turn_mutex);
    session_.taken = false;
  }
  session_.turn_free.notify_one();
}

void free_session(Session& session) {
  static const std::atomic<bool> never{false};
  const SessionTurn turn(session, never);
  session.content.reset();
}

}  // namespace assay
