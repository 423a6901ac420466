// COPY: kept rounds of a CPU's session into a file on a disk, digested while they are written. FRAMES.md, COPY.
#include "commands.hpp"

namespace assay {

namespace {

Final run_copy(Server& server, Device& disk, uint32_t index, Request& request, const std::vector<uint32_t>& slots, const Hash& nonce) {
  Session& session = *request.session;
  session.copy.reset();  // its room may be what the new one needs
  std::vector<const uint8_t*> products;
  for (const uint32_t slot : slots) {
    products.push_back(session.gemm->store().host_product(slot));
    if (products.back() == nullptr) throw EngineError(ErrorCode::unsupported, "only rounds in host memory are copied");
  }
  RootSender sender(server, request.id, 1);
  try {
    Copied copied = disk.copy_products(session.gemm->spec(), products, nonce, request.stop);
    session.copy.emplace(SessionCopy{index, std::move(copied.copy), static_cast<uint32_t>(slots.size()), nonce});
    sender.root(copied.root);
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  return done(sender.sent(), sender.sent() < 1);
}

}  // namespace

void copy_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint16_t device = in.u16();
  in.zeros(2);
  const uint32_t newest = in.u32();
  const Hash nonce = in.hash();
  in.finish();
  server.check_id(id);
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, device, newest, nonce](Device& d, uint32_t index, Request& r) {
    return with_kept_rounds(server, d, index, r, device, newest,
                            [&](const std::vector<uint32_t>& slots) { return run_copy(server, d, index, r, slots, nonce); });
  };
  server.submit_copy(request, session, device);
}

}  // namespace assay
