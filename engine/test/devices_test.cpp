// The built engine over its pipes where several devices meet: virtual CPUs that read each other, the disk,
// readings, and requests that want one session at the same time. As FRAMES.md; what must work, and for each
// what must not.
// Usage: devices_test ENGINE FOLDER_ON_A_DISK
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <map>

#include <filesystem>
#include <fstream>

#include "cpu/host_info.hpp"
#include "cpu/sha256_host.hpp"
#include "kit/checked_engine.hpp"
#include "other_cards.hpp"

using namespace assay;
using namespace assay_test;

namespace {

using Places = std::vector<std::pair<uint32_t, uint32_t>>;
std::string folder;  // where direct I/O works

std::vector<std::string> flags_for(unsigned cpus) { return {"--threads", "2", "--cpu-devices", std::to_string(cpus), "--disk-dir", folder}; }

// Files that the engine has open under the folder with something in them, and their bytes on the disk.
struct OpenFiles {
  unsigned count = 0;
  uint64_t bytes = 0;
};
OpenFiles open_files(pid_t pid) {
  OpenFiles found;
  const std::string fds = "/proc/" + std::to_string(pid) + "/fd";
  DIR* dir = opendir(fds.c_str());
  if (dir == nullptr) return found;
  while (const dirent* entry = readdir(dir)) {
    char target[512] = {};
    const std::string path = fds + "/" + entry->d_name;
    struct stat file {};
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 && std::string(target).starts_with(folder + "/") &&
        stat(path.c_str(), &file) == 0 && file.st_blocks > 0) {
      ++found.count;
      found.bytes += static_cast<uint64_t>(file.st_blocks) * 512;
    }
  }
  closedir(dir);
  return found;
}

unsigned names_in_folder() {
  unsigned count = 0;
  DIR* dir = opendir(folder.c_str());
  while (const dirent* entry = readdir(dir)) count += entry->d_name != std::string(".") && entry->d_name != std::string("..");
  closedir(dir);
  return count;
}

// The root of a pass over leaves of kept rounds as a verifier would make it, from opened leaves alone.
Hash reference_pass(Engine& engine, uint32_t session, uint32_t first_round, uint32_t rounds, uint32_t leaves, const Hash& nonce) {
  const MixKeys keys = mix_keys(nonce.b);
  std::vector<std::vector<uint8_t>> groups;
  for (uint32_t r = 0; r < rounds; ++r) {
    Places places;
    for (uint32_t leaf = 0; leaf < leaves; ++leaf) places.emplace_back(first_round + r, leaf);
    for (const PlacedOpening& placed : openings_in(engine.call(Kind::open, open_payload(session, 0, places)))) {
      const uint32_t q = r * leaves + placed.opening.index;
      uint32_t words[256];
      memcpy(words, placed.opening.leaf.data(), 1024);
      const Digest d = mix_leaf(keys, words, q);
      if (q % 128 == 0) groups.emplace_back(1024);
      memcpy(groups.back().data() + 8 * (q % 128), &d, 8);
    }
  }
  return reference_root(groups);
}

