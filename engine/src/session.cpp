// See session.hpp.
#include "session.hpp"

namespace assay {

KeptRounds::KeptRounds(Device& device, const GemmSpec& spec, uint32_t slots)
    : spec_(spec), slots_(slots), kept_(device.keep(spec, slots)), in_slot_(slots, -1) {}

Hash KeptRounds::run(Device& device, const Seed& seed, const std::atomic<bool>& stop) {
  const uint32_t round = finished();
  if (seeds_.size() == seeds_.capacity()) seeds_.reserve(2 * seeds_.size() + 16);  // nothing may fail once the product is there
  in_slot_[round % slots_] = -1;
  const Hash root = device.gemm_round(*kept_, round % slots_, seed, stop);
  in_slot_[round % slots_] = round;
  seeds_.push_back(seed);
  return root;
}

void KeptRounds::restore(Device& device, uint32_t round, const std::atomic<bool>& stop) {
  in_slot_[round % slots_] = -1;
  device.gemm_round(*kept_, round % slots_, seeds_[round], stop);
  in_slot_[round % slots_] = round;
}

std::vector<uint32_t> KeptRounds::slots_in_order(Device& device, uint32_t newest, const std::atomic<bool>& stop) {
  std::vector<uint32_t> slots;
  slots.reserve(newest);
  for (uint32_t round = finished() - newest; round < finished(); ++round) {
    if (!whole(round)) restore(device, round, stop);
    slots.push_back(round % slots_);
  }
  return slots;
}

std::vector<Opening> KeptRounds::open(Device& device, uint32_t round, std::span<const uint32_t> leaves,
                                      const std::atomic<bool>& stop) {
  if (round >= first_kept()) {
    if (!whole(round)) restore(device, round, stop);
    return device.open_round(*kept_, round % slots_, leaves);
  }
  if (!scratch_) scratch_ = device.keep(spec_, 1);
  device.gemm_round(*scratch_, 0, seeds_[round], stop);
  return device.open_round(*scratch_, 0, leaves);
}

}  // namespace assay
