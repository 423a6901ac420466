// Throws frames at the built (and sanitized) engine: random bytes, broken frames, well-formed ones with
// hostile values, peers that vanish. After each run it must have exited by itself with 0 or 65, every frame
// it sent must parse, and no request may have been answered twice. Deterministic: one seed, one sequence.
// Usage: frame_fuzz ENGINE [RUNS [FIRST_SEED [FOLDER_OF_VECTORS]]]; with vectors, programs too.
#include <map>

#include "kit/engine_process.hpp"
#include "kit/vector_file.hpp"
#include "work/plan.hpp"

using namespace assay;
using namespace assay_test;

namespace {

// Philox as the fuzzer's own dice.
class Dice {
 public:
  explicit Dice(uint32_t seed) : seed_(seed) {}
  uint32_t word() {
    if (at_ == 4) {
      block_ = philox4x32_10({seed_, 77}, ++count_, 0, 0, 0);
      at_ = 0;
    }
    return block_.w[at_++];
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t{word()} * n >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<uint32_t>(list.size()))];
  }
  Hash hash() {
    Hash h;
    for (uint8_t& b : h.b) b = static_cast<uint8_t>(word());
    return h;
  }
  std::vector<uint8_t> bytes(size_t n) {
    std::vector<uint8_t> out(n);
    for (uint8_t& b : out) b = static_cast<uint8_t>(word());
    return out;
  }

 private:
  uint32_t seed_, count_ = 0, at_ = 4;
  Philox4 block_{};
};

constexpr uint32_t kMax = 0xFFFFFFFFu;

uint32_t hostile_word(Dice& dice) {
  return dice.pick<uint32_t>({0, 1, 2, 127, 128, 255, 256, 511, 512, 640, 4096, 65536, 65537, 1u << 20, (1u << 20) + 1, 1u << 28, 1u << 31,
                              kMax - 511, kMax, dice.word()});
}

struct Asked {
  uint8_t kind;
  uint32_t id;
  std::vector<uint8_t> payload;
};

std::vector<std::vector<uint8_t>> programs;  // that may run

// This machine is not asked for gigabytes: those that would run with so much are left as they were.
bool is_small(const std::vector<uint8_t>& bytes) {
  try {
    return work::plan_memory(work::check_program(work::read_program(bytes)).program).bytes < (64u << 20);
  } catch (const work::Fault&) {
    return true;
  }
}

// About programs: mostly in an order in which something happens.
Asked random_work(Dice& dice, uint32_t session, uint16_t device) {
  Asked asked{};
  const bool tame = !dice.one_in(3);
  const auto keep = [&](uint32_t tame_value) { return tame ? tame_value : hostile_word(dice); };
  const auto tensor = static_cast<uint16_t>(dice.one_in(20) ? dice.word() : dice.below(9));
  const uint64_t offset = tame ? 0 : uint64_t{hostile_word(dice)} << dice.below(40);
  const auto set = [&](const auto& request) {
    asked.kind = static_cast<uint8_t>(request.kKind);
    asked.payload = payload_of(request);
  };
  switch (dice.below(11)) {
    case 0:
    case 1: {
      const std::vector<uint8_t>& whole = programs[dice.below(static_cast<uint32_t>(programs.size()))];
      std::vector<uint8_t> bytes = whole;
      if (dice.one_in(2)) bytes[dice.below(static_cast<uint32_t>(bytes.size()))] ^= static_cast<uint8_t>(1u << dice.below(8));
      set(ProgramRequest{session, device, dice.hash(), is_small(bytes) ? std::move(bytes) : whole});
      break;
    }
    case 2:
    case 3: set(TensorRequest{session, tensor, offset, tame ? std::vector<uint8_t>(8 * (1 + dice.below(64))) : dice.bytes(1 + dice.below(4096))}); break;
    case 4: set(HashRequest{session, tensor}); break;
    case 5: set(RunRequest{session, keep(dice.below(3)), keep(1 + dice.below(3)), keep(0)}); break;
    case 6: set(FetchRequest{session, tensor, offset, keep(1 + dice.below(64))}); break;
    case 7: set(TraceRequest{session, keep(dice.below(3))}); break;
    case 8: set(LoadRequest{session, tensor, dice.hash()}); break;
    case 9: {
      // Scalars of one byte each, mostly; as many as a tensor of up to 2^12 elements has variables.
      std::vector<uint8_t> point(32 * dice.below(13));
      for (size_t i = 31; i < point.size(); i += 32) point[i] = static_cast<uint8_t>(dice.word());
      if (!tame) point = dice.bytes(dice.below(600));
      set(EvaluateRequest{session, tensor, static_cast<uint16_t>(keep(dice.below(3))), keep(1 + dice.below(8)), keep(dice.below(8)), keep(256), keep(2047), std::move(point)});
      break;
    }
    default: {
      std::vector<Place> places(1 + dice.below(3));
      for (Place& place : places) place = {keep(dice.one_in(2) ? 255 : dice.below(3)), keep(0)};
      set(AskRequest{session, keep(dice.below(3)), keep(0), keep(dice.below(8)), std::move(places)});
    }
  }
  return asked;
}

