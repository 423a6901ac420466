// The built engine over its pipes, request by request as FRAMES.md: what must work, and for each what must
// not.
// Usage: frames_test ENGINE FOLDER_OF_VECTORS
#include <concepts>
#include <map>
#include <regex>

#include "kit/checked_engine.hpp"
#include "cpu/sha256_host.hpp"
#include "probe/chase.hpp"
#include "kit/vector_file.hpp"

using namespace assay;
using namespace assay_test;

namespace {

void test_hello() {
  Engine engine;
  check(engine.claim_text.starts_with("{\"engine\":{\"version\":\"") && engine.claim_text.ends_with("]}"), "CLAIM is an object");
  check(engine.claim_text.find("\"kind\":\"cpu\"") != std::string::npos, "CLAIM names the CPU");
  check(error_code(engine.call(Kind::hello, payload_of(HelloRequest{1}))) == kVersion, "another version is refused");
  const std::vector<uint8_t> bytes(64, 7);
  const auto pong = engine.call(Kind::ping, bytes);
  check(pong.size() == 1 && pong[0].kind == static_cast<uint8_t>(Kind::pong) && pong[0].payload == bytes, "PONG carries the PING's bytes");
  check(error_code(engine.call(Kind::ping, std::vector<uint8_t>(65, 7))) == kBadFrame, "65 bytes are too many for a PING");
  engine.close_in();
  check(engine.exit_code() == 0, "exit 0 at the end of stdin");
}

void test_gemm_stream_open() {
  Engine engine;
  const Seed seed = seed_of(3);
  const uint32_t leaves = 256 * 2;
  const auto made = engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 256, 1024, 384, 5, 2, seed));
  const auto roots = roots_in(made);
  check(roots.size() == 5 && is_done(made, 5), "GEMM sends its roots and DONE");
  // Round 0 and 2 are not kept and must be computed again; 4 is kept.
  const std::vector<std::pair<uint32_t, uint32_t>> places = {{4, 0}, {0, 5}, {4, leaves - 1}, {2, 100}, {0, 5}};
  check_openings(engine.call(Kind::open, open_payload(1, 0, places)), places, leaves, roots, "GEMM");

  const auto passes = engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 3, seed_of(8)));
  const auto answers = roots_in(passes);
  check(answers.size() == 3 && is_done(passes, 3), "STREAM sends its roots and DONE");
  const std::vector<std::pair<uint32_t, uint32_t>> groups = {{2, 0}, {0, 7}, {1, 3}};
  check_openings(engine.call(Kind::open, open_payload(1, 1, groups)), groups, 2 * leaves / 128, answers, "STREAM");
  check(error_code(engine.call(Kind::open, open_payload(1, 1, {{0, 8}}))) == kBadRequest, "a group that is not there");
  check(error_code(engine.call(Kind::open, open_payload(1, 1, {{3, 0}}))) == kBadRequest, "a pass that is not there");
  // A second STREAM replaces the first.
  check(is_done(engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 1, seed_of(9))), 1), "a second STREAM");
  check(error_code(engine.call(Kind::open, open_payload(1, 1, {{1, 0}}))) == kBadRequest, "passes of the first STREAM are gone");

  check(error_code(engine.call(Kind::open, open_payload(1, 0, {{4, 0}, {5, 0}}))) == kBadRequest, "a round that is not there");
  check(error_code(engine.call(Kind::open, open_payload(1, 0, {{0, leaves}}))) == kBadRequest, "a leaf that is not there");
  check(error_code(engine.call(Kind::open, open_payload(2, 0, {{0, 0}}))) == kNoSession, "OPEN of no session");
  check(error_code(engine.call(Kind::open, open_payload(1, 0, {}))) == kBadRequest, "OPEN of nothing");
  check(error_code(engine.call(Kind::open, open_payload(1, 2, {{0, 0}}))) == kBadRequest, "OPEN of another kind of thing");
  check(error_code(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 1, 1, seed))) == kBadRequest, "a name in use");
  check(is_done(engine.call(Kind::release, word_payload(1)), 0), "RELEASE");
  check(error_code(engine.call(Kind::release, word_payload(1))) == kNoSession, "RELEASE twice");
  check(error_code(engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 1, seed))) == kNoSession, "STREAM of a released session");
  const auto again = engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 256, 1024, 384, 2, 9, seed));
  check(roots_in(again).size() == 2 && same(roots_in(again)[1], roots[1]), "the same seed gives the same chain; keep above rounds is taken");
}

