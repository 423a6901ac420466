// See session.hpp.
#include "session.hpp"

#include <chrono>

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

void KeptRounds::make_whole(Device& device, uint32_t rounds, const std::atomic<bool>& stop) {
  for (uint32_t round = finished() - rounds; round < finished(); ++round)
    if (!whole(round)) restore(device, round, stop);
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

SessionTurn::SessionTurn(Session& session, const std::atomic<bool>& stop) : session_(session) {
  std::unique_lock lock(session_.turn_mutex);
  // `stop` is set without this lock: look now and then.
  while (session_.taken && !stop) session_.turn_free.wait_for(lock, std::chrono::milliseconds(20));
  if (session_.taken) return;
  session_.taken = mine_ = true;
}

SessionTurn::~SessionTurn() {
  if (!mine_) return;
  {
    const std::lock_guard lock(session_.turn_mutex);
    session_.taken = false;
  }
  session_.turn_free.notify_one();
}

void free_session(Session& session) {
  static const std::atomic<bool> never{false};
  const SessionTurn turn(session, never);
  session.copy.reset();
  session.gemm.reset();
}

}  // namespace assay