// About proofs: a small plan, sometimes with a hostile number in it, and what it is given, mostly of the
// right size.
Asked random_proof(Dice& dice, uint32_t session, uint16_t device) {
  Asked asked{};
  const auto set = [&](const auto& request) {
    asked.kind = static_cast<uint8_t>(request.kKind);
    asked.payload = payload_of(request);
  };
  switch (dice.below(13)) {
    case 10: {
      // A wire that is the product of two others, over a key that is made or must be given.
      const auto keep = [&](uint32_t tame) { return dice.one_in(6) ? hostile_word(dice) : tame; };
      set(WrapperRequest{session, device, static_cast<uint16_t>(dice.one_in(3) ? dice.below(4) : 2), keep(1), keep(4), keep(2), keep(108)});
      break;
    }
    case 11: {
      // Its circuit, sometimes with a hostile word in it; then an input and a secret.
      uint32_t words[] = {0x31637261, 1, 4, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0x01000000, 2, 1, 1, 1, 0, 1, 1, 0, 3, 1, 0, 2, 0};
      if (dice.one_in(3)) words[dice.below(std::size(words))] = dice.one_in(2) ? hostile_word(dice) : dice.below(20);
      std::vector<uint8_t> circuit;
      for (const uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) circuit.push_back(static_cast<uint8_t>(word >> shift));
      const bool is_circuit = dice.one_in(2);
      set(GiveRequest{session, static_cast<uint16_t>(is_circuit ? 0 : 1 + dice.below(7)), 0, is_circuit ? circuit : std::vector<uint8_t>(64 * (1 + dice.below(4)))});
      break;
    }
    case 12:
      if (dice.one_in(2)) set(WrapRequest{session, dice.one_in(3) ? dice.hash() : Hash{}, Hash{}});
      else set(KeyRequest{session});
      break;
    case 0: {
      // Version, chunk, steps, batch, rows, scale, widths, scales, limbs, powers of a known τ, reserved,
      // links, sizes.
      uint32_t words[] = {1, 4, 1, 1, 2, 4, 4, 5, 1, 2, 4, 3, 3, 1, 0, 2, 2, 2, 2};
      if (dice.one_in(3)) words[dice.below(std::size(words))] = dice.one_in(2) ? hostile_word(dice) : dice.below(20);
      std::vector<uint8_t> plan;
      for (const uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) plan.push_back(static_cast<uint8_t>(word >> shift));
      // A plan that would take much is not for this machine.
      if (words[4] > 8 || words[1] > 10 || words[16] > 64 || words[17] > 64 || words[18] > 64 || words[6] > 8 || words[7] > 8) plan.pop_back();
      set(ProverRequest{session, device, std::move(plan)});
      break;
    }
    case 1:
    case 2:
    case 3:
    case 4: {
      const auto number = static_cast<uint16_t>(dice.one_in(20) ? dice.word() : dice.pick<uint32_t>({0, 1, 3, 4, 5}));
      const bool tame = !dice.one_in(6);
      const size_t right = 16;
      set(GiveRequest{session, number, tame ? 0 : uint64_t{hostile_word(dice)} << dice.below(40),
                      tame ? std::vector<uint8_t>(right) : dice.bytes(1 + dice.below(200))});
      break;
    }
    case 5:
    case 6: set(CommitRequest{session, dice.one_in(4) ? hostile_word(dice) : 2 * dice.below(4), dice.hash()}); break;
    case 7: set(PartRequest{session, dice.hash(), dice.one_in(3) ? dice.hash() : Hash{}}); break;
    case 8: set(FoldRequest{session, dice.one_in(2) ? dice.hash() : Hash{}}); break;
    default: set(ProveRequest{session, dice.hash()});
  }
  return asked;
}