// A verifier's look at one interval of one chain, from the frames alone: labels and their paths, F, and each
// hop.
void check_interval(Engine& engine, const ChaseRequest& asked, const Hash& root, uint32_t interval, uint32_t chain, uint32_t first_round,
                    uint32_t rounds, uint32_t leaves, const std::vector<Hash>& roots) {
  const std::string what = "interval " + std::to_string(interval) + ", chain " + std::to_string(chain);
  const auto labels = openings_in(engine.call(Kind::open, open_payload(asked.session, 3, {{0, interval - 1}, {0, interval}})));
  if (!check(labels.size() == 2, what + ": two labels")) return;
  Label states[2];
  std::vector<Hash> lefts;
  for (uint32_t i = 0; i < 2; ++i) {
    const auto& [round, opening] = labels[i];
    const uint32_t at = interval - 1 + i;
    if (!check(round == 0 && opening.index == at && opening.leaf.size() == 32, what + ": a label is 32 bytes")) return;
    memcpy(&states[i], opening.leaf.data(), 32);
    Hash node = tagged_hash(Tag::leaf, opening.leaf);
    for (size_t level = 0; level < opening.path.size(); ++level) {
      const bool right = at >> level & 1;
      if (right && i == 0) lefts.push_back(opening.path[level]);
      node = right ? node_hash(opening.path[level], node) : node_hash(node, opening.path[level]);
    }
    check(size_t{1} << opening.path.size() == asked.intervals && same(node, root), what + ": a label leads to the root");
  }
  uint64_t state = states[0].of[chain] ^ chase_feed(asked.nonce, interval - 1, lefts).of[chain];
  const auto frames = engine.call(Kind::open, open_payload(asked.session, 4, {{interval, chain}}));
  const auto hops = openings_in(frames);
  if (!check(hops.size() == 64 && is_done(frames, 64), what + ": 64 hops")) return;
  unsigned astray = 0;
  for (const auto& [round, opening] : hops) {
    const HopTarget target = hop_target(state, rounds, leaves);
    astray += round != first_round + target.round || opening.index != target.leaf || !leads_to(opening, leaves, roots[round]);
    uint32_t words[256];
    memcpy(words, opening.leaf.data(), 1024);
    MixKeys keys = mix_keys(asked.nonce.b);
    keys.start = static_cast<uint32_t>(state);
    state = hop_end(state, mix_leaf(keys, words, static_cast<uint32_t>(state >> 32)));
  }
  check(astray == 0 && state == states[1].of[chain], what + ": the hops lead to its label");
}

void test_chase() {
  Engine engine;
  const uint32_t leaves = 256 * 2;
  const auto made = engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 256, 1024, 128, 5, 3, seed_of(3)));
  const auto chase = [&](uint32_t session, uint32_t newest, uint32_t intervals, uint32_t nonce) {
    return engine.call(Kind::chase, chase_payload(session, newest, intervals, seed_of(nonce)));
  };
  for (const uint8_t what : {3, 4}) check(error_code(engine.call(Kind::open, open_payload(1, what, {{0, 0}}))) == kBadRequest, "OPEN of no CHASE");
  Hash all{};
  for (const uint32_t newest : {0u, 2u, 9u}) {
    const auto frames = chase(1, newest, 32, 40);
    const auto answer = roots_in(frames);
    if (!check(is_done(frames, 1) && answer.size() == 1, "CHASE sends its root and DONE")) return;
    if (newest == 0) all = answer[0];
    check(same(answer[0], all) == (newest != 2), "0 and more than are kept is all");
    const uint32_t rounds = newest == 2 ? 2 : 3;
    for (const auto& [interval, chain] : {std::pair{1u, 0u}, {16u, 3u}, {31u, 2u}, {22u, 1u}})
      check_interval(engine, {1, newest, 32, seed_of(40)}, answer[0], interval, chain, 5 - rounds, rounds, leaves, roots_in(made));
  }
  check(!same(roots_in(chase(1, 0, 32, 41)).at(0), all), "the nonce counts");
  check(is_done(engine.call(Kind::open, open_payload(1, 4, {{0, 0}, {31, 3}, {0, 0}})), 3 * 64), "several intervals, the first too");
  check(error_code(engine.call(Kind::open, open_payload(1, 3, {{1, 0}}))) == kBadRequest, "labels have one round");
  check(error_code(engine.call(Kind::open, open_payload(1, 3, {{0, 32}}))) == kBadRequest, "a label that is not there");
  check(error_code(engine.call(Kind::open, open_payload(1, 4, {{0, 0}, {32, 0}}))) == kBadRequest, "an interval that is not there");
  check(error_code(engine.call(Kind::open, open_payload(1, 4, {{0, 4}}))) == kBadRequest, "a chain that is not there");
  const std::vector<std::pair<uint32_t, uint32_t>> many(257, {1, 1}), most(256, {1, 1});
  check(error_code(engine.call(Kind::open, open_payload(1, 4, many))) == kBadRequest, "hops of 257 intervals");
  check(is_done(engine.call(Kind::open, open_payload(1, 4, most)), 256 * 64), "hops of 256");
  for (const uint32_t intervals : {0u, 1u, 3u, 48u, 65537u, 131072u, 1u << 31, 0xFFFFFFFFu})
    check(error_code(chase(1, 0, intervals, 40)) == kBadRequest, "intervals " + std::to_string(intervals));
  check(is_done(engine.call(Kind::open, open_payload(1, 3, {{0, 31}})), 1), "a refused CHASE leaves the last one");
  check(is_done(chase(1, 1, 2, 40), 1), "the smallest CHASE takes the place of the last");
  check(error_code(engine.call(Kind::open, open_payload(1, 3, {{0, 2}}))) == kBadRequest, "whose labels are gone");
  check(error_code(chase(2, 0, 2, 40)) == kNoSession, "CHASE of no session");
  check(is_done(engine.call(Kind::fma, fma_payload(2, engine.cpu, 5, 256, 512, 1, seed_of(1))), 1), "an FMA");
  check(error_code(chase(2, 0, 2, 40)) == kBadRequest, "CHASE of an FMA");
  check(error_code(engine.call(Kind::open, open_payload(2, 3, {{0, 0}}))) == kBadRequest, "labels of an FMA");

  // In the middle of a long one: RELEASE must wait, CANCEL ends it, and nothing of it is left.
  const uint32_t id = engine.next_id();
  engine.send(Kind::chase, id, chase_payload(1, 0, 65536, seed_of(40)));
  check(error_code(engine.call(Kind::release, word_payload(1))) == kBusy, "RELEASE during a CHASE");
  engine.send(Kind::cancel, engine.next_id(), word_payload(id));
  check(is_done(engine.answer(id), 0, true), "a CHASE is cancelled");
  const bool began = error_code(engine.call(Kind::open, open_payload(1, 3, {{0, 0}}))) == kBadRequest;
  check(began || is_done(engine.call(Kind::open, open_payload(1, 3, {{0, 1}})), 1), "and leaves nothing, or had not begun");
  check(same(roots_in(chase(1, 0, 32, 40)).at(0), all), "and can be asked again");
  check(is_done(engine.call(Kind::release, word_payload(1)), 0), "RELEASE");
  check(error_code(chase(1, 0, 2, 40)) == kNoSession, "CHASE of a released session");
  // Sent before its GEMM is done.
  const uint32_t gemm = engine.next_id(), behind = engine.next_id();
  engine.send(Kind::gemm, gemm, gemm_payload(3, engine.cpu, 0, 256, 1024, 128, 5, 3, seed_of(3)));
  engine.send(Kind::chase, behind, chase_payload(3, 0, 32, seed_of(40)));
  const auto answer = roots_in(engine.answer(behind));
  check(answer.size() == 1 && same(answer[0], all), "CHASE behind its GEMM");
  engine.send(Kind::chase, engine.next_id(), chase_payload(3, 0, 65536, seed_of(40)));
  engine.close_in();
  check(engine.exit_code() == 0, "the end of stdin during a CHASE");
}