void test_claim() {
  {
    Engine engine(flags_for(3));
    const std::vector<std::string> tail(engine.kinds.end() - 4, engine.kinds.end());
    check(tail == std::vector<std::string>{"cpu", "cpu", "cpu", "disk"}, "three CPUs, then the disk");
    const auto uuids = engine.claimed("uuid"), names = engine.claimed("name"), memory = engine.claimed("memoryBytes"),
               units = engine.claimed("units"), clean = engine.claimed("freeBytes");
    const uint16_t c = engine.cpu;
    check(uuids[c] != uuids[c + 1] && uuids[c + 1] != uuids[c + 2] && uuids[c] != uuids[c + 2], "their uuids differ");
    check(names[c].find("(virtual 1 of 3)") != std::string::npos && names[c + 2].find("(virtual 3 of 3)") != std::string::npos, "and say so");
    check(memory[c] == memory[c + 1] && memory[c] == memory[c + 2], "they share the memory equally");
    check(units[c] == "1" && units[c + 2] == "1", "two threads on three devices are one each");
    check(engine.claim_text.find("\"precisions\":[]") != std::string::npos, "a disk computes nothing");
    check(std::stoull(memory[engine.disk]) >= std::stoull(clean[engine.disk]) && std::stoull(clean[engine.disk]) > 0, "the disk has room");
    Engine one({"--threads", "2", "--no-disk"});
    check(one.kinds.back() == "cpu" && one.disk == 0xFFFF, "--no-disk leaves it out");
    const auto whole = one.claimed("memoryBytes"), all = one.claimed("units");
    check(std::stoull(whole[one.cpu]) / 3 == std::stoull(memory[c]) && all[one.cpu] == "2", "one CPU is three times a third");
    check(one.claimed("name")[one.cpu].find("virtual") == std::string::npos, "a single one is not virtual");
  }
  {
    Engine engine({"--threads", "2", "--disk-dir", "/proc"});
    check(engine.disk == 0xFFFF && engine.cpu != 0xFFFF, "no disk where no file can be made, and the rest goes on");
  }
  {
    Engine engine({"--threads", "2", "--disk-dir", "/dev/shm"});
    check(engine.disk == 0xFFFF, "memory is no disk");
  }
  for (const auto& flags : std::vector<std::vector<std::string>>{
           {"--cpu-devices", "0"}, {"--cpu-devices", "65"}, {"--cpu-devices"}, {"--disk-dir"}, {"--disk-dir", ""}, {"--no-disk", "x"}, {"--disk-writes", "-1"}, {"--disk-writes"}, {"--toy-pci"}}) {
    EngineProcess engine(program, flags);
    check(engine.exit_code() == 64, "exit 64 for " + flags[0]);
  }
  Engine most({"--threads", "2", "--cpu-devices", "64", "--disk-dir", folder});
  check(std::count(most.kinds.begin(), most.kinds.end(), "cpu") == 64, "64 virtual devices");
}

