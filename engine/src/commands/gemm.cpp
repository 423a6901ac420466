// GEMM: a chain of exact matrix products whose results are kept. docs/hardware-proof.md §4.
#include "../cpu/sha256_host.hpp"
#include "commands.hpp"

namespace assay {

namespace {

void check_shape(const GemmSpec& spec, uint32_t rounds, uint32_t keep) {
  const auto refuse = [](const char* why) { throw EngineError(ErrorCode::bad_request, why); };
  if (!is_gemm_precision(spec.precision)) refuse("precision is not one of GEMM's");
  if (spec.m == 0 || spec.m % 128 != 0 || spec.m > 65536) refuse("m must be a multiple of 128 up to 65536");
  if (spec.n == 0 || spec.n % 512 != 0 || spec.n > 65536) refuse("n must be a multiple of 512 up to 65536");
  const uint32_t max_k = entries_per_block(spec.precision) == 16 ? 65536 : 16384;
  if (spec.k == 0 || spec.k % 128 != 0 || spec.k > max_k) refuse("k must be a multiple of 128 up to 65536 (8 bits) or 16384");
  if (rounds == 0 || rounds > 1u << 20) refuse("rounds must be 1 to 2^20");
  if (keep == 0) refuse("keep must be at least 1");
}

Final run_gemm(Server& server, Device& device, Request& request, const GemmSpec& spec, uint32_t rounds, uint32_t keep,
               Seed seed) {
  if (request.stop) return done(0, true);
  Session& session = *request.session;
  session.gemm.emplace(device, spec, std::min(keep, rounds));
  RootSender sender(server, request.id, rounds);
  try {
    while (sender.sent() < rounds && !request.stop) {
      const Hash root = session.gemm->run(device, seed, request.stop);
      sender.root(root);
      seed = chained_hash(Tag::seed, seed, root);
    }
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) {
      session.gemm.reset();
      throw;
    }
  } catch (...) {
    session.gemm.reset();
    throw;
  }
  if (sender.sent() == 0) session.gemm.reset();
  else server.session_stands(session);
  return done(sender.sent(), sender.sent() < rounds);
}

}  // namespace

void gemm_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint16_t device = in.u16();
  const uint8_t precision = in.u8();
  in.zeros(1);
  GemmSpec spec{static_cast<Precision>(precision), 0, 0, 0};
  spec.m = in.u32();
  spec.n = in.u32();
  spec.k = in.u32();
  const uint32_t rounds = in.u32(), keep = in.u32();
  const Seed seed = in.hash();
  in.finish();
  server.check_id(id);
  check_shape(spec, rounds, keep);
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, spec, rounds, keep, seed](Device& d, uint32_t, Request& r) -> std::optional<Final> {
    return run_gemm(server, d, r, spec, rounds, keep, seed);
  };
  server.submit_new(request, session, device);
}

}  // namespace assay