void test_fma() {
  Engine engine;
  for (const uint8_t precision : {5, 6, 7}) {
    const auto made = engine.call(Kind::fma, fma_payload(precision, engine.cpu, precision, 256 * 9, 1024, 3, seed_of(precision)));
    const auto roots = roots_in(made);
    check(roots.size() == 3 && is_done(made, 3), "FMA sends its roots and DONE");
    const uint32_t leaves = precision == 6 ? 18 : 9;
    const std::vector<std::pair<uint32_t, uint32_t>> places = {{2, leaves - 1}, {0, 0}, {1, 4}};
    check_openings(engine.call(Kind::open, open_payload(precision, 0, places)), places, leaves, roots, "FMA");
    check(error_code(engine.call(Kind::open, open_payload(precision, 0, {{0, leaves}}))) == kBadRequest, "a leaf that is not there");
  }
  check(error_code(engine.call(Kind::stream, stream_payload(5, engine.cpu, 0, 1, seed_of(1)))) == kBadRequest, "STREAM of an FMA");
  check(error_code(engine.call(Kind::open, open_payload(5, 1, {{0, 0}}))) == kBadRequest, "digests of an FMA");
}

void test_bad_values() {
  Engine engine;
  const Seed s = seed_of(1);
  const auto gemm = [&](uint8_t precision, uint32_t m, uint32_t n, uint32_t k, uint32_t rounds, uint32_t keep) {
    return error_code(engine.call(Kind::gemm, gemm_payload(7, engine.cpu, precision, m, n, k, rounds, keep, s)));
  };
  check(gemm(5, 128, 512, 128, 1, 1) == kBadRequest, "fp32 is none of GEMM's precisions");
  check(gemm(255, 128, 512, 128, 1, 1) == kBadRequest, "nor is 255");
  for (const uint32_t m : {0u, 64u, 129u, 65664u, 0xFFFFFF80u}) check(gemm(0, m, 512, 128, 1, 1) == kBadRequest, "m " + std::to_string(m));
  for (const uint32_t n : {0u, 128u, 513u, 66048u, 0xFFFFFE00u}) check(gemm(0, 128, n, 128, 1, 1) == kBadRequest, "n " + std::to_string(n));
  for (const uint32_t k : {0u, 64u, 65664u}) check(gemm(0, 128, 512, k, 1, 1) == kBadRequest, "k " + std::to_string(k));
  check(gemm(2, 128, 512, 16512, 1, 1) == kBadRequest, "k above 16384 at 16 bits");
  for (const uint32_t rounds : {0u, (1u << 20) + 1, 0xFFFFFFFFu}) check(gemm(0, 128, 512, 128, rounds, 1) == kBadRequest, "rounds");
  check(gemm(0, 128, 512, 128, 1, 0) == kBadRequest, "keep 0");
  check(gemm(0, 65536, 65536, 128, 1 << 20, 1 << 20) == kNoMemory, "8 PiB to keep");
  check(error_code(engine.call(Kind::gemm, gemm_payload(7, 500, 0, 128, 512, 128, 1, 1, s))) == kNoDevice, "device 500");
  const auto fma = [&](uint8_t precision, uint32_t lanes, uint32_t steps, uint32_t rounds) {
    return error_code(engine.call(Kind::fma, fma_payload(7, engine.cpu, precision, lanes, steps, rounds, s)));
  };
  check(fma(4, 256, 512, 1) == kBadRequest && fma(8, 256, 512, 1) == kBadRequest, "precisions that are not FMA's");
  check(fma(5, 0, 512, 1) == kBadRequest && fma(5, 128, 512, 1) == kBadRequest && fma(5, (1u << 28) + 256, 512, 1) == kBadRequest, "lanes");
  check(fma(5, 256, 0, 1) == kBadRequest && fma(5, 256, 513, 1) == kBadRequest && fma(5, 256, (1u << 20) + 512, 1) == kBadRequest, "steps");
  check(fma(5, 256, 512, 0) == kBadRequest, "no rounds");
  check(error_code(engine.call(Kind::open, open_payload(7, 0, {{0, 0}}))) == kNoSession, "an ERROR makes no session");
  check(is_done(engine.call(Kind::gemm, gemm_payload(7, engine.cpu, 0, 128, 512, 128, 1, 1, s)), 1), "the same name, well asked");
}

