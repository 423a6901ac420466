// Reports of NVSwitches through NSCQ, by dlopen: hosts without it start as well. Names, sizes and paths are
// those of NVIDIA's interface. Only switches in protected PCIe mode are asked: GPUs outside of it name no
// switches, and a switch that nobody names is no proof of one machine but a contradiction.
#include <dlfcn.h>

#include <cstring>

#include "attest.hpp"

namespace assay {

namespace {

constexpr const char* kNscq = "libnvidia-nscq.so.2";
constexpr size_t kMostSwitches = 16;
constexpr int8_t kModeOn = 1, kModeLocked = 3;

struct SwitchUuid {
  uint8_t bytes[16];
};
struct SwitchLabel {
  char text[64];
};
struct SwitchReport {
  uint32_t size;
  uint8_t bytes[0x2000];
};
struct SwitchChain {
  uint8_t bytes[0x1400];
  uint32_t size;
};
struct SessionResult {
  int8_t code;
  void* session;
};
using Callback = void (*)();

// What an observer was told; `code` is its own result, beside that of the call.
template <typename Value>
struct Told {
  int calls = 0;
  int8_t code = 0;
  Value value{};
};

template <typename Value>
void on_value(const SwitchUuid*, int8_t code, Value value, void* to) {
  auto* told = static_cast<Told<Value>*>(to);
  ++told->calls;
  told->code = code;
  told->value = value;
}

class Nscq {
 public:
  Nscq() : library_(dlopen(kNscq, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      why_ = std::string(kNscq) + " is not there";
      return;
    }
    SessionResult (*create)(uint32_t) = nullptr;
    for (const auto& [name, found] :
         {std::pair{"nscq_session_create", find("nscq_session_create", create)},
          {"nscq_session_path_observe", find("nscq_session_path_observe", observe_)},
          {"nscq_session_set_input", find("nscq_session_set_input", set_input_)},
          {"nscq_uuid_to_label", find("nscq_uuid_to_label", to_label_)}})
      if (!found && why_.empty()) why_ = std::string(kNscq) + " has no " + name;
    if (!why_.empty()) return;
    const SessionResult made = create(1);  // with all devices
    if (made.code < 0 || made.session == nullptr) why_ = answer("nscq_session_create", made.code);
    session_ = made.session;
  }

  const std::string& why() const { return why_; }
  static std::string answer(const std::string& call, int code) { return call + " answered " + std::to_string(code); }

  // What is wrong, or nothing.
  std::string labels(std::vector<std::string>& out) const {
    struct Found {
      const Nscq* self;
      std::vector<std::string>* labels;
    } found{this, &out};
    using OnUuid = void (*)(const SwitchUuid*, int8_t, const SwitchUuid*, void*);
    const OnUuid on_uuid = [](const SwitchUuid*, int8_t code, const SwitchUuid* uuid, void* to) {
      auto* into = static_cast<Found*>(to);
      SwitchLabel label{};
      if (code < 0 || uuid == nullptr || into->labels->size() >= kMostSwitches || into->self->to_label_(uuid, &label, 0) < 0) return;
      into->labels->emplace_back(label.text, strnlen(label.text, sizeof label.text));
    };
    const int8_t code = observe_(session_, "/drv/nvswitch/{device}/uuid", reinterpret_cast<Callback>(on_uuid), &found, 0);
    return code < 0 ? answer("/drv/nvswitch/{device}/uuid", code) : "";
  }

  template <typename Value>
  std::string read(const std::string& label, const char* path, Value& out) const {
    Told<Value> told;
    const int8_t code = observe_(session_, ("/" + label + path).c_str(), reinterpret_cast<Callback>(on_value<Value>), &told, 0);
    if (code < 0 || told.calls != 1 || told.code < 0) return answer(path, code < 0 ? code : told.code);
    out = told.value;
    return "";
  }

  int8_t set_nonce(const Hash& nonce) const {
    uint8_t bytes[32];
    std::copy_n(nonce.b, sizeof bytes, bytes);
    return set_input_(session_, 0, bytes, sizeof bytes);
  }

 private:
  template <typename Call>
  bool find(const char* name, Call& call) {
    call = reinterpret_cast<Call>(dlsym(library_, name));
    return call != nullptr;
  }
  void* library_;  // stays for the life of the program, and so does the session
  void* session_ = nullptr;
  int8_t (*observe_)(void*, const char*, Callback, void*, uint32_t) = nullptr;
  int8_t (*set_input_)(void*, uint32_t, void*, uint32_t) = nullptr;
  int8_t (*to_label_)(const SwitchUuid*, SwitchLabel*, uint32_t) = nullptr;
  std::string why_;
};

// What is wrong, or nothing.
std::string tell_switch(const Nscq& nscq, const std::string& label, uint16_t index, const Hash& nonce, const TellPart& tell) {
  int8_t mode = 0;
  if (const std::string why = nscq.read(label, "/config/pcie_mode", mode); !why.empty()) return why;
  if (mode != kModeOn && mode != kModeLocked) return "protected PCIe is off (" + std::to_string(mode) + ")";
  if (const int8_t code = nscq.set_nonce(nonce); code < 0) return Nscq::answer("nscq_session_set_input", code);
  SwitchReport report{};
  SwitchChain chain{};
  if (const std::string why = nscq.read(label, "/config/attestation_report", report); !why.empty()) return why;
  if (const std::string why = nscq.read(label, "/config/certificate", chain); !why.empty()) return why;
  if (report.size > sizeof report.bytes || chain.size > sizeof chain.bytes) return "NSCQ says that a report or chain is longer than it can be";
  tell(index, ReportPart::report, {report.bytes, report.size});
  tell(index, ReportPart::chain, {chain.bytes, chain.size});
  return "";
}

}  // namespace

void tell_switch_reports(const Hash& nonce, const std::atomic<bool>& stop, const TellPart& tell) {
  static const Nscq nscq;
  const auto say = [&](size_t index, const std::string& why) {
    tell(static_cast<uint16_t>(index), ReportPart::nothing, {reinterpret_cast<const uint8_t*>(why.data()), why.size()});
  };
  std::vector<std::string> labels;
  if (const std::string why = nscq.why().empty() ? nscq.labels(labels) : nscq.why(); !why.empty()) return say(0, why);
  if (labels.empty()) return say(0, "NSCQ knows no switch");
  for (size_t i = 0; i < labels.size() && !stop; ++i)
    if (const std::string why = tell_switch(nscq, labels[i], static_cast<uint16_t>(i), nonce, tell); !why.empty()) say(i, why);
}

}  // namespace assay
