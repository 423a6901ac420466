// The requests of FRAMES.md that belong to no method of proof, and the table of all of them. A command gets
// its payload read and its id checked; it checks the values (bad_request), then queues the work or answers.
#pragma once
#include "attest/attest.hpp"
#include "server/server.hpp"
#include "work/work_commands.hpp"

namespace assay {

// Which kind is which command.
void run_command(Server& server, const Frame& frame, const WorkSettings& work, GuestDoor& guest);

void hello_command(Server& server, uint32_t id, const HelloRequest& asked);

}  // namespace assay