void test_bad_frames() {
  Engine engine;
  check(error_code(engine.call(static_cast<Kind>(0x77), {})) == kBadFrame, "an unknown kind");
  check(error_code(engine.call(Kind::root, std::vector<uint8_t>(36))) == kBadFrame, "a reply's kind as a request");
  std::vector<uint8_t> gemm = gemm_payload(1, engine.cpu, 0, 128, 512, 128, 1, 1, seed_of(1));
  gemm.pop_back();
  check(error_code(engine.call(Kind::gemm, gemm)) == kBadFrame, "a missing byte");
  gemm.insert(gemm.end(), 2, 0);
  check(error_code(engine.call(Kind::gemm, gemm)) == kBadFrame, "a surplus byte");
  gemm.pop_back();
  gemm[7] = 1;
  check(error_code(engine.call(Kind::gemm, gemm)) == kBadFrame, "a reserved byte that is not 0");
  std::vector<uint8_t> open = open_payload(1, 0, {{0, 0}});
  open[8] = 2;
  check(error_code(engine.call(Kind::open, open)) == kBadFrame, "a count that does not fit");
  open[8] = 0;
  open[11] = 0x20;  // 2^29 places in 8 bytes: the product of count and 8 must not wrap
  check(error_code(engine.call(Kind::open, open)) == kBadFrame, "a count that wraps");
  check(error_code(engine.call(Kind::release, {})) == kBadFrame && error_code(engine.call(Kind::cancel, {1, 2, 3})) == kBadFrame, "short words");
  engine.send(Kind::ping, 0, {});
  check(error_code(engine.answer(0)) == kBadRequest, "id 0");
  check(engine.call(Kind::ping, {}).size() == 1, "the stream goes on after all that");
}

// How a frame of vectors/frames.json reads ("name=value" for every field, bytes and texts as hex), but for
// the names: those are the table's, from which both that file and the engine's frames are made.
class FieldTexts {
 public:
  void operator()(const auto&... fields) { (add(fields), ...); }
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& value) { text_ += (text_.empty() ? "" : " ") + value; }
  void add(std::unsigned_integral auto v) { add(std::to_string(v)); }
  void add(Precision v) { add(std::to_string(static_cast<unsigned>(v))); }
  void add(const Hash& v) { add(to_hex(v.b, sizeof v.b)); }
  void add(const std::vector<uint8_t>& v) { add(to_hex(v.data(), v.size())); }
  void add(const std::vector<Hash>& v) {
    std::string nodes;
    for (const Hash& hash : v) nodes += to_hex(hash.b, sizeof hash.b);
    add(nodes);
  }
  void add(const std::vector<Place>& v) {
    std::string places;
    for (const Place& place : v) places += (places.empty() ? "" : ",") + std::to_string(place.round) + ":" + std::to_string(place.index);
    add(places);
  }
  template <typename Value>
  void add(const Rest<Value>& v) {
    add(std::vector<uint8_t>(v.value.begin(), v.value.end()));
  }
  void add(const Zeros&) {}
  void add(const Magic&) {}
  std::string text_;
};

std::string without_names(const std::string& fields) { return std::regex_replace(fields, std::regex("[^ =]+="), ""); }

template <typename Message>
void check_good_frame(const Frame& frame, const Row& row) {
  const auto message = read_payload<Message>(frame.payload);
  FieldTexts texts;
  Message::visit(message, texts);
  check(frame.kind == static_cast<uint8_t>(Message::kKind) && texts.text() == without_names(row.text("fields")), "frames.json " + row.text("name") + ": fields");
  check(encode_frame(frame.kind, frame.id, payload_of(message)) == from_hex(row.text("frame")), "frames.json " + row.text("name") + ": bytes");
}

