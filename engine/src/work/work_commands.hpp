// The requests of FRAMES.md that belong to programs: from frames to a WorkSession and back. They run on the
// thread of the session's device.
#pragma once
#include "server/server.hpp"
#include "work/blob_store.hpp"

namespace assay {

// Whether this engine runs programs at all, and where it keeps blobs. One that answers strangers does not.
struct WorkSettings {
  bool is_allowed = false;
  std::unique_ptr<work::BlobStore> store;
};

void program_command(Server& server, uint32_t id, const ProgramRequest& asked, const WorkSettings& settings);
void tensor_command(Server& server, uint32_t id, const TensorRequest& asked);
void hash_command(Server& server, uint32_t id, const HashRequest& asked);
void load_command(Server& server, uint32_t id, const LoadRequest& asked);
void run_segments_command(Server& server, uint32_t id, const RunRequest& asked);
void save_command(Server& server, uint32_t id, const SaveRequest& asked);
void seed_command(Server& server, uint32_t id, const SeedRequest& asked);
void evaluate_command(Server& server, uint32_t id, const EvaluateRequest& asked);
void fetch_command(Server& server, uint32_t id, const FetchRequest& asked);
void trace_command(Server& server, uint32_t id, const TraceRequest& asked);
void ask_command(Server& server, uint32_t id, const AskRequest& asked);

}  // namespace assay