// Every pair of devices, the pass over the diagonal being the device's own.
void test_peers() {
  Engine engine(flags_for(3));
  const uint32_t leaves = 256 * 2;
  for (uint16_t owner = 0; owner < 3; ++owner)
    check(is_done(engine.call(Kind::gemm, gemm_payload(owner, static_cast<uint16_t>(engine.cpu + owner), 0, 256, 1024, 256, 4, 3, seed_of(owner))), 4),
          "a GEMM on each");
  for (uint16_t owner = 0; owner < 3; ++owner) {
    const Hash want = reference_pass(engine, owner, 1, 3, leaves, seed_of(50));
    for (uint16_t reader = 0; reader < 3; ++reader) {
      const auto passes = engine.call(Kind::stream, stream_payload(owner, static_cast<uint16_t>(engine.cpu + reader), 0, 2, seed_of(50)));
      const auto roots = roots_in(passes);
      if (!check(is_done(passes, 2) && roots.size() == 2, "a pass over each by each")) continue;
      check(same(roots[0], want) && !same(roots[1], want), "who reads does not change the digests");
      const Places groups = {{1, 0}, {0, 11}};
      check_openings(engine.call(Kind::open, open_payload(owner, 1, groups)), groups, 3 * leaves / 128, roots, "peer's STREAM");
    }
  }
  // A chase names no reader: each session's own device follows it, all at once, and a peer's STREAM waits its
  // turn.
  std::vector<uint32_t> chases;
  for (uint16_t owner = 0; owner < 3; ++owner) {
    chases.push_back(engine.next_id());
    engine.send(Kind::chase, chases.back(), chase_payload(owner, 0, 4, seed_of(50)));
    chases.push_back(engine.next_id());
    engine.send(Kind::stream, chases.back(), stream_payload(owner, static_cast<uint16_t>(engine.cpu + (owner + 1) % 3), 0, 1, seed_of(50)));
  }
  std::map<uint32_t, std::vector<Frame>> chased;
  for (size_t ended = 0; ended < chases.size();) {
    const auto frame = engine.receive();
    if (!frame) break;
    chased[frame->id].push_back(*frame);
    ended += frame->kind == static_cast<uint8_t>(Kind::done) || frame->kind == static_cast<uint8_t>(Kind::error);
  }
  for (const uint32_t id : chases) check(is_done(chased[id], 1), "chases beside peers' STREAMs");
  check(!same(roots_in(chased[chases[0]])[0], roots_in(chased[chases[2]])[0]), "each over its own bytes");
  // The newest of them.
  const Hash newest = reference_pass(engine, 1, 2, 2, leaves, seed_of(51));
  for (const uint16_t reader : {engine.cpu, static_cast<uint16_t>(engine.cpu + 1)}) {
    const auto some = engine.call(Kind::stream, stream_payload(1, reader, 2, 1, seed_of(51)));
    check(is_done(some, 1) && same(roots_in(some)[0], newest), "the newest two rounds");
    check(error_code(engine.call(Kind::open, open_payload(1, 1, {{0, 8}}))) == kBadRequest, "a group beyond the newest two");
    const Places last = {{0, 7}};
    check_openings(engine.call(Kind::open, open_payload(1, 1, last)), last, 8, roots_in(some), "STREAM of the newest");
    const auto more = engine.call(Kind::stream, stream_payload(1, reader, 1000, 1, seed_of(50)));
    check(is_done(more, 1) && same(roots_in(more)[0], reference_pass(engine, 1, 1, 3, leaves, seed_of(50))), "more than are kept is all");
  }
  check(error_code(engine.call(Kind::stream, stream_payload(1, 999, 0, 1, seed_of(1)))) == kNoDevice, "a reader that is not there");
  check(error_code(engine.call(Kind::stream, stream_payload(9, engine.cpu, 0, 1, seed_of(1)))) == kNoSession, "a peer's session that is not there");
  std::vector<uint8_t> reserved = stream_payload(1, engine.cpu, 0, 1, seed_of(1));
  reserved[6] = 1;
  check(error_code(engine.call(Kind::stream, reserved)) == kBadFrame, "a reserved byte that is not 0");
  if (engine.cpu > 0)  // a GPU is there
    check(error_code(engine.call(Kind::stream, stream_payload(1, 0, 0, 1, seed_of(1)))) == kUnsupported, "a reader of another kind");
}

// Requests on one session from three queues at once.
void test_turns() {
  Engine engine(flags_for(3));
  const auto at = [&](unsigned i) { return static_cast<uint16_t>(engine.cpu + i); };
  const uint32_t gemm = engine.next_id(), early = engine.next_id();
  engine.send(Kind::gemm, gemm, gemm_payload(1, at(0), 0, 256, 1024, 512, 6, 4, seed_of(1)));
  engine.send(Kind::stream, early, stream_payload(1, at(1), 0, 1, seed_of(2)));
  check(error_code(engine.call(Kind::release, word_payload(1))) == kBusy, "a session that a peer waits for is in use");
  const auto passes = engine.answer(early);
  check(is_done(passes, 1), "a peer's STREAM behind the GEMM");
  check(same(roots_in(passes).at(0), reference_pass(engine, 1, 2, 4, 512, seed_of(2))), "digests the finished rounds");
  // A GEMM that ends without a session takes the peer's STREAM with it.
  const uint32_t failing = engine.next_id(), lost = engine.next_id();
  engine.send(Kind::gemm, failing, gemm_payload(2, at(0), 0, 65536, 65536, 128, 1u << 20, 1u << 20, seed_of(1)));
  engine.send(Kind::stream, lost, stream_payload(2, at(1), 0, 1, seed_of(2)));
  check(error_code(engine.answer(lost)) == kNoSession, "no session, no STREAM");

  std::vector<uint32_t> ids;
  std::map<uint32_t, std::vector<Frame>> answers;
  for (uint32_t i = 0; i < 8; ++i) {
    ids.push_back(engine.next_id());
    engine.send(Kind::stream, ids.back(), stream_payload(1, i % 4 == 3 ? at(0) : at(i % 3), 1 + i % 4, 3, seed_of(60 + i % 4)));
    ids.push_back(engine.next_id());
    engine.send(Kind::open, ids.back(), open_payload(1, 0, {{i % 6, i}}));
  }
  const uint32_t copy = engine.next_id();
  engine.send(Kind::copy, copy, copy_payload(1, engine.disk, 0, seed_of(3)));
  ids.push_back(copy);
  const uint32_t release = engine.next_id();
  engine.send(Kind::release, release, word_payload(1));
  ids.push_back(release);
  size_t ended = 0;
  while (ended < ids.size()) {
    const auto frame = engine.receive();
    if (!frame) break;
    answers[frame->id].push_back(*frame);
    ended += frame->kind == static_cast<uint8_t>(Kind::done) || frame->kind == static_cast<uint8_t>(Kind::error);
  }
  std::map<uint32_t, Hash> by_newest;
  for (uint32_t i = 0; i < 8; ++i) {
    const auto& frames = answers[ids[2 * i]];
    const auto roots = roots_in(frames);
    if (!check(roots.size() == 3, "each STREAM among many is whole")) continue;
    const auto [place, fresh] = by_newest.emplace(i % 4, roots[0]);
    check(fresh || same(place->second, roots[0]), "and gives what the others gave");
    check(is_done(answers[ids[2 * i + 1]], 1), "each OPEN among many");
  }
  check(is_done(answers[copy], 1), "and the COPY");
  check(error_code(answers[release]) == kBusy, "RELEASE while others read it");
  check(is_done(engine.call(Kind::release, word_payload(1)), 0), "then it is released");
  check(error_code(engine.call(Kind::stream, stream_payload(1, at(1), 0, 1, seed_of(1)))) == kNoSession, "and gone for its peers");
}