void check_good_frame(const Frame& frame, const Row& row) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::hello: return check_good_frame<HelloRequest>(frame, row);
    case Kind::gemm: return check_good_frame<GemmRequest>(frame, row);
    case Kind::stream: return check_good_frame<StreamRequest>(frame, row);
    case Kind::fma: return check_good_frame<FmaRequest>(frame, row);
    case Kind::open: return check_good_frame<OpenRequest>(frame, row);
    case Kind::release: return check_good_frame<ReleaseRequest>(frame, row);
    case Kind::ping: return check_good_frame<PingRequest>(frame, row);
    case Kind::cancel: return check_good_frame<CancelRequest>(frame, row);
    case Kind::copy: return check_good_frame<CopyRequest>(frame, row);
    case Kind::read: return check_good_frame<ReadRequest>(frame, row);
    case Kind::chase: return check_good_frame<ChaseRequest>(frame, row);
    case Kind::program: return check_good_frame<ProgramRequest>(frame, row);
    case Kind::tensor: return check_good_frame<TensorRequest>(frame, row);
    case Kind::hash: return check_good_frame<HashRequest>(frame, row);
    case Kind::load: return check_good_frame<LoadRequest>(frame, row);
    case Kind::run: return check_good_frame<RunRequest>(frame, row);
    case Kind::save: return check_good_frame<SaveRequest>(frame, row);
    case Kind::seed: return check_good_frame<SeedRequest>(frame, row);
    case Kind::fetch: return check_good_frame<FetchRequest>(frame, row);
    case Kind::trace: return check_good_frame<TraceRequest>(frame, row);
    case Kind::ask: return check_good_frame<AskRequest>(frame, row);
    case Kind::attest: return check_good_frame<AttestRequest>(frame, row);
    case Kind::prover: return check_good_frame<ProverRequest>(frame, row);
    case Kind::give: return check_good_frame<GiveRequest>(frame, row);
    case Kind::commit: return check_good_frame<CommitRequest>(frame, row);
    case Kind::prove: return check_good_frame<ProveRequest>(frame, row);
    case Kind::part: return check_good_frame<PartRequest>(frame, row);
    case Kind::fold: return check_good_frame<FoldRequest>(frame, row);
    case Kind::wrapper: return check_good_frame<WrapperRequest>(frame, row);
    case Kind::wrap: return check_good_frame<WrapRequest>(frame, row);
    case Kind::key: return check_good_frame<KeyRequest>(frame, row);
    case Kind::evaluate: return check_good_frame<EvaluateRequest>(frame, row);
    case Kind::ready: return check_good_frame<ReadyReply>(frame, row);
    case Kind::claim: return check_good_frame<ClaimReply>(frame, row);
    case Kind::root: return check_good_frame<RootReply>(frame, row);
    case Kind::progress: return check_good_frame<ProgressReply>(frame, row);
    case Kind::done: return check_good_frame<DoneReply>(frame, row);
    case Kind::opening: return check_good_frame<OpeningReply>(frame, row);
    case Kind::pong: return check_good_frame<PongReply>(frame, row);
    case Kind::reading: return check_good_frame<ReadingReply>(frame, row);
    case Kind::plan: return check_good_frame<PlanReply>(frame, row);
    case Kind::metric: return check_good_frame<MetricReply>(frame, row);
    case Kind::segment: return check_good_frame<SegmentReply>(frame, row);
    case Kind::bytes: return check_good_frame<BytesReply>(frame, row);
    case Kind::report: return check_good_frame<ReportReply>(frame, row);
    case Kind::error: return check_good_frame<ErrorReply>(frame, row);
  }
  check(false, "frames.json " + row.text("name") + ": a kind of its own");
}

// The frames that TypeScript reads too. What must be refused is sent to the engine; bad replies are the
// verifier's business.
void test_vectors(const std::string& folder) {
  Engine engine;
  for (const Row& row : read_vectors(folder, "frames")) {
    const std::string &refused = row.text("refused"), name = "frames.json " + row.text("name");
    const std::vector<uint8_t> bytes = from_hex(row.text("frame"));
    if (refused == "") {
      FrameSplitter splitter;
      splitter.add(bytes);
      Frame frame;
      if (check(splitter.next(frame), name + ": a whole frame")) check_good_frame(frame, row);
    } else if (row.text("to") == "verifier") {
      continue;
    } else if (refused == "length") {
      Engine other;
      other.write_bytes(bytes);
      check(error_code(other.answer(0)) == kBadFrame, name + ": ERROR with id 0");
      check(other.exit_code() == 65, name + ": and exit 65");
    } else {
      engine.write_bytes(bytes);
      check(error_code(engine.answer(load_le32(bytes.data() + 5))) == (refused == "frame" ? kBadFrame : kBadRequest), name);
    }
  }
  check(engine.call(Kind::ping, {}).size() == 1, "the stream goes on after all that");
}

std::string error_text(const std::vector<Frame>& frames) {
  return frames.empty() || frames.back().kind != static_cast<uint8_t>(Kind::error) ? "" : read_payload<ErrorReply>(frames.back().payload).message;
}

