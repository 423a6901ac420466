// Poseidon over six lanes (ePrint 2019/458; x⁵, constants by its Grain generator), and the transcript of it
// that run proofs have, docs/zk.md §13.
#pragma once
#include <array>

#include "zk/transcript.hpp"

namespace assay::zk {

constexpr size_t kLanes = 6;
using Lanes = std::array<Fr, kLanes>;

void permute(Lanes& lanes);

class PoseidonTranscript final : public Dialogue {
 public:
  PoseidonTranscript();
  // Scalars, 32 bytes each; of the kinds that are points, halves of coordinates.
  void absorb(uint8_t kind, std::span<const uint8_t> bytes) override;
  void hear(uint8_t kind, std::span<const Fr> list);
  Fr challenge() override;
  // Of everything that was heard.
  Fr digest() const { return lanes_[0]; }

 private:
  Lanes lanes_;
  size_t drawn_ = 0;
};

// Numbers of 16 bytes each, big-endian.
std::vector<Fr> halves_of(std::span<const uint8_t> bytes);

}  // namespace assay::zk