// A cancelled chain leaves a broken slot: a peer and a disk get it made whole by its own device.
void test_broken_rounds() {
  for (const bool to_disk : {false, true}) {
    Engine engine(flags_for(2));
    const uint32_t id = engine.next_id();
    engine.send(Kind::gemm, id, gemm_payload(1, engine.cpu, 2, 512, 1024, 512, 1u << 20, 3, seed_of(5)));
    unsigned roots = 0;
    while (const auto frame = engine.receive()) {
      if (frame->id != id) continue;
      roots += frame->kind == static_cast<uint8_t>(Kind::root);
      if (frame->kind == static_cast<uint8_t>(Kind::root) && roots == 4) engine.send(Kind::cancel, engine.next_id(), word_payload(id));
      if (frame->kind == static_cast<uint8_t>(Kind::done)) break;
    }
    const auto frames = to_disk ? engine.call(Kind::copy, copy_payload(1, engine.disk, 0, seed_of(6)))
                                : engine.call(Kind::stream, stream_payload(1, static_cast<uint16_t>(engine.cpu + 1), 0, 1, seed_of(6)));
    if (check(is_done(frames, 1), "a cancelled chain is read by another device"))
      check(same(roots_in(frames)[0], reference_pass(engine, 1, roots - 3, 3, 1024, seed_of(6))), "whose digests are those of its rounds");
  }
}