// Programs by raw frames: what a client of our own would never send. What they compute is the TypeScript
// suite's matter.
void test_programs(const std::string& folder) {
  Engine engine({"--threads", "2", "--work"});
  const auto make = [&](uint32_t session, const std::vector<uint8_t>& bytes) {
    return engine.call(Kind::program, payload_of(ProgramRequest{session, engine.cpu, seed_of(1), bytes}));
  };
  const auto is_plan = [](const std::vector<Frame>& frames) { return frames.size() == 1 && frames[0].kind == static_cast<uint8_t>(Kind::plan); };
  for (const Row& row : read_vectors(folder, "work-refused")) {
    const std::string code = row.text("code");
    const std::vector<uint8_t> bytes = from_hex(row.text("program"));
    if (bytes.empty()) continue;
    const auto frames = make(1, bytes);
    if (code.empty()) {
      check(is_plan(frames) && is_done(engine.call(Kind::release, word_payload(1)), 0), "a program that may run has a plan");
      continue;
    }
    std::string place;
    if (row.number("tensor") >= 0) place = "tensor " + std::to_string(row.number("tensor"));
    if (row.number("op") >= 0) place = (row.number("phase") == 0 ? "init op " : "step op ") + std::to_string(row.number("op"));
    if (row.number("instruction") >= 0) place += ", instruction " + std::to_string(row.number("instruction"));
    check(error_code(frames) == kBadProgram && error_text(frames).starts_with(code + " " + place), "PROGRAM is refused: " + code + " " + place);
  }
  const std::vector<uint8_t> good = from_hex(read_vectors(folder, "work-programs")[1].text("program"));
  check(error_code(engine.call(Kind::program, payload_of(ProgramRequest{1, 999, seed_of(1), good}))) == kNoDevice, "PROGRAM on no device");
  if (engine.disk != 0xFFFF)
    check(error_code(engine.call(Kind::program, payload_of(ProgramRequest{1, engine.disk, seed_of(1), good}))) == kUnsupported, "PROGRAM on a disk");
  check(is_plan(make(1, good)), "PROGRAM");
  check(error_code(make(1, good)) == kBadRequest, "a name in use");
  const auto tensor = [&](uint16_t number, uint64_t offset, size_t bytes) {
    return error_code(engine.call(Kind::tensor, payload_of(TensorRequest{1, number, offset, std::vector<uint8_t>(bytes)})));
  };
  // Sums of offset and length that come round.
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 63, uint64_t{1} << 63, uint64_t{1} << 40})
    check(tensor(0, offset & ~uint64_t{7}, 64) == kTensorSize, "TENSOR far outside");
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63, uint64_t{8}})
    for (const uint64_t length : {UINT64_MAX, UINT64_MAX - offset + 1, UINT64_MAX - offset + 2, uint64_t{1} << 62})
      check(error_code(engine.call(Kind::fetch, payload_of(FetchRequest{1, 1, offset, length}))) == kTensorSize, "FETCH far outside");
  for (const uint16_t number : {uint16_t{9}, uint16_t{4095}, uint16_t{65535}}) check(tensor(number, 0, 8) == kBadRequest, "no such tensor");
  const auto ask = [&](uint32_t segment, uint32_t step, uint32_t op, std::vector<Place> places) {
    return error_code(engine.call(Kind::ask, payload_of(AskRequest{1, segment, step, op, std::move(places)})));
  };
  check(ask(0, 0, 0, {}) == kBadRequest && ask(0, 0, 0, std::vector<Place>(4097)) == kBadRequest, "ASK of nothing, and of too much");
  check(ask(UINT32_MAX, 0, 0, {{255, 0}}) == kBadRequest && ask(1, UINT32_MAX, 0, {{255, 0}}) == kBadRequest &&
            ask(1, 0, UINT32_MAX, {{255, 0}}) == kBadRequest && ask(1, 0, 0, {{UINT32_MAX, 0}}) == kBadRequest,
        "ASK of what is not there");
  for (const auto& [first, count] : {std::pair{0u, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {UINT32_MAX, 1u}, {1u << 31, 1u}, {1u, 0u}})
    check(error_code(engine.call(Kind::run, payload_of(RunRequest{1, first, count, 0}))) == kBadRequest, "RUN of segments that are not there");
  check(error_code(engine.call(Kind::trace, payload_of(TraceRequest{1, UINT32_MAX}))) == kBadRequest, "TRACE of one");
  for (const Kind kind : {Kind::save})
    check(error_code(engine.call(kind, word_payload(1))) == kUnsupported, "SAVE without a store");
  check(error_code(engine.call(Kind::load, payload_of(LoadRequest{1, 0, {}}))) == kUnsupported, "LOAD without a store");
  // Sessions of another kind.
  check(is_done(engine.call(Kind::gemm, gemm_payload(2, engine.cpu, 0, 128, 512, 128, 1, 1, seed_of(1))), 1), "a GEMM beside it");
  check(error_code(engine.call(Kind::hash, payload_of(HashRequest{2, 0}))) == kBadRequest, "HASH of a GEMM");
  check(error_code(engine.call(Kind::run, payload_of(RunRequest{2, 0, 1, 0}))) == kBadRequest, "RUN of a GEMM");
  check(error_code(engine.call(Kind::open, open_payload(1, 0, {{0, 0}}))) == kBadRequest, "OPEN of a program");
  check(error_code(engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 1, seed_of(1)))) == kBadRequest, "STREAM of a program");
  check(error_code(engine.call(Kind::chase, chase_payload(1, 0, 32, seed_of(1)))) == kBadRequest, "CHASE of a program");
  check(error_code(engine.call(Kind::hash, payload_of(HashRequest{3, 0}))) == kNoSession, "HASH of no session");
  for (uint32_t i = 0; i < 15; ++i) check(is_plan(make(100 + i, good)), "16 programs");
  check(error_code(make(200, good)) == kBusy, "a 17th");
  check(is_done(engine.call(Kind::release, word_payload(100)), 0) && is_plan(make(200, good)), "room again after RELEASE");

  Engine other;
  check(error_code(other.call(Kind::program, payload_of(ProgramRequest{1, other.cpu, seed_of(1), good}))) == kUnsupported,
        "without --work no program is run");
  check(error_code(other.call(Kind::run, payload_of(RunRequest{1, 0, 1, 0}))) == kNoSession, "and there is nothing to run");
}

