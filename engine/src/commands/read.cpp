// READ: what a device says of itself right now, whatever else runs; from a thread of its own, because drivers
// can be slow to answer.
#include "commands.hpp"

namespace assay {

void read_command(Server& server, uint32_t id, const ReadRequest& asked) { server.submit_reading(id, asked.device); }

}  // namespace assay
