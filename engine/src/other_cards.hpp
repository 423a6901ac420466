// Accelerators of vendors whose cards this program cannot use: AMD, Intel, Habana. They are told by the PCI
// bus alone, so that a verifier can name them instead of taking the host for one without a GPU. Claims only.
// Not here: what a card is called, which the verifier knows by its number.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct OtherCard {
  std::string pci_id;  // "1002:74a1": vendor and device
  std::string name;    // what its driver calls it; often empty
  uint32_t count = 0;
};

// One entry for each kind of card, in the order of the bus. Integrated graphics and virtual functions beside
// their card are left out. Empty where the bus cannot be seen.
std::vector<OtherCard> read_other_cards(const std::string& folder = "/sys/bus/pci/devices");

}  // namespace assay