void test_disk() {
  Engine engine(flags_for(2));
  const uint32_t leaves = 128;  // the smallest round: a group of its own
  check(is_done(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 40, 37, seed_of(1))), 40), "a GEMM to copy");
  check(is_done(engine.call(Kind::fma, fma_payload(2, engine.cpu, 5, 256, 512, 1, seed_of(1))), 1), "an FMA beside it");
  check(error_code(engine.call(Kind::stream, stream_payload(1, engine.disk, 0, 1, seed_of(1)))) == kBadRequest, "STREAM from a disk without a COPY");
  check(error_code(engine.call(Kind::open, open_payload(1, 2, {{0, 0}}))) == kBadRequest, "digests of no COPY");
  check(error_code(engine.call(Kind::copy, copy_payload(2, engine.disk, 0, seed_of(1)))) == kBadRequest, "COPY of an FMA");
  check(error_code(engine.call(Kind::copy, copy_payload(3, engine.disk, 0, seed_of(1)))) == kNoSession, "COPY of no session");
  check(error_code(engine.call(Kind::copy, copy_payload(1, engine.cpu, 0, seed_of(1)))) == kUnsupported, "COPY to a CPU");
  check(error_code(engine.call(Kind::copy, copy_payload(1, 999, 0, seed_of(1)))) == kNoDevice, "COPY to no device");
  check(error_code(engine.call(Kind::gemm, gemm_payload(4, engine.disk, 0, 128, 512, 128, 1, 1, seed_of(1)))) == kUnsupported, "a GEMM on a disk");
  check(error_code(engine.call(Kind::fma, fma_payload(4, engine.disk, 5, 256, 512, 1, seed_of(1)))) == kUnsupported, "an FMA on a disk");
  std::vector<uint8_t> reserved = copy_payload(1, engine.disk, 0, seed_of(1));
  reserved[7] = 1;
  check(error_code(engine.call(Kind::copy, reserved)) == kBadFrame, "a reserved byte of COPY that is not 0");
  reserved.pop_back();
  check(error_code(engine.call(Kind::copy, reserved)) == kBadFrame, "a short COPY");

  const auto copied = engine.call(Kind::copy, copy_payload(1, engine.disk, 0, seed_of(9)));
  const auto root = roots_in(copied);
  if (!check(is_done(copied, 1) && root.size() == 1, "COPY sends its root and DONE")) return;
  check(same(root[0], reference_pass(engine, 1, 3, 37, leaves, seed_of(9))), "which is a pass over the kept rounds");
  check(open_files(engine.pid()).count == 1 && open_files(engine.pid()).bytes >= 37u * 131072, "in a file of their size");
  check(names_in_folder() == 0, "that has no name");
  const Places groups = {{0, 36}, {0, 0}, {0, 17}};
  check_openings(engine.call(Kind::open, open_payload(1, 2, groups)), groups, 37, root, "COPY");
  check(error_code(engine.call(Kind::open, open_payload(1, 2, {{1, 0}}))) == kBadRequest, "a second pass of a COPY");
  check(error_code(engine.call(Kind::open, open_payload(1, 2, {{0, 37}}))) == kBadRequest, "a group beyond the COPY");
  check(error_code(engine.call(Kind::open, open_payload(1, 5, {{0, 0}}))) == kBadRequest, "OPEN of another kind of thing");

  const auto passes = engine.call(Kind::stream, stream_payload(1, engine.disk, 0, 3, seed_of(9)));
  const auto answers = roots_in(passes);
  check(is_done(passes, 3) && answers.size() == 3 && same(answers[0], root[0]), "STREAM from the disk gives what memory gives");
  check_openings(engine.call(Kind::open, open_payload(1, 1, {{2, 5}, {0, 36}})), {{2, 5}, {0, 36}}, 37, answers, "disk's STREAM");
  const auto some = engine.call(Kind::stream, stream_payload(1, engine.disk, 5, 1, seed_of(8)));
  check(is_done(some, 1) && same(roots_in(some)[0], reference_pass(engine, 1, 35, 5, leaves, seed_of(8))), "STREAM over the end of a copy");

  // A second COPY replaces the first; fewer rounds than are asked for are not there.
  const auto fewer = engine.call(Kind::copy, copy_payload(1, engine.disk, 2, seed_of(7)));
  check(is_done(fewer, 1) && same(roots_in(fewer)[0], reference_pass(engine, 1, 38, 2, leaves, seed_of(7))), "COPY of the newest two");
  check(open_files(engine.pid()).count == 1 && open_files(engine.pid()).bytes < 37u * 131072, "takes the place of the first");
  check(error_code(engine.call(Kind::stream, stream_payload(1, engine.disk, 0, 1, seed_of(1)))) == kBadRequest, "STREAM of more than the copy has");
  check(is_done(engine.call(Kind::stream, stream_payload(1, engine.disk, 2, 1, seed_of(1))), 1), "STREAM of what it has");
  check(error_code(engine.call(Kind::open, open_payload(1, 2, {{0, 2}}))) == kBadRequest, "the first COPY's digests are gone");
  check(is_done(engine.call(Kind::release, word_payload(1)), 0) && open_files(engine.pid()).count == 0, "RELEASE frees the room");
  engine.close_in();
  check(engine.exit_code() == 0, "and it ends well");
}

