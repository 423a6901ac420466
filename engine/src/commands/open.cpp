// OPEN: leaves and paths of rounds that were committed to, or digest groups of stream passes and of a copy. FRAMES.md, OPEN.
// Digests are made again from the kept bytes by the session's own device, whichever device read them first.
// All places are checked first, and all of a round are opened together; the replies go out in the order asked.
#include <map>

#include "commands.hpp"

namespace assay {

namespace {

struct Place {
  uint32_t round, index;
};

constexpr uint8_t kLeaves = 0, kDigests = 1, kCopyDigests = 2;

// How many rounds or passes there are, and how many leaves or groups each has.
std::pair<size_t, uint32_t> extent(const Session& session, uint8_t what) {
  if (what != kLeaves) {
    if (!session.gemm) throw EngineError(ErrorCode::bad_request, "the session of an FMA has no digests");
    if (what == kCopyDigests && !session.copy) throw EngineError(ErrorCode::bad_request, "the session has no copy");
    // 128 digests fill a group; leaves a round are a multiple of 128.
    const uint64_t groups_per_round = session.gemm->spec().leaves() / 128;
    if (what == kCopyDigests) return {1, static_cast<uint32_t>(session.copy->rounds * groups_per_round)};
    return {session.nonces.size(), static_cast<uint32_t>(session.streamed_rounds * groups_per_round)};
  }
  if (session.gemm) return {session.gemm->finished(), session.gemm->spec().leaves()};
  return {session.fma->seeds.size(), session.fma->spec.leaves()};
}

std::vector<Opening> open_one_round(Session& session, Device& device, uint8_t what, uint32_t round,
                                    std::span<const uint32_t> indices, const std::atomic<bool>& stop) {
  if (what != kLeaves) {
    const uint32_t rounds = what == kDigests ? session.streamed_rounds : session.copy->rounds;
    const Hash nonce = what == kDigests ? session.nonces[round] : session.copy->nonce;
    session.gemm->make_whole(device, rounds, stop);
    return device.open_stream(session.gemm->store(), session.gemm->slots_in_order(rounds), nonce, indices);
  }
  if (session.gemm) return session.gemm->open(device, round, indices, stop);
  return device.open_fma(session.fma->spec, session.fma->seeds[round], indices);
}

void send_opening(Server& server, uint32_t id, uint32_t round, const Opening& opening) {
  PayloadWriter out;
  out.u32(round).u32(opening.index);
  out.u16(static_cast<uint16_t>(opening.leaf.size())).u16(static_cast<uint16_t>(opening.path.size()));
  out.bytes(opening.leaf);
  for (const Hash& node : opening.path) out.hash(node);
  server.send(Kind::opening, id, out.take());
}

Final run_open(Server& server, Device& device, Request& request, uint8_t what, const std::vector<Place>& places) {
  if (request.stop) return done(0, true);
  Session& session = *request.session;
  if (!server.session_ready(session)) throw EngineError(ErrorCode::no_session, "the session was not made");
  const SessionTurn turn(session, request.stop);
  if (!turn) return done(0, true);
  const auto [rounds, per_round] = extent(session, what);
  std::map<uint32_t, std::vector<uint32_t>> wanted;  // round -> which of `places`
  for (uint32_t i = 0; i < places.size(); ++i) {
    if (places[i].round >= rounds || places[i].index >= per_round)
      throw EngineError(ErrorCode::bad_request, "there is no such round or index");
    wanted[places[i].round].push_back(i);
  }
  std::vector<Opening> answers(places.size());
  RootSender sender(server, request.id, static_cast<uint32_t>(wanted.size()));
  bool stopped = false;
  try {
    uint32_t rounds_done = 0;
    for (const auto& [round, which] : wanted) {
      if ((stopped = request.stop)) break;
      std::vector<uint32_t> indices;
      for (const uint32_t i : which) indices.push_back(places[i].index);
      std::vector<Opening> opened = open_one_round(session, device, what, round, indices, request.stop);
      if (opened.size() != which.size()) throw EngineError(ErrorCode::device_failed, "the device opened the wrong number");
      for (size_t j = 0; j < which.size(); ++j) answers[which[j]] = std::move(opened[j]);
      sender.progress(++rounds_done);
    }
  } catch (const EngineError& e) {
    if (session.gemm) session.gemm->drop_scratch();
    if (!is_own_stop(e, request)) throw;
    stopped = true;
  } catch (...) {
    if (session.gemm) session.gemm->drop_scratch();
    throw;
  }
  if (session.gemm) session.gemm->drop_scratch();
  if (stopped) return done(0, true);
  for (size_t i = 0; i < places.size(); ++i) send_opening(server, request.id, places[i].round, answers[i]);
  return done(static_cast<uint32_t>(places.size()), false);
}

}  // namespace

void open_command(Server& server, uint32_t id, PayloadReader& in) {
  const uint32_t session = in.u32();
  const uint8_t what = in.u8();
  in.zeros(3);
  const uint32_t count = in.u32();
  if (in.left() != uint64_t{count} * 8) throw EngineError(ErrorCode::bad_frame, "count does not fit the payload");
  server.check_id(id);
  if (what > kCopyDigests) throw EngineError(ErrorCode::bad_request, "what must be 0, 1 or 2");
  if (count == 0 || count > 4096) throw EngineError(ErrorCode::bad_request, "count must be 1 to 4096");
  std::vector<Place> places(count);
  for (Place& place : places) {
    place.round = in.u32();
    place.index = in.u32();
  }
  auto request = std::make_shared<Request>();
  request->id = id;
  request->run = [&server, what, places = std::move(places)](Device& d, uint32_t, Request& r) -> std::optional<Final> {
    return run_open(server, d, r, what, places);
  };
  server.submit_for(request, session);
}

}  // namespace assay
