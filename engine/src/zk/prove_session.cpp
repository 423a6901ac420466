// See prove_session.hpp.
#include "zk/prove_session.hpp"

#include <cstring>

#include "core/portable.hpp"
#include "engine_error.hpp"
#include "zk/dev_powers.hpp"

namespace assay::zk {

namespace {

enum Given : uint32_t { kGivenFeatures, kGivenLabels, kGivenPowers, kGivenWeights };
constexpr size_t kPointBytes = 64;

[[noreturn]] void refuse_give(ErrorCode code, const std::string& why) { throw EngineError(code, why); }

// Little-endian elements into a list, from one of its elements on.
template <typename T>
std::span<const T> put_elements(std::vector<T>& list, uint64_t offset, std::span<const uint8_t> bytes) {
  list.resize((offset + bytes.size()) / sizeof(T));
  memcpy(list.data() + offset / sizeof(T), bytes.data(), bytes.size());
  return std::span<const T>(list).subspan(offset / sizeof(T));
}

}  // namespace

ProveSession::ProveSession(ProofKernels& kernels, std::span<const uint8_t> plan)
    : plan_(read_proof_plan(plan)), memory_(kernels.prepare(plan_.bytes())), given_(kGivenWeights + plan_.links()) {
  start_.weights.resize(plan_.links());
}

uint64_t ProveSession::bytes_of(uint32_t what) const {
  if (what == kGivenFeatures) return sizeof(int16_t) * (uint64_t{plan_.sizes[0]} << plan_.row_bits);
  if (what == kGivenLabels) return sizeof(int32_t) << plan_.row_bits;
  if (what == kGivenPowers) return kPointBytes << plan_.chunk_bits;
  const uint32_t link = what - kGivenWeights;
  return weight_bytes() * uint64_t{plan_.sizes[link]} * plan_.sizes[link + 1];
}

void ProveSession::take_powers(std::span<const uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kPointBytes) {
    G1Affine point;
    if (!read_point(bytes.data() + at, point) || point.is_infinity())
      refuse_give(ErrorCode::tensor_range, "power " + std::to_string(powers_.size()) + " is no point of the curve");
    powers_.push_back(point);
  }
  if (powers_.size() < plan_.chunk()) return;
  memory_->set_powers(powers_);
  std::vector<G1Affine>().swap(powers_);
  has_powers_ = true;
}

void ProveSession::take_weights(std::vector<int64_t>& weights, std::span<const uint8_t> bytes) {
  const int64_t most = (int64_t{1} << plan_.weight_bits()) - 1;
  for (size_t at = 0; at < bytes.size(); at += weight_bytes()) {
    int64_t weight = static_cast<int32_t>(load_le32(bytes.data() + at));
    if (plan_.is_wide) memcpy(&weight, bytes.data() + at, sizeof weight);
    if (weight < -most || weight > most) refuse_give(ErrorCode::tensor_range, "a weight is outside its range");
    weights.push_back(weight);
  }
}

void ProveSession::give(uint32_t what, uint64_t offset, std::span<const uint8_t> bytes) {
  if (what >= given_.size()) refuse_give(ErrorCode::bad_request, "a proof is given nothing of number " + std::to_string(what));
  const uint64_t whole = bytes_of(what), element = what == kGivenFeatures ? 2 : what == kGivenPowers ? kPointBytes : what == kGivenLabels ? 4 : weight_bytes();
  if (what == kGivenPowers && plan_.is_dev) refuse_give(ErrorCode::bad_request, "powers of the known τ are made, not given");
  if (offset != given_[what] || bytes.size() % element != 0 || bytes.size() > whole - offset)
    refuse_give(ErrorCode::tensor_size, std::to_string(bytes.size()) + " bytes at " + std::to_string(offset) + ", where " +
                                            std::to_string(given_[what]) + " of " + std::to_string(whole) + " came");
  prover_.reset();
  if (what == kGivenPowers) {
    take_powers(bytes);
  } else if (what == kGivenFeatures) {
    const int most = (1 << (plan_.h - 1)) - 1;
    for (const int16_t one : put_elements(start_.features, offset, bytes))
      if (one < -most || one > most) refuse_give(ErrorCode::tensor_range, "what enters the first link is outside its range");
  } else if (what == kGivenLabels) {
    for (const int32_t one : put_elements(start_.labels, offset, bytes))
      if (one < 0 || static_cast<uint32_t>(one) >= plan_.sizes.back()) refuse_give(ErrorCode::tensor_range, "a label is no class");
  } else {
    take_weights(start_.weights[what - kGivenWeights], bytes);
  }
  given_[what] += bytes.size();
}

void ProveSession::check_given() const {
  for (uint32_t what = 0; what < given_.size(); ++what)
    if (given_[what] != bytes_of(what) && !(what == kGivenPowers && plan_.is_dev))
      refuse_give(ErrorCode::tensor_size, "number " + std::to_string(what) + " was not given whole");
}

std::vector<uint8_t> ProveSession::commit(const uint8_t seed[32], uint32_t first_step, const std::atomic<bool>& stop, const OnPart& on_part) {
  check_given();
  if (first_step % plan_.steps() != 0) refuse_give(ErrorCode::bad_request, "no segment begins with step " + std::to_string(first_step));
  prover_.reset();
  if (!has_powers_) {
    memory_->make_powers(dev_tau(), plan_.chunk(), stop);
    has_powers_ = true;
  }
  auto prover = std::make_unique<SegmentProver>(plan_, *memory_, memory_->run(plan_, start_, seed, first_step, stop));
  std::vector<uint8_t> points = prover->statement_points(on_part);
  prover_ = std::move(prover);
  return points;
}

std::vector<uint8_t> ProveSession::prove(const Hash& statement, const OnPart& on_part) {
  if (!prover_) refuse_give(ErrorCode::bad_request, "COMMIT comes before PROVE");
  return prover_->prove(statement, on_part);
}

}  // namespace assay::zk
