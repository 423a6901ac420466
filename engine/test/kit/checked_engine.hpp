// A child engine that has said READY and CLAIM, and openings checked against roots: for the tests of
// FRAMES.md.
#pragma once
#include "engine_process.hpp"
#include "paths.hpp"

namespace assay_test {

inline std::string program;  // the engine under test
enum : uint16_t { kBadFrame = 1, kBadRequest, kNoDevice, kNoMemory, kBusy, kNoSession, kFailed, kCancelled, kUnsupported, kVersion, kBadProgram, kTensorSize, kTensorRange };

struct Engine : EngineProcess {
  explicit Engine(std::vector<std::string> flags = {"--threads", "2"}) : EngineProcess(program, std::move(flags)) {
    const auto ready = receive();
    check(ready && ready->kind == static_cast<uint8_t>(Kind::ready) && ready->id == 0 &&
              read_payload<assay::ReadyReply>(ready->payload).version == assay::kProtocolVersion,
          "READY comes first");
    const auto claim = call(Kind::hello, payload_of(assay::HelloRequest{assay::kProtocolVersion}));
    claim_text = claim.empty() ? "" : std::string(claim.back().payload.begin(), claim.back().payload.end());
    for (size_t at = 0; (at = claim_text.find("\"kind\":\"", at)) != std::string::npos;) {
      at += 8;
      kinds.push_back(claim_text.substr(at, claim_text.find('"', at) - at));
    }
    cpu = index_of("cpu");
    disk = index_of("disk");
  }
  // The first of this kind; one that is not there when there is none.
  uint16_t index_of(const std::string& kind) const {
    for (size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i] == kind) return static_cast<uint16_t>(i);
    return 0xFFFF;
  }
  // The values of a field, one for each device.
  std::vector<std::string> claimed(const std::string& field) const {
    std::vector<std::string> values;
    const size_t devices = claim_text.find("\"devices\":");
    for (size_t at = devices; at != std::string::npos && (at = claim_text.find("\"" + field + "\":", at)) != std::string::npos;) {
      at += field.size() + 3;
      const size_t end = claim_text[at] == '"' ? claim_text.find('"', at + 1) + 1 : claim_text.find_first_of(",}", at);
      values.push_back(claim_text.substr(at, end - at));
    }
    return values;
  }
  std::string claim_text;
  std::vector<std::string> kinds;
  uint16_t cpu = 0, disk = 0;
};

inline void check_openings(const std::vector<Frame>& frames, const std::vector<std::pair<uint32_t, uint32_t>>& places, uint64_t leaves,
                    const std::vector<assay::Hash>& roots, const std::string& what) {
  const auto openings = openings_in(frames);
  if (!check(openings.size() == places.size() && is_done(frames, static_cast<uint32_t>(places.size())), what + ": all are opened")) return;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [round, opening] = openings[i];
    check(round == places[i].first && opening.index == places[i].second && leads_to(opening, leaves, roots[round]),
          what + ": opening " + std::to_string(i));
    check(roots.size() < 2 || !leads_to(opening, leaves, roots[(round + 1) % roots.size()]), what + ": leads to no other root");
  }
}

}  // namespace assay_test
