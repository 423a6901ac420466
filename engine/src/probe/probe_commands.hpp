// The requests of a probe, one file each, and what they share. Who may read whose products is decided here,
// not by the server.
#pragma once
#include <chrono>

#include "probe_session.hpp"
#include "server/server.hpp"

namespace assay {

void gemm_command(Server& server, uint32_t id, const GemmRequest& asked);
void stream_command(Server& server, uint32_t id, const StreamRequest& asked);
void fma_command(Server& server, uint32_t id, const FmaRequest& asked);
void open_command(Server& server, uint32_t id, const OpenRequest& asked);
void copy_command(Server& server, uint32_t id, const CopyRequest& asked);
void chase_command(Server& server, uint32_t id, const ChaseRequest& asked);

// The leaves that the hops of these (interval, chain) read, 64 for each; the session has a chase.
std::vector<Place> places_of_hops(ProbeSession& session, ProbeKernels& kernels, std::span<const Place> asked,
                                  const std::atomic<bool>& stop);

// ROOT and, at most ten times a second, PROGRESS of one request.
class RootSender {
 public:
  RootSender(Server& server, uint32_t id, uint32_t total) : server_(server), id_(id), total_(total) {}
  void root(const Hash& root);          // of the next round or pass
  void progress(uint32_t done_so_far);  // advisory
  uint32_t sent() const { return sent_; }

 private:
  Server& server_;
  uint32_t id_, total_, sent_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Runs `act` with the slots of the newest kept rounds of the request's session (oldest first, all whole) in
// the session's turn, on the device `reader`. A reader other than the session's own device cannot compute a
// broken round again, nor wait for the GEMM that makes the session: then the request goes through the queue
// of the session's device first, and nothing is returned.
std::optional<Final> with_kept_rounds(Server& server, Device& device, uint32_t index, Request& request, uint32_t reader,
                                      uint32_t newest,
                                      const std::function<Final(const std::vector<uint32_t>& slots)>& act);

// Whether `e` is the end that `request`'s own stop asked for, and not a failure.
inline bool is_own_stop(const EngineError& e, const Request& request) {
  return e.code() == ErrorCode::cancelled && request.stop;
}

}  // namespace assay