// The owner's limit on what is written: all copies of one engine count, also those that are gone.
void test_disk_limit() {
  std::vector<std::string> flags = flags_for(1);
  flags.insert(flags.end(), {"--disk-writes", std::to_string(3 * 131072)});
  Engine engine(flags);
  check(is_done(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 4, 4, seed_of(1))), 4), "rounds to copy");
  check(error_code(engine.call(Kind::copy, copy_payload(1, engine.disk, 0, seed_of(1)))) == kNoMemory, "four rounds are more than three");
  check(is_done(engine.call(Kind::copy, copy_payload(1, engine.disk, 2, seed_of(1))), 1), "two are not");
  check(error_code(engine.call(Kind::copy, copy_payload(1, engine.disk, 2, seed_of(1)))) == kNoMemory, "two again are");
  check(is_done(engine.call(Kind::copy, copy_payload(1, engine.disk, 1, seed_of(1))), 1), "the last of them");
  check(is_done(engine.call(Kind::release, word_payload(1)), 0), "what is freed");
  check(is_done(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 128, 512, 128, 1, 1, seed_of(1))), 1), "is written anew");
  check(error_code(engine.call(Kind::copy, copy_payload(1, engine.disk, 0, seed_of(1)))) == kNoMemory, "only in the owner's eyes");
}

// Long enough to be caught in the middle: 128 MiB on the disk, as many passes as there may be.
void test_disk_ends() {
  for (const bool killed : {false, true}) {
    Engine engine(flags_for(1));
    check(is_done(engine.call(Kind::gemm, gemm_payload(1, engine.cpu, 0, 8192, 8192, 128, 1, 1, seed_of(1))), 1), "128 MiB to copy");
    const uint32_t copy = engine.next_id(), behind = engine.next_id();
    engine.send(Kind::copy, copy, copy_payload(1, engine.disk, 0, seed_of(1)));
    engine.send(Kind::stream, behind, stream_payload(1, engine.disk, 0, 65536, seed_of(1)));
    check(error_code(engine.call(Kind::release, word_payload(1))) == kBusy, "RELEASE during a COPY");
    check(is_done(engine.answer(copy), 1), "a large COPY");
    if (killed) {
      check(open_files(engine.pid()).count == 1, "a file is there");
      kill(engine.pid(), SIGKILL);
      check(engine.exit_code() == 128 + SIGKILL && names_in_folder() == 0, "a killed engine leaves no file");
      continue;
    }
    engine.send(Kind::cancel, engine.next_id(), word_payload(behind));
    const auto stopped = engine.answer(behind);
    const auto count = static_cast<uint32_t>(roots_in(stopped).size());
    check(count < 65536 && is_done(stopped, count, 1), "a STREAM from the disk is cancelled");
    const uint32_t again = engine.next_id();
    engine.send(Kind::copy, again, copy_payload(1, engine.disk, 0, seed_of(2)));
    engine.send(Kind::cancel, engine.next_id(), word_payload(again));
    const auto cut = engine.answer(again);
    check(is_done(cut, 0, 1) || is_done(cut, 1), "a COPY is cancelled, or was done before the CANCEL came");
    // One that had begun took the place of the one before it; one that had not left it alone. Its file tells.
    const bool stands = open_files(engine.pid()).count == 1;
    check((error_code(engine.call(Kind::open, open_payload(1, 2, {{0, 0}}))) == kBadRequest) == !stands, "a cancelled COPY leaves nothing behind");
    engine.send(Kind::copy, engine.next_id(), copy_payload(1, engine.disk, 0, seed_of(2)));
    engine.close_in();
    check(engine.exit_code() == 0 && names_in_folder() == 0, "the end of stdin during a COPY");
  }
}