Asked random_request(Dice& dice) {
  Asked asked{};
  asked.id = dice.one_in(12) ? dice.below(4) : dice.word();
  const uint32_t session = dice.below(6);
  // With two CPUs and a disk that is all of them, and one that is not there.
  const auto any_device = [&] { return static_cast<uint16_t>(dice.one_in(20) ? dice.word() : dice.below(4)); };
  const uint16_t device = dice.one_in(2) ? uint16_t{0} : any_device();
  const bool tame = !dice.one_in(3);  // small shapes that the engine really runs
  const auto keep = [&](uint32_t tame_value) { return tame ? tame_value : hostile_word(dice); };
  switch (dice.below(programs.empty() ? 15 : 26)) {
    case 22:
    case 23:
    case 24:
    case 25: {
      const Asked proof = random_proof(dice, session, device);
      asked.kind = proof.kind;
      asked.payload = proof.payload;
      break;
    }
    case 15:
    case 16:
    case 17:
    case 18:
    case 19:
    case 20:
    case 21: {
      const Asked work = random_work(dice, session, device);
      asked.kind = work.kind;
      asked.payload = work.payload;
      break;
    }
    case 0:
      asked.kind = 1;
      asked.payload = payload_of(HelloRequest{dice.pick<uint16_t>({3, 3, 3, 0, 1, 2, 0xFFFF})});
      break;
    case 1:
    case 2:
      asked.kind = 2;
      asked.payload = gemm_payload(session, device, static_cast<uint8_t>(dice.below(tame ? 5 : 9)), keep(128), keep(512), keep(128),
                                   keep(1 + dice.below(4)), keep(1 + dice.below(3)), dice.hash());
      break;
    case 3:
      asked.kind = 3;
      asked.payload = stream_payload(session, any_device(), keep(dice.below(4)), keep(1 + dice.below(3)), dice.hash());
      break;
    case 4:
      asked.kind = 4;
      asked.payload = fma_payload(session, device, static_cast<uint8_t>(tame ? 5 + dice.below(3) : dice.below(10)), keep(256), keep(512),
                                  keep(1 + dice.below(3)), dice.hash());
      break;
    case 5: {
      std::vector<std::pair<uint32_t, uint32_t>> places(dice.pick<size_t>({0, 1, 1, 2, 8, 4096, 4097}));
      for (auto& [round, index] : places) {
        round = keep(dice.below(3));
        index = keep(dice.below(130));
      }
      asked.kind = 5;
      asked.payload = open_payload(session, static_cast<uint8_t>(dice.below(6)), places);
      break;
    }
    case 6:
      asked.kind = 6;
      asked.payload = word_payload(session);
      break;
    case 7:
      asked.kind = 7;
      asked.payload = dice.bytes(dice.below(70));
      break;
    case 8:
    case 9:
      asked.kind = 9;
      asked.payload = copy_payload(session, any_device(), keep(dice.below(4)), dice.hash());
      break;
    case 10:
      asked.kind = 10;
      asked.payload = device_payload(any_device());
      break;
    case 11:
      asked.kind = 3;
      asked.payload = stream_payload(session, any_device(), keep(dice.below(4)), keep(1 + dice.below(40)), dice.hash());
      break;
    case 12:
      asked.kind = 11;
      asked.payload = chase_payload(session, keep(dice.below(4)), keep(1u << dice.below(7)), dice.hash());
      break;
    default:
      asked.kind = 8;
      asked.payload = word_payload(dice.one_in(2) ? dice.below(5) : dice.word());
  }
  // Broken in one place.
  if (dice.one_in(8)) asked.payload.push_back(static_cast<uint8_t>(dice.word()));
  if (dice.one_in(8) && !asked.payload.empty()) asked.payload.pop_back();
  if (dice.one_in(16)) asked.kind = static_cast<uint8_t>(dice.word());
  if (dice.one_in(10) && !asked.payload.empty()) asked.payload[dice.below(static_cast<uint32_t>(asked.payload.size()))] ^= static_cast<uint8_t>(1u << dice.below(8));
  return asked;
}

