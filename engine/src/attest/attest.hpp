// Signed reports of this host, docs/attestation.md: of GPUs through NVML, of switches through NSCQ, of a
// confidential guest's CPU through the kernel. Fetches bytes and judges none. What a host has not got is told
// in words: by which path or which answer.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "core/sha256.hpp"
#include "server/server.hpp"

namespace assay {

// As REPORT_PARTS of frame-table.ts counts.
enum class ReportPart : uint8_t { nothing = 0, report = 1, chain = 2, quote = 3, certificates = 4, provider = 5 };

// Told every part as it is there. Longer ones than a frame holds are told as nothing.
using TellPart = std::function<void(uint16_t index, ReportPart part, std::span<const uint8_t> bytes)>;

// All GPUs that NVML knows, in its order.
void tell_device_reports(const Hash& nonce, const std::atomic<bool>& stop, const TellPart& tell);

// All NVSwitches in protected PCIe mode that NSCQ knows, in its order.
void tell_switch_reports(const Hash& nonce, const std::atomic<bool>& stop, const TellPart& tell);

// What plays the kernel for tests; its answers are marked as a toy's. Empty: the kernel's own.
struct GuestToys {
  std::string tsm;    // a folder, for configfs-tsm
  std::string azure;  // a folder of sockets, for Azure's TPM and metadata service
};

// The kernel gives a quote to root alone, and this program gives up being root. So one small process, made
// before that, keeps its rights and does nothing but hand on 64 bytes and what comes back. Where the host has
// nothing to ask there is no process.
class GuestDoor {
 public:
  GuestDoor() = default;
  explicit GuestDoor(const GuestToys& toys);
  ~GuestDoor();
  GuestDoor(const GuestDoor&) = delete;
  GuestDoor& operator=(const GuestDoor&) = delete;

  // `data`: what the CPU is to sign, 64 bytes.
  void tell_quote(const uint8_t* data, const std::atomic<bool>& stop, const TellPart& tell);

 private:
  void shut();
  int ask_ = -1, answer_ = -1;
  std::string why_none_ = "this engine was started without a way to ask the CPU";
};

void attest_command(Server& server, uint32_t id, const AttestRequest& asked, GuestDoor& guest);

}  // namespace assay
