// GEMM: a chain of exact matrix products whose results are kept. docs/hardware-proof.md §4.
#include "probe_commands.hpp"

namespace assay {

namespace {

void check_shape(const GemmRequest& asked) {
  const auto refuse = [](const char* why) { throw EngineError(ErrorCode::bad_request, why); };
  if (!is_gemm_precision(asked.precision)) refuse("precision is not one of GEMM's");
  if (asked.m == 0 || asked.m % 128 != 0 || asked.m > 65536) refuse("m must be a multiple of 128 up to 65536");
  if (asked.n == 0 || asked.n % 512 != 0 || asked.n > 65536) refuse("n must be a multiple of 512 up to 65536");
  const uint32_t max_k = entries_per_block(asked.precision) == 16 ? 65536 : 16384;
  if (asked.k == 0 || asked.k % 128 != 0 || asked.k > max_k) refuse("k must be a multiple of 128 up to 65536 (8 bits) or 16384");
  if (asked.rounds == 0 || asked.rounds > 1u << 20) refuse("rounds must be 1 to 2^20");
  if (asked.keep == 0) refuse("keep must be at least 1");
}

Final run_gemm(Server& server, Device& device, Request& request, const GemmSpec& spec, uint32_t rounds, uint32_t keep,
               Seed seed) {
  if (request.stop) return done(0, true);
  ProbeKernels& kernels = probe_kernels_of(device);
  auto content = std::make_unique<ProbeSession>();
  content->gemm.emplace(kernels, spec, std::min(keep, rounds));
  const uint32_t made = run_chain(server, request, rounds, Tag::seed, seed, [&](const Seed& next) {
    return content->gemm->run(kernels, next, request.stop);
  });
  if (made > 0) server.session_stands(*request.session, std::move(content));
  return done(made, made < rounds);
}

}  // namespace

void gemm_command(Server& server, uint32_t id, const GemmRequest& asked) {
  check_shape(asked);
  const auto run = [&server, asked](Device* device, uint32_t, Request& r) -> std::optional<Final> {
    return run_gemm(server, *device, r, {asked.precision, asked.m, asked.n, asked.k}, asked.rounds, asked.keep, asked.seed);
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
}

}  // namespace assay
