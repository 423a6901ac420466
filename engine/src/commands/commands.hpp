// The commands of FRAMES.md, one file each. A handler parses the whole payload first (a wrong size is bad_frame), then
// checks the id, then the values (bad_request), then queues the work or answers.
#pragma once
#include "../server.hpp"

namespace assay {

void run_command(Server& server, uint8_t kind, uint32_t id, PayloadReader& in);

void hello_command(Server& server, uint32_t id, PayloadReader& in);
void gemm_command(Server& server, uint32_t id, PayloadReader& in);
void stream_command(Server& server, uint32_t id, PayloadReader& in);
void fma_command(Server& server, uint32_t id, PayloadReader& in);
void open_command(Server& server, uint32_t id, PayloadReader& in);
void release_command(Server& server, uint32_t id, PayloadReader& in);
void ping_command(Server& server, uint32_t id, PayloadReader& in);
void cancel_command(Server& server, uint32_t id, PayloadReader& in);

// ROOT and, at most ten times a second, PROGRESS of one request.
class RootSender {
 public:
  RootSender(Server& server, uint32_t id, uint32_t total) : server_(server), id_(id), total_(total) {}
  void root(const Hash& root);                // of the next round or pass
  void progress(uint32_t done_so_far);        // advisory
  uint32_t sent() const { return sent_; }

 private:
  Server& server_;
  uint32_t id_, total_, sent_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Whether `e` is the end that `request`'s own stop asked for, and not a failure.
inline bool is_own_stop(const EngineError& e, const Request& request) {
  return e.code() == ErrorCode::cancelled && request.stop;
}

}  // namespace assay