std::vector<uint8_t> encode(const Asked& asked) { return encode_frame(asked.kind, asked.id, asked.payload); }

// Is this a frame that FRAMES.md lets the engine send?
bool well_formed(const Frame& frame) {
  try {
    switch (static_cast<Kind>(frame.kind)) {
      case Kind::ready: return frame.id == 0 && !read_payload<ReadyReply>(frame.payload).engine_version.empty();
      case Kind::claim: return read_payload<ClaimReply>(frame.payload).json.size() > 2;
      case Kind::root: read_payload<RootReply>(frame.payload); return true;
      case Kind::progress: read_payload<ProgressReply>(frame.payload); return true;
      case Kind::done: read_payload<DoneReply>(frame.payload); return true;
      case Kind::opening: {
        const auto opening = read_payload<OpeningReply>(frame.payload);
        return opening.leaf.size() == 1024 && opening.path.size() <= 24;
      }
      case Kind::pong: read_payload<PongReply>(frame.payload); return true;
      case Kind::reading: read_payload<ReadingReply>(frame.payload); return true;
      case Kind::plan: read_payload<PlanReply>(frame.payload); return true;
      case Kind::metric: read_payload<MetricReply>(frame.payload); return true;
      case Kind::segment: return read_payload<SegmentReply>(frame.payload).roots.size() % 32 == 0;
      case Kind::bytes: read_payload<BytesReply>(frame.payload); return true;
      case Kind::error: {
        const uint16_t code = read_payload<ErrorReply>(frame.payload).code;
        return code >= 1 && code <= 18;
      }
      default: return false;
    }
  } catch (const EngineError&) {
    return false;
  }
}

std::vector<std::string> flags_with(const std::string& cpus) { return {"--threads", "2", "--cpu-devices", cpus, "--work"}; }

