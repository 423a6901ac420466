// COPY (FRAMES.md): kept rounds of a CPU's session into a file on a disk, digested while they are written.
#include "probe_commands.hpp"

namespace assay {

namespace {

Final run_copy(Server& server, ProductCopies& disk, uint32_t index, Request& request, const std::vector<uint32_t>& slots,
               const Hash& nonce) {
  ProbeSession& session = probe_session(*request.session);
  session.copy.reset();  // its room may be what the new one needs
  std::vector<const uint8_t*> products;
  for (const uint32_t slot : slots) {
    products.push_back(session.gemm->store().host_product(slot));
    if (products.back() == nullptr) throw EngineError(ErrorCode::unsupported, "only rounds in host memory are copied");
  }
  const uint32_t made = run_chain(server, request, 1, Tag::nonce, nonce, [&](const Hash&) {
    Copied copied = disk.copy_products(session.gemm->spec(), products, nonce, request.stop);
    session.copy.emplace(RoundsCopy{index, std::move(copied.copy), static_cast<uint32_t>(slots.size()), nonce});
    return copied.root;
  });
  return done(made, made < 1);
}

}  // namespace

void copy_command(Server& server, uint32_t id, const CopyRequest& asked) {
  server.check_device(asked.device);
  if (server.kind(asked.device) != DeviceKind::disk) throw EngineError(ErrorCode::unsupported, "copies are made on a disk");
  if (server.kind(server.device_of(asked.session)) != DeviceKind::cpu)
    throw EngineError(ErrorCode::unsupported, "only a CPU's sessions are copied");
  const auto run = [&server, asked](Device* device, uint32_t index, Request& r) {
    return with_kept_rounds(server, *device, index, r, asked.device, asked.newest, [&](const std::vector<uint32_t>& slots) {
      return run_copy(server, *device->product_copies(), index, r, slots, asked.nonce);
    });
  };
  server.submit(std::make_shared<Request>(id, run), asked.session, asked.device);
}

}  // namespace assay
