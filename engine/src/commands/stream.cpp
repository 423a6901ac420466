// STREAM: a keyed digest over every kept byte of a GEMM session, again and again. docs/hardware-proof.md §5. The device that
// digests is the session's own, a peer of its kind, or a disk that holds a copy of the rounds.
#include "../cpu/sha256_host.hpp"
#include "commands.hpp"

namespace assay {

namespace {

Final run_stream(Server& server, Device& device, uint32_t index, Request& request, const std::vector<uint32_t>& slots, uint32_t passes,
                 Hash nonce) {
  Session& session = *request.session;
  const uint32_t rounds = static_cast<uint32_t>(slots.size());
  const bool from_disk = device.kind() == DeviceKind::disk;
  if (from_disk && (!session.copy || session.copy->device != index || session.copy->rounds < rounds))
    throw EngineError(ErrorCode::bad_request, "the disk holds no copy of these rounds");
  session.nonces.clear();
  session.streamed_rounds = rounds;
  RootSender sender(server, request.id, passes);
  try {
    while (sender.sent() < passes && !request.stop) {
      const Hash root = from_disk ? device.stream_copy(*session.copy->copy, rounds, nonce, request.stop)
                                  : device.stream_pass(session.gemm->store(), slots, nonce, request.stop);
      session.nonces.push_back(nonce);
      sender.root(root);
      nonce = chained_hash(Tag::nonce, nonce, root);
    }
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  return done(sender.sent(), sender.sent() < passes);
}

}  // namespace

void stream_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint16_t reader = in.u16();
  in.zeros(2);
  const uint32_t newest = in.u32(), passes = in.u32();
  const Hash nonce = in.hash();
  in.finish();
  server.check_id(id);
  if (passes == 0 || passes > 65536) throw EngineError(ErrorCode::bad_request, "passes must be 1 to 65536");
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, reader, newest, passes, nonce](Device& d, uint32_t index, Request& r) {
    return with_kept_rounds(server, d, index, r, reader, newest,
                            [&](const std::vector<uint32_t>& slots) { return run_stream(server, d, index, r, slots, passes, nonce); });
  };
  server.submit_stream(request, session, reader);
}

}  // namespace assay