void test_running_at_once() {
  Engine engine;
  // Long enough to be still running while all of this is sent.
  const uint32_t long_id = engine.next_id();
  engine.send(Kind::fma, long_id, fma_payload(1, engine.cpu, 5, 1u << 20, 1u << 20, 1u << 20, seed_of(1)));
  check(engine.call(Kind::ping, {1, 2}).size() == 1, "PING is answered while work runs");
  engine.send(Kind::ping, long_id, {});
  check(error_code(engine.answer(long_id)) == kBadRequest, "an id in use");
  check(error_code(engine.call(Kind::release, word_payload(1))) == kBusy, "RELEASE of a session in use");
  std::vector<uint32_t> waiting;
  for (uint32_t i = 0; i < 16; ++i) {
    waiting.push_back(engine.next_id());
    engine.send(Kind::gemm, waiting.back(), gemm_payload(100 + i, engine.cpu, 0, 128, 512, 128, 1, 1, seed_of(1)));
  }
  check(error_code(engine.call(Kind::gemm, gemm_payload(200, engine.cpu, 0, 128, 512, 128, 1, 1, seed_of(1)))) == kBusy, "a 17th waiting");
  // One that waits is cancelled and never runs.
  const uint32_t cancel_waiting = engine.next_id();
  engine.send(Kind::cancel, cancel_waiting, word_payload(waiting[3]));
  check(is_done(engine.answer(cancel_waiting), 0), "CANCEL is answered");
  check(is_done(engine.answer(waiting[3]), 0, 1), "the waiting one ends as cancelled");
  check(error_code(engine.call(Kind::release, word_payload(103))) == kNoSession, "and made no session");
  const uint32_t cancel = engine.next_id();
  engine.send(Kind::cancel, cancel, word_payload(long_id));
  std::map<uint32_t, std::vector<Frame>> ends;
  while (ends.size() < 17) {
    const auto frame = engine.receive();
    if (!frame) break;
    if (frame->kind == static_cast<uint8_t>(Kind::done)) ends[frame->id].push_back(*frame);
  }
  check(is_done(ends[cancel], 0) && is_done(ends[long_id], 0, 1), "a running round is cancelled within");
  for (uint32_t i = 0; i < 16; ++i) check(i == 3 || is_done(ends[waiting[i]], 1), "those that waited are run");
  check(error_code(engine.call(Kind::open, open_payload(1, 0, {{0, 0}}))) == kNoSession, "no round, no session");
  check(is_done(engine.call(Kind::cancel, word_payload(12345)), 0), "CANCEL of an unknown id is answered");
}

// A chain that is cancelled stands with the rounds whose roots came, and all of the kept ones can be
// streamed.
void test_cancelled_chain() {
  Engine engine;
  const uint32_t id = engine.next_id();
  engine.send(Kind::gemm, id, gemm_payload(1, engine.cpu, 2, 512, 1024, 512, 1u << 20, 3, seed_of(5)));
  std::vector<Frame> frames;
  unsigned roots_seen = 0;
  bool cancelled = false;
  while (const auto frame = engine.receive()) {
    if (frame->id != id) continue;
    frames.push_back(*frame);
    if (frame->kind == static_cast<uint8_t>(Kind::root) && ++roots_seen == 4 && !cancelled) {
      cancelled = true;
      engine.send(Kind::cancel, engine.next_id(), word_payload(id));
    }
    if (frame->kind == static_cast<uint8_t>(Kind::done) || frame->kind == static_cast<uint8_t>(Kind::error)) break;
  }
  const auto roots = roots_in(frames);
  const uint32_t count = static_cast<uint32_t>(roots.size());
  check(count >= 4 && is_done(frames, count, 1), "a cancelled GEMM ends with reason 1");
  const uint32_t leaves = 512 * 2;
  const std::vector<std::pair<uint32_t, uint32_t>> places = {{0, 1}, {count - 3, 2}, {count - 1, 3}, {count - 2, 4}};
  check_openings(engine.call(Kind::open, open_payload(1, 0, places)), places, leaves, roots, "cancelled GEMM");
  const auto passes = engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 1, seed_of(6)));
  check(is_done(passes, 1), "a cancelled GEMM is streamed");
  const auto stream_roots = roots_in(passes);
  // The digests lie over the newest three rounds: what a client that knows only the roots expects.
  const MixKeys keys = mix_keys(seed_of(6).b);
  const std::vector<std::pair<uint32_t, uint32_t>> group = {{0, 0}, {0, 23}};
  const auto opened = engine.call(Kind::open, open_payload(1, 1, group));
  check_openings(opened, group, 3 * leaves / 128, stream_roots, "stream of a cancelled GEMM");
  const auto below = engine.call(Kind::open, open_payload(1, 0, {{count - 3, 5}, {count - 1, leaves - 1}}));
  const auto leaf = openings_in(below), digests = openings_in(opened);
  if (!check(leaf.size() == 2 && digests.size() == 2, "digests and leaves are opened")) return;
  uint32_t words[256];
  memcpy(words, leaf[0].opening.leaf.data(), 1024);
  const Digest first = mix_leaf(keys, words, 5);
  memcpy(words, leaf[1].opening.leaf.data(), 1024);
  const Digest last = mix_leaf(keys, words, 3 * leaves - 1);
  check(memcmp(digests[0].opening.leaf.data() + 8 * 5, &first, 8) == 0, "the oldest kept round comes first");
  check(memcmp(digests[1].opening.leaf.data() + 8 * 127, &last, 8) == 0, "the newest comes last");
  const ChaseRequest chase{1, 0, 4, seed_of(7)};
  const auto chased = roots_in(engine.call(Kind::chase, payload_of(chase)));
  if (check(chased.size() == 1, "a cancelled GEMM is chased")) check_interval(engine, chase, chased[0], 3, 0, count - 3, 3, leaves, roots);
}

