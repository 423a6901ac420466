// See probe_session.hpp.
#include "probe_session.hpp"

namespace assay {

KeptRounds::KeptRounds(ProbeKernels& kernels, const GemmSpec& spec, uint32_t slots)
    : spec_(spec), slots_(slots), kept_(kernels.keep(spec, slots)), in_slot_(slots, -1) {}

Hash KeptRounds::run(ProbeKernels& kernels, const Seed& seed, const std::atomic<bool>& stop) {
  const uint32_t round = finished();
  // Nothing may fail once the product is there.
  if (seeds_.size() == seeds_.capacity()) seeds_.reserve(2 * seeds_.size() + 16);
  in_slot_[round % slots_] = -1;
  const Hash root = kernels.gemm_round(*kept_, round % slots_, seed, stop);
  in_slot_[round % slots_] = round;
  seeds_.push_back(seed);
  return root;
}

void KeptRounds::restore(ProbeKernels& kernels, uint32_t round, const std::atomic<bool>& stop) {
  in_slot_[round % slots_] = -1;
  kernels.gemm_round(*kept_, round % slots_, seeds_[round], stop);
  in_slot_[round % slots_] = round;
}

void KeptRounds::make_whole(ProbeKernels& kernels, uint32_t rounds, const std::atomic<bool>& stop) {
  for (uint32_t round = finished() - rounds; round < finished(); ++round)
    if (!whole(round)) restore(kernels, round, stop);
}

bool KeptRounds::are_whole(uint32_t rounds) const {
  for (uint32_t round = finished() - rounds; round < finished(); ++round)
    if (!whole(round)) return false;
  return true;
}

std::vector<uint32_t> KeptRounds::slots_in_order(uint32_t rounds) const {
  std::vector<uint32_t> slots;
  for (uint32_t round = finished() - rounds; round < finished(); ++round) slots.push_back(round % slots_);
  return slots;
}

std::vector<Opening> KeptRounds::open(ProbeKernels& kernels, uint32_t round, std::span<const uint32_t> leaves,
                                      const std::atomic<bool>& stop) {
  if (round >= first_kept()) {
    if (!whole(round)) restore(kernels, round, stop);
    return kernels.open_round(*kept_, round % slots_, leaves);
  }
  if (!scratch_) scratch_ = kernels.keep(spec_, 1);
  kernels.gemm_round(*scratch_, 0, seeds_[round], stop);
  return kernels.open_round(*scratch_, 0, leaves);
}

}  // namespace assay
