// ATTEST: reports as they come, then DONE. Beside everything else, like READ.
#include "attest.hpp"

namespace assay {

namespace {
constexpr uint8_t kDevices = 0, kGuest = 1, kSwitches = 2;
constexpr size_t kMaxReasonBytes = 300;
}

void attest_command(Server& server, uint32_t id, const AttestRequest& asked, GuestDoor& guest) {
  if (asked.what > kSwitches) throw EngineError(ErrorCode::bad_request, "what to attest is not known");
  const auto run = [&server, &guest, asked](Device*, uint32_t, Request& r) -> std::optional<Final> {
    uint32_t count = 0;
    const auto send = [&](uint16_t index, ReportPart part, std::vector<uint8_t> bytes) {
      server.send(r.id, ReportReply{index, static_cast<uint8_t>(part), std::move(bytes)});
      ++count;
    };
    const auto say = [&](uint16_t index, const std::string& why) {
      const std::string text = clean_text(why, kMaxReasonBytes);
      send(index, ReportPart::nothing, {text.begin(), text.end()});
    };
    const TellPart tell = [&](uint16_t index, ReportPart part, std::span<const uint8_t> bytes) {
      if (part == ReportPart::nothing) return say(index, std::string(bytes.begin(), bytes.end()));
      if (bytes.empty()) return say(index, "an empty answer");
      if (bytes.size() > kMaxReportBytes) return say(index, "an answer of " + std::to_string(bytes.size()) + " bytes");
      send(index, part, {bytes.begin(), bytes.end()});
    };
    if (asked.what == kDevices) {
      tell_device_reports(asked.nonce, r.stop, tell);
    } else if (asked.what == kSwitches) {
      tell_switch_reports(asked.nonce, r.stop, tell);
    } else {
      uint8_t data[64];
      std::copy_n(asked.nonce.b, 32, data);
      std::copy_n(asked.set.b, 32, data + 32);
      guest.tell_quote(data, r.stop, tell);
    }
    return done(count, r.stop);
  };
  server.submit_aside(std::make_shared<Request>(id, run));
}

}  // namespace assay
