// OPEN: leaves and paths of rounds that were committed to, digest groups of stream passes and of a copy,
// labels of a chase, or the leaves that its hops read. FRAMES.md, OPEN. The session's own device makes
// digests again from the kept bytes, whichever read them first. All places are checked first, all of a round
// opened together; replies go out in the order asked.
#include <cstring>
#include <map>

#include "probe_commands.hpp"

namespace assay {

namespace {

constexpr uint8_t kLeaves = 0, kDigests = 1, kCopyDigests = 2, kLabels = 3, kHops = 4;
constexpr size_t kMaxHopPlaces = 256;  // each is 64 openings

// How many rounds or passes there are, and how many leaves or groups each has; of hops, intervals and chains.
std::pair<size_t, uint32_t> extent(const ProbeSession& session, uint8_t what) {
  if (what >= kLabels) {
    if (!session.chase) throw EngineError(ErrorCode::bad_request, "the session has no chase");
    if (what == kLabels) return {1, session.chase->intervals()};
    return {session.chase->intervals(), kChains};
  }
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

void check_places(const ProbeSession& session, uint8_t what, const std::vector<Place>& places) {
  const auto [rounds, per_round] = extent(session, what);
  for (const Place& place : places)
    if (place.round >= rounds || place.index >= per_round)
      throw EngineError(ErrorCode::bad_request, "there is no such round or index");
}

std::vector<Opening> open_labels(const Chase& chase, std::span<const uint32_t> indices) {
  std::vector<Opening> openings;
  for (const uint32_t index : indices) {
    openings.push_back({index, std::vector<uint8_t>(sizeof(Label)), chase.path(index)});
    memcpy(openings.back().leaf.data(), &chase.label(index), sizeof(Label));
  }
  return openings;
}

std::vector<Opening> open_one_round(ProbeSession& session, ProbeKernels& kernels, uint8_t what, uint32_t round,
                                    std::span<const uint32_t> indices, const std::atomic<bool>& stop) {
  if (what == kLabels) return open_labels(*session.chase, indices);
  if (what != kLeaves) {
    const uint32_t rounds = what == kDigests ? session.streamed_rounds : session.copy->rounds;
    const Hash nonce = what == kDigests ? session.nonces[round] : session.copy->nonce;
    session.gemm->make_whole(kernels, rounds, stop);
    return kernels.open_stream(session.gemm->store(), session.gemm->slots_in_order(rounds), nonce, indices);
  }
  if (session.gemm) return session.gemm->open(kernels, round, indices, stop);
  return kernels.open_fma(session.fma->spec, session.fma->seeds[round], indices);
}

// A round that is not kept was computed for this request alone.
struct ScratchDropper {
  std::optional<KeptRounds>& gemm;
  ~ScratchDropper() {
    if (gemm) gemm->drop_scratch();
  }
};

// Answers in the order of `places`; those of one round are opened together. Empty when it was stopped.
std::vector<Opening> open_places(Server& server, ProbeSession& session, ProbeKernels& kernels, Request& request, uint8_t what,
                                 const std::vector<Place>& places) {
  std::map<uint32_t, std::vector<uint32_t>> wanted;  // round -> which of `places`
  for (uint32_t i = 0; i < places.size(); ++i) wanted[places[i].round].push_back(i);
  const ScratchDropper dropper{session.gemm};
  std::vector<Opening> answers(places.size());
  Progress progress(server, request.id, static_cast<uint32_t>(wanted.size()));
  uint32_t rounds_done = 0;
  for (const auto& [round, which] : wanted) {
    if (request.stop) return {};
    std::vector<uint32_t> indices;
    for (const uint32_t i : which) indices.push_back(places[i].index);
    std::vector<Opening> opened = open_one_round(session, kernels, what, round, indices, request.stop);
    if (opened.size() != which.size()) throw EngineError(ErrorCode::device_failed, "the device opened the wrong number");
    for (size_t j = 0; j < which.size(); ++j) answers[which[j]] = std::move(opened[j]);
    progress.say(++rounds_done);
  }
  return answers;
}

Final run_open(Server& server, Device& device, Request& request, const OpenRequest& asked) {
  if (request.stop) return done(0, true);
  if (!server.session_ready(*request.session)) throw EngineError(ErrorCode::no_session, "the session was not made");
  const SessionTurn turn(*request.session, request.stop);
  if (!turn) return done(0, true);
  ProbeSession& session = probe_session(*request.session);
  ProbeKernels& kernels = probe_kernels_of(device);
  check_places(session, asked.what, asked.places);
  std::vector<Place> places = asked.places;
  std::vector<Opening> answers;
  try {
    if (asked.what == kHops) places = places_of_hops(session, kernels, asked.places, request.stop);
    answers = open_places(server, session, kernels, request, asked.what == kHops ? kLeaves : asked.what, places);
  } catch (const EngineError& e) {
    if (!is_own_stop(e, request)) throw;
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    Opening& opening = answers[i];
    server.send(request.id, OpeningReply{places[i].round, opening.index, std::move(opening.leaf), std::move(opening.path)});
  }
  return done(static_cast<uint32_t>(answers.size()), answers.empty());
}

}  // namespace

void open_command(Server& server, uint32_t id, const OpenRequest& asked) {
  if (asked.what > kHops) throw EngineError(ErrorCode::bad_request, "what must be 0 to 4");
  if (asked.places.empty() || asked.places.size() > (asked.what == kHops ? kMaxHopPlaces : kMaxPlaces))
    throw EngineError(ErrorCode::bad_request, "count must be 1 to 4096, of hops 1 to 256");
  const auto run = [&server, asked](Device* device, uint32_t, Request& r) -> std::optional<Final> {
    return run_open(server, *device, r, asked);
  };
  server.submit(std::make_shared<Request>(id, run), asked.session);
}

}  // namespace assay
