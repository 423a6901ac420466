// A session: what a finished request leaves behind on its device so that later requests can go on from there.
// FRAMES.md, "session". What it holds is the business of those who make it (probe/); here is who may touch it
// when.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

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

  std::mutex turn_mutex;  // of `taken`
  std::condition_variable turn_free;
  bool taken = false;
};

// One request at a time works on a session that stands, whichever device's thread it runs on. Whoever has the
// turn waits for nobody, so waiting for it cannot lock up.
class SessionTurn {
 public:
  // Waits until the turn is free; `stop` ends the wait without it.
  SessionTurn(Session& session, const std::atomic<bool>& stop);
  ~SessionTurn();
  SessionTurn(const SessionTurn&) = delete;
  SessionTurn& operator=(const SessionTurn&) = delete;
  explicit operator bool() const { return mine_; }

 private:
  Session& session_;
  bool mine_ = false;
};

// Frees what a session holds, in its turn; on the thread of its device.
void free_session(Session& session);

}  // namespace assay
