// See prove_session.hpp.
#include "zk/prove_session.hpp"

#include <cstring>

#include "core/portable.hpp"
#include "cpu/msm.hpp"
#include "engine_error.hpp"
#include "zk/dev_powers.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

namespace {

enum Given : uint32_t { kGivenFeatures, kGivenLabels, kGivenPowers, kGivenWeights };
constexpr size_t kPointBytes = 64, kScalarBytes = 32;
// Segments of a run, and what a value of each takes: itself, what it counts, both again while they are
// folded.
constexpr size_t kMostParts = 1024;
constexpr uint64_t kPartBytes = 4 * sizeof(Fr);

[[noreturn]] void refuse_give(ErrorCode code, const std::string& why) { throw EngineError(code, why); }

// Little-endian elements into a list, from one of its elements on.
template <typename T>
std::span<const T> put_elements(std::vector<T>& list, uint64_t offset, std::span<const uint8_t> bytes) {
  list.resize((offset + bytes.size()) / sizeof(T));
  memcpy(list.data() + offset / sizeof(T), bytes.data(), bytes.size());
  return std::span<const T>(list).subspan(offset / sizeof(T));
}

std::unique_ptr<ProofMemory> memory_for(const ProofPlan& plan, ProofKernels& kernels) {
  if (!plan.is_plain() && !kernels.runs_wide_plans())
    throw EngineError(ErrorCode::unsupported, "this device proves no convolutions and no softmax: the engine's CPU does");
  return kernels.prepare(plan.bytes());
}

}  // namespace

ProveSession::ProveSession(ProofKernels& kernels, std::span<const uint8_t> plan)
    : plan_(read_proof_plan(plan)), memory_(memory_for(plan_, kernels)), given_(kGivenWeights + plan_.links() + 1) {
  start_.weights.resize(plan_.links());
}

uint32_t ProveSession::given_blinders() const { return kGivenWeights + static_cast<uint32_t>(plan_.links()); }

uint64_t ProveSession::chunks() const {
  uint64_t all = 0;
  for (const Group& group : plan_.groups) all += group.chunks;
  return all;
}

// Powers that are made; the one beyond those of a chunk; blinders that are none or all.
bool ProveSession::is_optional(uint32_t what) const {
  if (what == kGivenPowers) return plan_.is_dev || given_[what] + kPointBytes == bytes_of(what);
  return what == given_blinders() && given_[what] == 0;
}

uint64_t ProveSession::bytes_of(uint32_t what) const {
  if (what == kGivenFeatures) return sizeof(int16_t) * (uint64_t{plan_.sizes[0]} << plan_.row_bits);
  if (what == kGivenLabels) return sizeof(int32_t) << plan_.row_bits;
  if (what == kGivenPowers) return kPointBytes * (plan_.chunk() + 1);
  if (what == given_blinders()) return kScalarBytes * chunks();
  const uint32_t link = what - kGivenWeights;
  return weight_bytes() * plan_.inputs(link) * plan_.outputs(link);
}

uint64_t ProveSession::element_bytes(uint32_t what) const {
  if (what == kGivenFeatures) return sizeof(int16_t);
  if (what == kGivenLabels) return sizeof(int32_t);
  if (what == kGivenPowers) return kPointBytes;
  return what == given_blinders() ? kScalarBytes : weight_bytes();
}

void ProveSession::take_powers(std::span<const uint8_t> bytes) {
  const size_t known = powers_.size();
  for (size_t at = 0; at < bytes.size(); at += kPointBytes) {
    G1Affine point;
    if (!read_point(bytes.data() + at, point) || point.is_infinity()) {
      const std::string number = std::to_string(has_powers_ ? plan_.chunk() : powers_.size());
      powers_.resize(known);
      refuse_give(ErrorCode::tensor_range, "power " + number + " is no point of the curve");
    }
    if (has_powers_ || powers_.size() == plan_.chunk()) next_power_ = point;
    else powers_.push_back(point);
  }
  if (has_powers_ || powers_.size() < plan_.chunk()) return;
  memory_->set_powers(powers_);
  std::vector<G1Affine>().swap(powers_);
  has_powers_ = true;
}

