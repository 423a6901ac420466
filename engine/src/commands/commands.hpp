// The requests of FRAMES.md that belong to no method of proof, one file each, and the table of all of them. A
// command gets its payload read and its id checked; it checks the values (bad_request), then queues the work
// or answers.
#pragma once
#include "server/server.hpp"

namespace assay {

// Which kind is which command.
void run_command(Server& server, const Frame& frame);

void hello_command(Server& server, uint32_t id, const HelloRequest& asked);
void ping_command(Server& server, uint32_t id, const PingRequest& asked);
void cancel_command(Server& server, uint32_t id, const CancelRequest& asked);
void read_command(Server& server, uint32_t id, const ReadRequest& asked);
void release_command(Server& server, uint32_t id, const ReleaseRequest& asked);

}  // namespace assay
