// STREAM: a keyed digest over every kept byte of a GEMM session, again and again. docs/hardware-proof.md §5.
// The device that digests is the session's own, a peer of its kind, or a disk with a copy of the rounds.
#include "probe_commands.hpp"

namespace assay {

namespace {

// One pass after the other, each with the nonce that follows from the root of the last.
Final run_stream(Server& server, Device& device, uint32_t index, Request& request, const std::vector<uint32_t>& slots,
                 uint32_t passes, Hash nonce) {
  ProbeSession& session = probe_session(*request.session);
  const uint32_t rounds = static_cast<uint32_t>(slots.size());
  ProductCopies* disk = device.product_copies();
  if (disk != nullptr && (!session.copy || session.copy->device != index || session.copy->rounds < rounds))
    throw EngineError(ErrorCode::bad_request, "the disk holds no copy of these rounds");
  session.nonces.clear();
  session.streamed_rounds = rounds;
  const uint32_t made = run_chain(server, request, passes, Tag::nonce, nonce, [&](const Hash& next) {
    const Hash root = disk != nullptr
                          ? disk->stream_copy(*session.copy->copy, rounds, next, request.stop)
                          : probe_kernels_of(device).stream_pass(session.gemm->store(), slots, next, request.stop);
    session.nonces.push_back(next);
    return root;
  });
  return done(made, made < passes);
}

}  // namespace

void stream_command(Server& server, uint32_t id, const StreamRequest& asked) {
  if (asked.passes == 0 || asked.passes > 65536) throw EngineError(ErrorCode::bad_request, "passes must be 1 to 65536");
  server.check_device(asked.reader);
  const DeviceKind reader = server.kind(asked.reader);
  if (reader != DeviceKind::disk && reader != server.kind(server.device_of(asked.session)))
    throw EngineError(ErrorCode::unsupported, "a device reads only its own memory or that of a peer of its kind");
  const auto run = [&server, asked](Device* device, uint32_t index, Request& r) {
    return with_kept_rounds(server, *device, index, r, asked.reader, asked.newest, [&](const std::vector<uint32_t>& slots) {
      return run_stream(server, *device, index, r, slots, asked.passes, asked.nonce);
    });
  };
  server.submit(std::make_shared<Request>(id, run), asked.session, asked.reader);
}

}  // namespace assay