void ProveSession::take_weights(std::vector<int64_t>& weights, std::span<const uint8_t> bytes) {
  const int64_t most = (int64_t{1} << plan_.weight_bits()) - 1;
  // All of a piece or none: it may be given again.
  std::vector<int64_t> more;
  for (size_t at = 0; at < bytes.size(); at += weight_bytes()) {
    int64_t weight = static_cast<int32_t>(load_le32(bytes.data() + at));
    if (plan_.is_wide) memcpy(&weight, bytes.data() + at, sizeof weight);
    if (weight < -most || weight > most) refuse_give(ErrorCode::tensor_range, "a weight is outside its range");
    more.push_back(weight);
  }
  weights.insert(weights.end(), more.begin(), more.end());
}

void ProveSession::take_blinders(std::span<const uint8_t> bytes) {
  std::vector<Fr> more;
  for (size_t at = 0; at < bytes.size(); at += kScalarBytes)
    if (!Fr::from_bytes(bytes.data() + at, more.emplace_back())) refuse_give(ErrorCode::tensor_range, "a blinder is no scalar");
  blinders_.insert(blinders_.end(), more.begin(), more.end());
}

const G1Affine& ProveSession::next_power() {
  if (plan_.is_dev && !next_power_) next_power_ = times_scalar<Fp>({Fp::one(), Fp::of(2)}, power_of(dev_tau(), plan_.chunk())).affine();
  if (!next_power_) refuse_give(ErrorCode::bad_request, "who hides something gives one power more than a chunk has values");
  return *next_power_;
}

std::optional<Blinders> ProveSession::blinders() {
  if (blinders_.empty()) return std::nullopt;
  Blinders all{next_power(), {}};
  size_t at = 0;
  for (unsigned g = 0; g < kGroups; ++g)
    for (uint64_t i = 0; i < plan_.groups[g].chunks; ++i) all.of_chunks[g].push_back(blinders_[at++]);
  return all;
}

void ProveSession::give(uint32_t what, uint64_t offset, std::span<const uint8_t> bytes) {
  if (what >= given_.size()) refuse_give(ErrorCode::bad_request, "a proof is given nothing of number " + std::to_string(what));
  const uint64_t whole = bytes_of(what), element = element_bytes(what);
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
  } else if (what == given_blinders()) {
    take_blinders(bytes);
  } else {
    take_weights(start_.weights[what - kGivenWeights], bytes);
  }
  given_[what] += bytes.size();
}

void ProveSession::check_given() const {
  for (uint32_t what = 0; what < given_.size(); ++what)
    if (given_[what] != bytes_of(what) && !is_optional(what))
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
  auto prover = std::make_unique<SegmentProver>(plan_, *memory_, memory_->run(plan_, start_, seed, first_step, stop), blinders());
  std::vector<uint8_t> points = prover->statement_points(on_part);
  prover_ = std::move(prover);
  return points;
}

std::vector<uint8_t> ProveSession::prove(const Hash& statement, const OnPart& on_part) {
  if (!prover_) refuse_give(ErrorCode::bad_request, "COMMIT comes before PROVE");
  return prover_->prove(statement, on_part);
}

std::vector<uint8_t> ProveSession::prove_part(const Hash& statement, const Hash& nonce, const OnPart& on_part) {
  if (!prover_) refuse_give(ErrorCode::bad_request, "COMMIT comes before PART");
  if (parts_.size() == kMostParts) refuse_give(ErrorCode::bad_request, std::to_string(kMostParts) + " segments of a run are the most");
  Fr own_nonce;
  if (!Fr::from_bytes(nonce.b, own_nonce)) refuse_give(ErrorCode::bad_request, "the nonce is no scalar");
  std::shared_ptr<const void> held = memory_->hold(kPartBytes << plan_.chunk_bits);
  ProvenPart part = prover_->prove_part(statement, own_nonce, on_part);
  parts_.push_back({std::move(part.left), part.digest, std::move(held)});
  prover_.reset();
  for (size_t link = 0; link < plan_.links(); ++link) {
    start_.weights[link].clear();
    given_[kGivenWeights + link] = 0;
  }
  blinders_.clear();
  given_[given_blinders()] = 0;
  return std::move(part.proof);
}

std::vector<uint8_t> ProveSession::fold(const Hash& secret, const OnPart& on_part) {
  if (parts_.empty()) refuse_give(ErrorCode::bad_request, "PART comes before FOLD");
  prover_.reset();
  const FoldMask mask = mask_of(secret, plan_.chunk() + 1);
  std::vector<uint8_t> proof = RunFold(*memory_).prove(parts_, mask, mask.empty() ? G1::infinity().affine() : next_power(), on_part);
  parts_.clear();
  return proof;
}

}  // namespace assay::zk
