// See wrap_session.hpp.
#include "zk/groth16/wrap_session.hpp"

#include "core/portable.hpp"
#include "engine_error.hpp"
#include "zk/groth16/roots.hpp"
#include "zk/proof_kernels.hpp"
#include "zk/transcript.hpp"

namespace assay::zk {

namespace {

enum WrapForm : uint32_t { kBigEndian, kSnarkjs, kKnown };
enum WrapGiven : uint32_t { kGivenCircuit, kGivenNumbers, kGivenEnds, kGivenA, kGivenB1, kGivenB2, kGivenOthers, kGivenShifts, kWrapGivens };
// More than any circuit of ours has; far below where a count would overflow.
constexpr uint64_t kMostWires = uint64_t{1} << 26, kMostWrapLog2 = 26, kMostCircuitBytes = uint64_t{1} << 31, kMostInputs = 1024;
constexpr uint64_t kOneBytes = 64, kTwoBytes = 128, kNumberBytes = 32;
// What a check of a circuit's head reads: its name, inputs, wires.
constexpr size_t kHeadBytes = 12;

[[noreturn]] void refuse_wrap(ErrorCode code, const std::string& why) { throw EngineError(code, why); }
void need_wrap(bool is_right, const std::string& why) {
  if (!is_right) refuse_wrap(ErrorCode::bad_request, why);
}

// As snarkjs keeps coordinates: little-endian, times 2^256. False: not below the order.
bool read_stored(const uint8_t* bytes, Fp& out) {
  for (size_t i = 0; i < 4; ++i) out.w[i] = load_le32(bytes + 8 * i) | uint64_t{load_le32(bytes + 8 * i + 4)} << 32;
  return Fp::reduced(out.w, 0) == out;
}
bool read_stored(const uint8_t* bytes, G1Affine& out) { return read_stored(bytes, out.x) && read_stored(bytes + 32, out.y) && out.is_on_curve(); }
bool read_stored(const uint8_t* bytes, G2Affine& out) {
  return read_stored(bytes, out.x.c0) && read_stored(bytes + 32, out.x.c1) && read_stored(bytes + 64, out.y.c0) && read_stored(bytes + 96, out.y.c1) && out.is_on_curve();
}

// All of a piece or none.
template <typename Point>
void add_points(std::vector<Point>& list, std::span<const uint8_t> bytes, bool is_stored) {
  constexpr size_t kEach = sizeof(Point) == sizeof(G1Affine) ? kOneBytes : kTwoBytes;
  std::vector<Point> more(bytes.size() / kEach);
  for (size_t i = 0; i < more.size(); ++i) {
    const uint8_t* at = bytes.data() + kEach * i;
    if (!(is_stored ? read_stored(at, more[i]) : read_point(at, more[i])))
      refuse_wrap(ErrorCode::tensor_range, "point " + std::to_string(list.size() + i) + " of the list is on no curve");
  }
  list.insert(list.end(), more.begin(), more.end());
}

// tests and embedded chains know them: src/protocol/maths/hermez.ts, DEV_CEREMONY.
KeySecrets known_secrets() { return {Fr::of(101), Fr::of(102), Fr::of(103), Fr::one(), Fr::of(105)}; }

}  // namespace

void WrapShape::check() const {
  need_wrap(form <= kKnown, "a key of another form");
  need_wrap(inputs <= kMostInputs && inputs < wires && wires <= kMostWires, "as many wires has no circuit");
  need_wrap(log2 >= 1 && log2 <= kMostWrapLog2 && inputs < size(), "as many constraints has no circuit");
  need_wrap(circuit_bytes >= kHeadBytes && circuit_bytes <= kMostCircuitBytes, "as many bytes has no circuit");
}

uint64_t WrapShape::key_bytes() const { return sizeof(G1Affine) * (3 + 3 * wires + size()) + sizeof(G2Affine) * (3 + wires); }

uint64_t WrapShape::host_bytes() const {
  // Lists that grow take their old place and the new one.
  return 4 * circuit_bytes + 2 * key_bytes() + sizeof(Fr) * (8 * wires + 8 * size());
}

uint64_t WrapShape::card_bytes() const { return key_bytes() + sizeof(Fr) * (wires + 4 * size()); }

WrapSession::WrapSession(ProofKernels& kernels, const WrapShape& shape) : kernels_(kernels), shape_(shape), given_(kWrapGivens) {
  shape.check();
  held_ = kernels.hold(shape.host_bytes(), shape.card_bytes());
}

uint64_t WrapSession::element_bytes(uint32_t what) const {
  if (what == kGivenCircuit) return 1;
  if (what == kGivenNumbers) return kNumberBytes;
  // At once.
  if (what == kGivenEnds) return bytes_of(what);
  return what == kGivenB2 ? kTwoBytes : kOneBytes;
}

uint64_t WrapSession::bytes_of(uint32_t what) const {
  if (what == kGivenCircuit) return shape_.circuit_bytes;
  if (what == kGivenNumbers) return kNumberBytes * (shape_.inputs + circuit_->secrets.size());
  if (what == kGivenEnds) return 3 * kOneBytes + 3 * kTwoBytes + kOneBytes * (shape_.inputs + 1);
  if (what == kGivenOthers) return kOneBytes * (shape_.wires - shape_.inputs - 1);
  if (what == kGivenShifts) return kOneBytes * (shape_.form == kSnarkjs ? shape_.size() : shape_.size() - 1);
  return element_bytes(what) * shape_.wires;
}

void WrapSession::need_circuit_whole() const {
  if (!circuit_) refuse_wrap(ErrorCode::tensor_size, "the circuit was not given whole");
}

void WrapSession::give(uint32_t what, uint64_t offset, std::span<const uint8_t> bytes) {
  need_wrap(what < kWrapGivens, "a key is given nothing of number " + std::to_string(what));
  need_wrap(shape_.form != kKnown || what < kGivenEnds, "a key of known secrets is made, not given");
  if (what == kGivenNumbers) need_circuit_whole();
  const uint64_t whole = bytes_of(what);
  if (offset != given_[what] || bytes.size() % element_bytes(what) != 0 || bytes.size() > whole - offset)
    refuse_wrap(ErrorCode::tensor_size, std::to_string(bytes.size()) + " bytes at " + std::to_string(offset) + ", where " + std::to_string(given_[what]) + " of " +
                                            std::to_string(whole) + " came");
  if (what == kGivenCircuit) {
    circuit_bytes_.insert(circuit_bytes_.end(), bytes.begin(), bytes.end());
    if (circuit_bytes_.size() == whole) take_circuit();
  } else if (what == kGivenNumbers) {
    std::vector<Fr> more(bytes.size() / kNumberBytes);
    for (size_t i = 0; i < more.size(); ++i)
      if (!Fr::from_bytes(bytes.data() + kNumberBytes * i, more[i])) refuse_wrap(ErrorCode::tensor_range, "a number is no scalar");
    numbers_.insert(numbers_.end(), more.begin(), more.end());
  } else {
    take_points(what, bytes);
  }
  given_[what] += bytes.size();
}

// What is wrong is forgotten: it can be given anew.
void WrapSession::take_circuit() {
  const std::vector<uint8_t> bytes = std::move(circuit_bytes_);
  circuit_bytes_.clear();
  given_[kGivenCircuit] = 0;
  // Before anything is made as large as it says.
  need_wrap(load_le32(bytes.data() + 4) == shape_.inputs && load_le32(bytes.data() + 8) == shape_.wires, "the circuit has other wires than were said");
  Circuit circuit = read_circuit(bytes);
  need_wrap(circuit.log2() == shape_.log2, "the circuit has other constraints than were said");
  circuit_ = std::move(circuit);
  given_[kGivenCircuit] = bytes.size();
}

void WrapSession::take_points(uint32_t what, std::span<const uint8_t> bytes) {
  const bool is_stored = shape_.form == kSnarkjs;
  switch (what) {
    case kGivenEnds: return take_ends(bytes);
    case kGivenA: return add_points(key_.a, bytes, is_stored);
    case kGivenB1: return add_points(key_.b1, bytes, is_stored);
    case kGivenB2: return add_points(key_.b2, bytes, is_stored);
    case kGivenOthers: return add_points(key_.others, bytes, is_stored);
    default: return add_points(key_.powers, bytes, is_stored);
  }
}

// α, β, δ of the first group; β, γ, δ of the second; 1 and the inputs.
void WrapSession::take_ends(std::span<const uint8_t> bytes) {
  const bool is_stored = shape_.form == kSnarkjs;
  std::vector<G1Affine> ones, inputs;
  std::vector<G2Affine> twos;
  add_points(ones, bytes.first(3 * kOneBytes), is_stored);
  add_points(twos, bytes.subspan(3 * kOneBytes, 3 * kTwoBytes), is_stored);
  add_points(inputs, bytes.subspan(3 * kOneBytes + 3 * kTwoBytes), is_stored);
  key_.alpha1 = ones[0], key_.beta1 = ones[1], key_.delta1 = ones[2];
  key_.beta2 = twos[0], key_.gamma2 = twos[1], key_.delta2 = twos[2];
  key_.inputs = std::move(inputs);
}

ThreadPool& WrapSession::pool() {
  if (ThreadPool* pool = kernels_.host_pool()) return *pool;
  // A card has its host's cores for this.
  if (!own_pool_) own_pool_ = std::make_unique<ThreadPool>(std::max(1u, std::thread::hardware_concurrency()));
  return *own_pool_;
}

const Groth16Key& WrapSession::key() {
  if (has_key_) return key_;
  if (shape_.form == kKnown) {
    need_circuit_whole();
    key_ = make_key(pool(), *kernels_.point_maker(), *circuit_, known_secrets());
  } else {
    for (uint32_t what = kGivenEnds; what < kWrapGivens; ++what)
      if (given_[what] != bytes_of(what)) refuse_wrap(ErrorCode::tensor_size, "number " + std::to_string(what) + " was not given whole");
    key_.has_values = shape_.form == kSnarkjs;
  }
  has_key_ = true;
  return key_;
}

std::vector<uint8_t> WrapSession::verifying_key(const OnPart& on_part) {
  on_part(0, 1);
  const Groth16Key& whole = key();
  std::vector<uint8_t> bytes;
  append(bytes, whole.alpha1);
  for (const G2Affine* one : {&whole.beta2, &whole.gamma2, &whole.delta2}) append(bytes, *one);
  for (const G1Affine& one : whole.inputs) append(bytes, one);
  return bytes;
}

std::vector<uint8_t> WrapSession::prove(const Hash& r, const Hash& s, const OnPart& on_part) {
  constexpr uint32_t kParts = 3;
  need_circuit_whole();
  if (given_[kGivenNumbers] != bytes_of(kGivenNumbers)) refuse_wrap(ErrorCode::tensor_size, "number 1 was not given whole");
  Fr blinders[2];
  need_wrap(Fr::from_bytes(r.b, blinders[0]) && Fr::from_bytes(s.b, blinders[1]), "r or s is no scalar");
  on_part(0, kParts);
  const Groth16Key& whole = key();
  if (!device_) device_ = kernels_.groth16(whole);
  on_part(1, kParts);
  const std::span<const Fr> numbers(numbers_);
  // Whatever comes of it: other numbers can be given now.
  given_[kGivenNumbers] = 0;
  Solved solved;
  try {
    solved = solve(pool(), *circuit_, numbers.first(shape_.inputs), numbers.subspan(shape_.inputs));
  } catch (...) {
    numbers_.clear();
    throw;
  }
  numbers_.clear();
  on_part(2, kParts);
  return prove_groth16(*device_, whole, solved, blinders[0], blinders[1]);
}

}  // namespace assay::zk
