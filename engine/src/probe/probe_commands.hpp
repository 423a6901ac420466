// The requests of a probe, one file each, and what they share. Who may read whose products is decided here.
#pragma once
#include <chrono>

#include "cpu/sha256_host.hpp"
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

// PROGRESS of one request, at most ten times a second: advisory.
class Progress {
 public:
  Progress(Server& server, uint32_t id, uint32_t total) : server_(server), id_(id), total_(total) {}
  void say(uint32_t done_so_far);

 private:
  Server& server_;
  uint32_t id_, total_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// A chain of `total` steps, each from a seed (or nonce) to a root, which is sent as ROOT and from which the
// next seed follows. Returns how many there were until the request was stopped.
uint32_t run_chain(Server& server, Request& request, uint32_t total, Tag tag, Hash seed,
                   const std::function<Hash(const Hash& seed)>& step);

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