void run_once(const std::string& program, uint32_t seed) {
  Dice dice(seed);
  const std::string name = "run " + std::to_string(seed);
  EngineProcess engine(program, flags_with(dice.pick<const char*>({"1", "2", "2"})));
  std::map<uint32_t, int> asked, ended;  // by id
  enum Plan { kRequests, kRandomBytes, kCancelStorm, kBadLength, kDeafPeer };
  const Plan plan = dice.pick({kRequests, kRequests, kRequests, kRandomBytes, kCancelStorm, kBadLength, kDeafPeer});
  bool may_end_65 = false;
  if (plan == kRandomBytes) {
    engine.write_bytes(dice.bytes(1 + dice.below(20000)));
    may_end_65 = true;
  } else if (plan == kCancelStorm) {
    for (uint32_t i = 1; i <= 300; ++i) {
      const Asked work{4, 2 * i, fma_payload(i % 5, 0, 5, 1u << 20, 1u << 16, 1u << 20, dice.hash())};
      const Asked cancel{8, 2 * i + 1, word_payload(dice.one_in(4) ? dice.below(600) : 2 * i)};
      for (const Asked& a : {work, cancel}) {
        ++asked[a.id];
        engine.write_bytes(encode(a));
      }
    }
  } else {
    const uint32_t count = 20 + dice.below(150);
    std::vector<uint8_t> batch;
    for (uint32_t i = 0; i < count; ++i) {
      const Asked a = random_request(dice);
      ++asked[a.id];
      const std::vector<uint8_t> bytes = encode(a);
      batch.insert(batch.end(), bytes.begin(), bytes.end());
      if (!dice.one_in(4)) continue;  // frames cut and joined anywhere
      const size_t cut = dice.below(static_cast<uint32_t>(batch.size()) + 1);
      engine.write_bytes({batch.begin(), batch.begin() + static_cast<ptrdiff_t>(cut)});
      batch.erase(batch.begin(), batch.begin() + static_cast<ptrdiff_t>(cut));
      if (plan == kDeafPeer && dice.one_in(10)) {
        engine.close_out();
        break;
      }
    }
    if (plan == kBadLength) {
      for (const auto& tail : {word_payload(dice.pick<uint32_t>({0, 4, (1u << 20) + 65, kMax})), dice.bytes(9)})
        batch.insert(batch.end(), tail.begin(), tail.end());
      may_end_65 = true;
    }
    if (plan != kDeafPeer) engine.write_bytes(batch);
    if (plan == kRequests && dice.one_in(2)) engine.write_bytes({40, 0, 0, 0, 2});  // and then nothing
  }
  // Some answers are waited for, some not: the peer may vanish at any time.
  if (!dice.one_in(2)) usleep(dice.below(30) * 1000);
  engine.close_in();
  const int code = engine.exit_code();
  check(code == 0 || (may_end_65 && code == 65), name + ", plan " + std::to_string(plan) + ": exit code " + std::to_string(code));
  if (plan == kRandomBytes || plan == kDeafPeer) return;
  unsigned frames = 0, malformed = 0, unasked = 0, twice = 0;
  while (const auto frame = engine.receive()) {
    ++frames;
    malformed += !well_formed(*frame);
    if (frame->id != 0) unasked += !asked.contains(frame->id);
    const Kind kind = static_cast<Kind>(frame->kind);
    if (kind == Kind::done || kind == Kind::error || kind == Kind::claim || kind == Kind::pong || kind == Kind::reading ||
        kind == Kind::plan)
      twice += ++ended[frame->id] > asked[frame->id] && frame->id != 0;
  }
  check(frames > 0 && malformed == 0 && unasked == 0 && twice == 0, name + ": frames that came are well formed and were asked for");
}

// Among all the noise an honest question must still be answered.
void test_still_serves(const std::string& program) {
  EngineProcess engine(program, flags_with("2"));
  Dice dice(1);
  for (int i = 0; i < 200; ++i) {
    Asked a = random_request(dice);
    // Long work would only make this wait: what is asked here is refused or small.
    if ((a.kind == 2 || a.kind == 4) && !dice.one_in(4)) a.payload.push_back(0);
    if ((a.kind == 3 || a.kind == 11) && a.payload.size() > 24) memset(a.payload.data(), 0xFF, 4);
    if ((a.kind == 2 || a.kind == 4) && a.payload.size() > 40) memset(a.payload.data() + a.payload.size() - 40, 0xFF, 4);
    a.id |= 1u << 30;
    engine.write_bytes(encode(a));
  }
  engine.send(Kind::ping, 5, {1, 2, 3});
  const auto pong = engine.answer(5);
  check(!pong.empty() && pong.back().payload == std::vector<uint8_t>{1, 2, 3}, "PING is answered among noise");
  engine.close_in();
  check(engine.exit_code() == 0, "and it ends well");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  signal(SIGPIPE, SIG_IGN);
  const uint32_t runs = argc > 2 ? static_cast<uint32_t>(std::stoul(argv[2])) : 100;
  const uint32_t first = argc > 3 ? static_cast<uint32_t>(std::stoul(argv[3])) : 1;
  try {
    if (argc > 4)
      for (const Row& row : read_vectors(argv[4], "work-programs")) programs.push_back(from_hex(row.text("program")));
    test_still_serves(argv[1]);
    for (uint32_t i = 0; i < runs; ++i) run_once(argv[1], first + i);
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  return report();
}