void test_sessions() {
  Engine engine;
  for (uint32_t i = 0; i < 64; ++i)
    check(is_done(engine.call(Kind::fma, fma_payload(i, engine.cpu, 7, 256, 512, 1, seed_of(i))), 1), "64 sessions");
  check(error_code(engine.call(Kind::fma, fma_payload(64, engine.cpu, 7, 256, 512, 1, seed_of(1)))) == kBusy, "not a 65th");
  check(is_done(engine.call(Kind::release, word_payload(7)), 0), "one less");
  check(is_done(engine.call(Kind::fma, fma_payload(64, engine.cpu, 7, 256, 512, 1, seed_of(1))), 1), "and one more");
  // A STREAM sent before its GEMM is done runs after it.
  check(is_done(engine.call(Kind::release, word_payload(8)), 0), "room for a GEMM");
  const uint32_t gemm = engine.next_id(), stream = engine.next_id();
  engine.send(Kind::gemm, gemm, gemm_payload(70, engine.cpu, 0, 256, 512, 256, 3, 3, seed_of(1)));
  engine.send(Kind::stream, stream, stream_payload(70, engine.cpu, 0, 2, seed_of(2)));
  check(is_done(engine.answer(stream), 2), "STREAM behind its GEMM");
}

void test_ends() {
  {
    Engine engine;
    engine.send(Kind::fma, 900, fma_payload(1, engine.cpu, 6, 1u << 28, 1u << 20, 1, seed_of(1)));
    engine.close_in();
    check(engine.exit_code() == 0, "exit 0 at the end of stdin while work runs");
  }
  {
    // The session is off the books and its RELEASE still waits: its memory must go before its device does.
    Engine engine;
    check(is_done(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 2, 2, seed_of(1))), 2), "a session to release");
    engine.send(Kind::fma, 902, fma_payload(2, engine.cpu, 5, 1u << 20, 1u << 20, 1, seed_of(1)));
    engine.send(Kind::release, 903, word_payload(1));
    check(error_code(engine.call(Kind::stream, stream_payload(1, engine.cpu, 0, 1, seed_of(1)))) == kNoSession, "the name is free at once");
    engine.close_in();
    check(engine.exit_code() == 0, "exit 0 while a RELEASE waits");
  }
  {
    Engine engine;
    engine.write_bytes({9, 0, 0, 0, 7, 1});
    engine.close_in();
    check(engine.exit_code() == 0, "exit 0 in the middle of a frame");
  }
  {
    Engine engine;
    engine.close_out();
    check(engine.exit_code() == 0, "exit 0 when stdout is closed and nothing happens");
  }
  {
    Engine engine;
    engine.send(Kind::gemm, 901, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 1u << 20, 1, seed_of(1)));
    engine.close_out();
    check(engine.exit_code() == 0, "exit 0 when stdout is closed while roots are sent");
  }
  {
    Engine engine({"--idle-s", "1"});
    check(engine.exit_code() == 0, "exit 0 when nothing came for --idle-s");
  }
  for (const auto& flags : std::vector<std::vector<std::string>>{{"--nonsense"}, {"--idle-s"}, {"--idle-s", "0"}, {"--threads", "x"}}) {
    EngineProcess engine(program, flags);
    check(engine.exit_code() == 64, "exit 64 for " + flags[0]);
  }
  for (const char* flag : {"--version", "--help"}) {
    EngineProcess engine(program, {flag});
    check(engine.exit_code() == 0, std::string("exit 0 for ") + flag);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  program = argv[1];
  signal(SIGPIPE, SIG_IGN);
  try {
    test_hello();
    test_gemm_stream_open();
    test_chase();
    test_fma();
    test_bad_values();
    test_bad_frames();
    test_vectors(argv[2]);
    test_programs(argv[2]);
    test_running_at_once();
    test_cancelled_chain();
    test_sessions();
    test_ends();
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  return report();
}