void test_readings() {
  Engine engine(flags_for(2));
  engine.send(Kind::fma, 900, fma_payload(1, engine.cpu, 5, 1u << 20, 1u << 20, 1u << 20, seed_of(1)));
  for (uint16_t device = 0; device < engine.kinds.size(); ++device) {
    const auto reading = engine.call(Kind::read, device_payload(device));
    check(reading.size() == 1 && reading[0].kind == static_cast<uint8_t>(Kind::reading) && reading[0].payload.size() == 20, "READING while work runs");
    if (reading.empty() || reading[0].payload.size() != 20) continue;
    const auto said = read_payload<ReadingReply>(reading[0].payload);
    printf("reading of device %u (%s): %u MHz, %u MHz, %u mW, %u C, reasons %x\n", device, engine.kinds[device].c_str(),
           said.core_mhz, said.memory_mhz, said.power_mw, said.temperature_c, said.throttle);
    check(said.core_mhz < 20000 && said.temperature_c < 150, "of numbers that can be");
    if (engine.kinds[device] == "disk")
      check(said.core_mhz == 0 && said.memory_mhz == 0 && said.power_mw == 0, "a disk says nothing");
  }
  check(error_code(engine.call(Kind::read, device_payload(999))) == kNoDevice, "READ of no device");
  check(error_code(engine.call(Kind::read, {1})) == kBadFrame && error_code(engine.call(Kind::read, {0, 0, 0})) == kBadFrame, "READ of a wrong size");
  engine.send(Kind::read, 900, device_payload(engine.cpu));
  check(error_code(engine.answer(900)) == kBadRequest, "READ with an id in use");
  std::vector<uint32_t> ids;
  for (int i = 0; i < 40; ++i) {
    ids.push_back(engine.next_id());
    engine.send(Kind::read, ids.back(), device_payload(engine.cpu));
  }
  unsigned readings = 0;
  while (readings < ids.size()) {
    const auto frame = engine.receive();
    if (!frame) break;
    if (frame->kind == static_cast<uint8_t>(Kind::reading)) check(frame->id == ids[readings++], "readings come in the order asked");
  }
  engine.close_in();
  check(engine.exit_code() == 0, "and it ends while work runs");
}

void write_line(const std::string& path, const std::string& line) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << line << "\n";
}

// A bus as the kernel shows it, in a folder.
struct Bus {
  std::string at = folder + "/pci";
  void add(const std::string& address, const char* vendor, const char* device, const char* kind) const {
    write_line(at + "/" + address + "/vendor", vendor);
    write_line(at + "/" + address + "/device", device);
    write_line(at + "/" + address + "/class", kind);
  }
  std::string told() const {
    std::string text;
    for (const OtherCard& card : read_other_cards(at)) text += std::to_string(card.count) + "x" + card.pci_id + "(" + card.name + ") ";
    return text;
  }
  ~Bus() { std::filesystem::remove_all(at); }
};

