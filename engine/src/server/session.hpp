// A session: what a finished request leaves behind on its device so that later requests can go on from there.
// FRAMES.md, "session". What it holds is its makers' business (probe/); here is who may touch it when.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>

#include "engine_error.hpp"

namespace assay {

// Written by its device's worker thread, read also by another's: each only in its turn.
class SessionContent {
 public:
  virtual ~SessionContent() = default;
};

struct Session {
  enum class State { pending, ready, gone };
  uint32_t name = 0;
  uint32_t device = 0;
  // The server's: they change under its lock only.
  State state = State::pending;
  uint32_t users = 0;  // unfinished requests that name it

  std::unique_ptr<SessionContent> content;

  std::binary_semaphore turn{1};
};

// One request at a time works on a session that stands, whichever device's thread it runs on. Whoever has the
// turn waits for nobody, so waiting for it cannot lock up.
class SessionTurn {
 public:
  // Waits until the turn is free; `stop`, which wakes nobody, ends the wait without it.
  SessionTurn(Session& session, const std::atomic<bool>& stop) : session_(session) {
    do mine_ = session.turn.try_acquire_for(std::chrono::milliseconds(20));
    while (!mine_ && !stop);
  }
  ~SessionTurn() {
    if (mine_) session_.turn.release();
  }
  SessionTurn(const SessionTurn&) = delete;
  SessionTurn& operator=(const SessionTurn&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  Session& session_;
  bool mine_ = false;
};

// Frees what a session holds, in its turn; on the thread of its device.
inline void free_session(Session& session) {
  const SessionTurn turn(session, kNeverStop);
  session.content.reset();
}

}  // namespace assay
