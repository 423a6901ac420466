// READ: what a device says of itself right now, whatever else runs; from a thread of its own, because drivers can be slow to answer.
#include "commands.hpp"

namespace assay {

void read_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint16_t device = in.u16();
  in.finish();
  server.check_id(id);
  auto request = std::make_shared<Request>();
  request->id = id;
  request->leaves_queue = false;
  server.submit_reading(request, device);
}

}  // namespace assay