void test_other_cards() {
  const Bus bus;
  check(bus.told().empty(), "no bus, no cards");
  // Of a desktop: what is inside processors, a server's own screen, NVIDIA's card, an NPU.
  bus.add("0000:00:02.0", "0x8086", "0xa780", "0x030000");
  bus.add("0000:00:0b.0", "0x8086", "0x7d1d", "0x120000");
  bus.add("0000:00:01.0", "0x1002", "0x130f", "0x030000");
  bus.add("0000:c1:00.0", "0x1002", "0x164e", "0x030000");
  bus.add("0000:c1:00.2", "0x1022", "0x1649", "0x108000");
  bus.add("0000:0a:00.0", "0x10de", "0x2335", "0x030200");
  bus.add("0000:0b:00.0", "0x1a03", "0x2000", "0x030000");
  bus.add("0000:0c:00.0", "0x1002", "0xab28", "0x040300");
  check(bus.told().empty(), "graphics inside a processor are no card, nor is a card's sound: " + bus.told());
  for (const char* address : {"0000:05:00.0", "0000:15:00.0", "0002:00:00.0"}) bus.add(address, "0x1002", "0x74a1", "0x120000");
  write_line(bus.at + "/0000:15:00.0/product_name", "AMD Instinct MI300X OAM");
  bus.add("0000:05:02.0", "0x1002", "0x74b5", "0x120000");
  std::filesystem::create_directories(bus.at + "/0000:05:02.0/physfn");
  bus.add("0000:21:00.0", "0x1002", "0x744c", "0x030000");
  bus.add("0000:21:00.2", "0x1002", "0x7446", "0x0c0330");
  bus.add("0000:31:00.0", "0x8086", "0x0bda", "0x038000");
  bus.add("0000:00:05.0", "0x8086", "0xe20b", "0x030000");
  bus.add("0000:41:00.0", "0x1da3", "0x1060", "0x120000");
  check(bus.told() == "1x8086:e20b() 3x1002:74a1() 1x1002:744c() 1x8086:0bda() 1x1da3:1060() ", "cards of other vendors, counted: " + bus.told());
  write_line(bus.at + "/0000:05:00.0/product_name", "AMD \"Instinct\"");
  Engine engine({"--threads", "2", "--no-disk", "--toy-pci", bus.at});
  check(engine.claim_text.find(",\"unsupported\":[{\"pciId\":\"8086:e20b\",\"name\":\"\",\"count\":1},"
                               "{\"pciId\":\"1002:74a1\",\"name\":\"AMD \\\"Instinct\\\"\",\"count\":3},") != std::string::npos,
        "the claim names them: " + engine.claim_text);
  check(engine.claim_text.find("\"hidden\"") == std::string::npos, "and nothing of this host is hidden");
  for (int i = 0; i < 20; ++i) bus.add("0001:" + std::to_string(10 + i) + ":00.0", "0x1002", ("0x73" + std::to_string(10 + i)).c_str(), "0x030000");
  check(read_other_cards(bus.at).size() == 8, "of eight kinds at most");
}

// A container without /proc and /sys, and one that shows no more than its own limits.
void test_hidden_host() {
  const std::string at = folder + "/host";
  const HostFolders none{at + "/proc", at + "/sys"};
  const HostInfo blind = read_host_info(none), host = read_host_info();
  check(blind.hidden == std::vector<std::string>{"/proc", "/sys"} && host.hidden.empty(), "what is hidden is named");
  check(blind.ram_bytes > 0 && blind.ram_bytes >= host.ram_bytes, "memory is known without /proc");
  check(blind.ram_free_bytes > 0 && blind.ram_free_bytes <= uint64_t{2} << 30, "with a part of it free, as nobody tells the limit");
  check(blind.cpu_name == host.cpu_name, "the CPU names itself: " + blind.cpu_name + " and " + host.cpu_name);
  check(blind.usable_cores >= 1, "and has cores");
  for (const std::string& file : {at + "/sys/fs/cgroup/memory.max", at + "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    write_line(file, "1073741824");
    std::filesystem::create_directories(at + "/sys/devices");
    const HostInfo limited = read_host_info(none);
    check(limited.ram_bytes == uint64_t{1} << 30 && limited.ram_free_bytes <= uint64_t{1} << 30, "a limit at the root counts: " + file);
    check(limited.hidden == std::vector<std::string>{"/proc"}, "and /sys is not hidden");
    std::filesystem::remove_all(at);
  }
  write_line(at + "/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB");
  check(read_host_info(none).ram_free_bytes == uint64_t{4} << 30, "a kernel without control groups has no limit to hide");
  std::filesystem::remove_all(at);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  program = argv[1];
  folder = std::string(argv[2]) + "/devices-test-" + std::to_string(getpid());
  signal(SIGPIPE, SIG_IGN);
  try {
    if (mkdir(folder.c_str(), 0700) != 0) throw std::runtime_error("cannot make " + folder);
    const std::unique_ptr<char, decltype(&free)> real(realpath(folder.c_str(), nullptr), &free);
    folder = real.get();
    test_claim();
    test_other_cards();
    test_hidden_host();
    test_peers();
    test_turns();
    test_broken_rounds();
    test_disk();
    test_disk_limit();
    test_disk_ends();
    test_readings();
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  rmdir(folder.c_str());
  return report();
}
