// FMA: a chain of rounds of scalar recurrences. docs/hardware-proof.md §6. Nothing is kept: a round is cheap to run again.
#include "../core/recurrence.hpp"
#include "../cpu/sha256_host.hpp"
#include "commands.hpp"

namespace assay {

namespace {

void check_shape(const FmaSpec& spec, uint32_t rounds) {
  const auto refuse = [](const char* why) { throw EngineError(ErrorCode::bad_request, why); };
  if (!is_fma_precision(spec.precision)) refuse("precision is not one of FMA's");
  if (spec.lanes == 0 || spec.lanes % 256 != 0 || spec.lanes > 1u << 28) refuse("lanes must be a multiple of 256 up to 2^28");
  if (spec.steps == 0 || spec.steps % kBlockSteps != 0 || spec.steps > 1u << 20)
    refuse("steps must be a multiple of 512 up to 2^20");
  if (rounds == 0 || rounds > 1u << 20) refuse("rounds must be 1 to 2^20");
}

Final run_fma(Server& server, Device& device, Request& request, const FmaSpec& spec, uint32_t rounds, Seed seed) {
  FmaRounds finished{spec, {}};
  RootSender sender(server, request.id, rounds);
  try {
    while (sender.sent() < rounds && !request.stop) {
      const Hash root = device.fma_round(spec, seed, request.stop);
      finished.seeds.push_back(seed);
      sender.root(root);
      seed = chained_hash(Tag::seed, seed, root);
    }
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  if (sender.sent() > 0) {
    request.session->fma.emplace(std::move(finished));
    server.session_stands(*request.session);
  }
  return done(sender.sent(), sender.sent() < rounds);
}

}  // namespace

void fma_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint16_t device = in.u16();
  const uint8_t precision = in.u8();
  in.zeros(1);
  FmaSpec spec{static_cast<Precision>(precision), 0, 0};
  spec.lanes = in.u32();
  spec.steps = in.u32();
  const uint32_t rounds = in.u32();
  const Seed seed = in.hash();
  in.finish();
  server.check_id(id);
  check_shape(spec, rounds);
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, spec, rounds, seed](Device& d, uint32_t, Request& r) -> std::optional<Final> {
    return run_fma(server, d, r, spec, rounds, seed);
  };
  server.submit_new(request, session, device);
}

}  // namespace assay
