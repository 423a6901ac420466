// FMA: a chain of rounds of scalar recurrences, docs/hardware-proof.md §6. A round is cheap to run again.
#include "core/recurrence.hpp"
#include "probe_commands.hpp"

namespace assay {

namespace {

void check_shape(const FmaRequest& asked) {
  const auto refuse = [](const char* why) { throw EngineError(ErrorCode::bad_request, why); };
  if (!is_fma_precision(asked.precision)) refuse("precision is not one of FMA's");
  if (asked.lanes == 0 || asked.lanes % 256 != 0 || asked.lanes > 1u << 28) refuse("lanes must be a multiple of 256 up to 2^28");
  if (asked.steps == 0 || asked.steps % kBlockSteps != 0 || asked.steps > 1u << 20)
    refuse("steps must be a multiple of 512 up to 2^20");
  if (asked.rounds == 0 || asked.rounds > 1u << 20) refuse("rounds must be 1 to 2^20");
}

Final run_fma(Server& server, Device& device, Request& request, const FmaSpec& spec, uint32_t rounds, Seed seed) {
  ProbeKernels& kernels = probe_kernels_of(device);
  auto content = std::make_unique<ProbeSession>();
  FmaRounds& finished = content->fma.emplace(FmaRounds{spec, {}});
  const uint32_t made = run_chain(server, request, rounds, Tag::seed, seed, [&](const Seed& next) {
    const Hash root = kernels.fma_round(spec, next, request.stop);
    finished.seeds.push_back(next);
    return root;
  });
  if (made > 0) server.session_stands(*request.session, std::move(content));
  return done(made, made < rounds);
}

}  // namespace

void fma_command(Server& server, uint32_t id, const FmaRequest& asked) {
  check_shape(asked);
  const auto run = [&server, asked](Device* device, uint32_t, Request& r) -> std::optional<Final> {
    return run_fma(server, *device, r, {asked.precision, asked.lanes, asked.steps}, asked.rounds, asked.seed);
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
}

}  // namespace assay
