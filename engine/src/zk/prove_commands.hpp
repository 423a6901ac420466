// The requests of FRAMES.md that prove segments: from frames to a ProveSession and back. They run on the
// thread of the session's device.
#pragma once
#include "server/server.hpp"

namespace assay {

void prover_command(Server& server, uint32_t id, const ProverRequest& asked, bool is_allowed);
void give_command(Server& server, uint32_t id, const GiveRequest& asked);
void commit_command(Server& server, uint32_t id, const CommitRequest& asked);
void prove_command(Server& server, uint32_t id, const ProveRequest& asked);
void part_command(Server& server, uint32_t id, const PartRequest& asked);
void fold_command(Server& server, uint32_t id, const FoldRequest& asked);

}  // namespace assay
