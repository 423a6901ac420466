// See other_cards.hpp. Reads the files `vendor`, `device` and `class` of each function on the bus.
#include "other_cards.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cpu/host_info.hpp"

namespace assay {

namespace {

constexpr uint32_t kAmd = 0x1002, kAmdProcessors = 0x1022, kIntel = 0x8086, kHabana = 0x1da3;
constexpr uint32_t kDisplay = 0x03, kAccelerators = 0x1200;  // base class; class and subclass
constexpr size_t kMaxKinds = 8;

struct PciFunction {
  std::string address;  // "0000:03:00.0"
  uint32_t vendor = 0, device = 0, kind = 0;  // kind: class and subclass
  std::string slot() const { return address.substr(0, address.rfind('.')); }
};

uint32_t hex_in(const std::string& path) { return static_cast<uint32_t>(strtoul(first_line(path).c_str(), nullptr, 16)); }

std::vector<PciFunction> functions_in(const std::string& folder) {
  std::vector<PciFunction> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string path = entry.path();
    found.push_back({entry.path().filename(), hex_in(path + "/vendor"), hex_in(path + "/device"), hex_in(path + "/class") >> 8});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return found;
}

// Graphics inside a processor, which nobody offers. Intel's always have this one slot. AMD's share theirs
// with other parts of the processor (its security processor, its USB); the oldest have slot 1 of the first
// bus.
bool is_integrated(const PciFunction& one, const std::vector<PciFunction>& all) {
  if (one.vendor == kIntel) return one.slot() == "0000:00:02";
  if (one.vendor != kAmd || one.kind >> 8 != kDisplay) return false;
  return one.slot() == "0000:00:01" ||
         std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.vendor == kAmdProcessors && other.slot() == one.slot(); });
}

bool is_card(const PciFunction& one) {
  const bool is_display = one.kind >> 8 == kDisplay;
  switch (one.vendor) {
    case kAmd: return is_display || one.kind == kAccelerators;
    case kIntel: return is_display;  // its accelerators are parts of processors: NPU, QAT
    case kHabana: return one.kind == kAccelerators;
    default: return false;
  }
}

}  // namespace

std::vector<OtherCard> read_other_cards(const std::string& folder) {
  const std::vector<PciFunction> functions = functions_in(folder);
  std::vector<OtherCard> cards;
  for (const PciFunction& one : functions) {
    const std::string path = folder + "/" + one.address;
    if (!is_card(one) || is_integrated(one, functions) || access((path + "/physfn").c_str(), F_OK) == 0) continue;
    char id[16];
    snprintf(id, sizeof id, "%04x:%04x", one.vendor & 0xffff, one.device & 0xffff);
    auto card = std::find_if(cards.begin(), cards.end(), [&](const auto& known) { return known.pci_id == id; });
    if (card == cards.end()) {
      if (cards.size() == kMaxKinds) continue;
      card = cards.insert(cards.end(), {id, first_line(path + "/product_name"), 0});
    }
    ++card->count;
  }
  return cards;
}

}  // namespace assay
