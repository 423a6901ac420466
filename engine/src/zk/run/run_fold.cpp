// See run_fold.hpp.
#include "zk/run/run_fold.hpp"

#include <algorithm>
#include <thread>

#include "cpu/msm.hpp"
#include "zk/run/cross_opening.hpp"
#include "zk/run/poseidon.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

namespace {

enum FoldMessage : uint8_t { kDigests = 33, kFoldRound, kFoldValues, kMask = 37, kCross, kCrossValues };
// Of the opening's own transcript.
constexpr uint8_t kFirstQuotient = 22;
constexpr size_t kMaskAtOnce = 1 << 14;
// The sum, the opening.
constexpr uint32_t kFoldParts = 2;

std::vector<Fr> powers_from_one(const Fr& x, size_t count) {
  std::vector<Fr> list(count, Fr::one());
  for (size_t i = 1; i < count; ++i) list[i] = list[i - 1] * x;
  return list;
}

// What the transcript of the last two points begins with.
Hash statement_of(const Fr& digest) {
  constexpr char kName[] = "assay/zk/run/2";
  std::vector<uint8_t> bytes(kName, kName + sizeof kName - 1);
  append(bytes, digest);
  return keccak256(bytes.data(), bytes.size());
}

}  // namespace

FoldMask mask_of(const Hash& secret, size_t count) {
  if (std::all_of(secret.b, secret.b + sizeof secret.b, [](uint8_t byte) { return byte == 0; })) return {};
  FoldMask mask(count);
  const auto make = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      uint8_t bytes[sizeof secret.b + 4];
      std::copy_n(secret.b, sizeof secret.b, bytes);
      for (int k = 0; k < 4; ++k) bytes[sizeof secret.b + static_cast<size_t>(k)] = static_cast<uint8_t>(i >> (24 - 8 * k));
      mask[i] = scalar_mod_order(keccak256(bytes, sizeof bytes));
    }
  };
  // A card has its host's cores for this.
  const size_t threads = std::clamp<size_t>(std::min<size_t>(count / kMaskAtOnce, std::thread::hardware_concurrency()), 1, 16);
  {
    // Waited for before the mask moves to whoever asked for it.
    std::vector<std::jthread> others;
    for (size_t i = 1; i < threads; ++i) others.emplace_back(make, count * i / threads, count * (i + 1) / threads);
    make(0, count / threads);
  }
  return mask;
}

RunFold::RunFold(ProofMemory& memory) : SumProver(memory, kFoldParts) {}

void RunFold::say_point(PoseidonTranscript& heard, uint8_t kind, const G1Affine& point) {
  std::vector<uint8_t> bytes;
  append(bytes, point);
  proof_.insert(proof_.end(), bytes.begin(), bytes.end());
  heard.hear(kind, halves_of(bytes));
}

void RunFold::open_all(PoseidonTranscript& heard, const ListPtr& poly, const Fr& blinder, std::span<const Fr> point) {
  CrossOpening opening(memory_, poly, blinder, point);
  say_point(heard, kCross, opening.cross());
  send(kCrossValues, opening.values_at(heard.challenge()));
  const Fr eta = heard.challenge();
  const auto [t, a, b] = opening.join(eta);
  // Not heard: they follow from what was, and a circuit multiplies rather than divides.
  append(proof_, opening.back());
  append(proof_, b);
  moment();
  Transcript last(statement_of(heard.digest()));
  std::vector<uint8_t> claim;
  for (const Fr& one : {eta, t, a, b}) append(claim, one);
  const G1Affine quotient = opening.first_quotient();
  append(claim, quotient);
  last.absorb(kFirstQuotient, claim);
  append(proof_, quotient);
  append(proof_, opening.second_quotient(last.challenge()));
}

std::vector<uint8_t> RunFold::prove(std::span<const FoldPart> parts, const FoldMask& mask, const G1Affine& power, const OnPart& on_part) {
  auto transcript = std::make_unique<PoseidonTranscript>();
  PoseidonTranscript& heard = *transcript;
  begin(std::move(transcript), on_part);
  std::vector<Fr> digests;
  for (const FoldPart& part : parts) digests.push_back(part.digest);
  heard.hear(kDigests, digests);
  const size_t chunk = parts[0].left.poly->size();
  const ListPtr mask_list = mask.empty() ? nullptr : memory_.scalars(std::span(mask).first(chunk));
  G1Affine masked = G1::infinity().affine();
  if (mask_list) masked = (times_scalar(power, mask[chunk]) + memory_.commit(std::vector<Slice>{all_of(mask_list)})[0]).affine();
  say_point(heard, kMask, masked);
  const std::vector<Fr> lambdas = powers_from_one(heard.challenge(), parts.size());
  std::vector<Sum> sums;
  for (size_t i = 0; i < parts.size(); ++i) {
    const LeftOpen& left = parts[i].left;
    sums.push_back({Sum::Kind::product, static_cast<unsigned>(left.point.size()), 2, {all_of(memory_.eqs(left.point)), all_of(left.poly)}, {}, lambdas[i], Fr::zero()});
  }
  const Rounds rounds = prove_sums(kFoldRound, 2, std::move(sums));
  std::vector<Fr> values;
  for (const std::vector<Fr>& own : rounds.ends) values.push_back(own[1]);
  values.push_back(mask_list ? memory_.dot(all_of(mask_list), all_of(memory_.eqs(rounds.point))) : Fr::zero());
  send(kFoldValues, values);
  part_done();
  std::vector<Fr> nus = powers_from_one(heard.challenge(), values.size());
  Fr blinder = mask_list ? nus.back() * mask[chunk] : Fr::zero();
  std::vector<Slice> polys;
  for (size_t i = 0; i < parts.size(); ++i) {
    polys.push_back(all_of(parts[i].left.poly));
    blinder = blinder + nus[i] * parts[i].left.blinder;
  }
  if (mask_list) polys.push_back(all_of(mask_list));
  else nus.pop_back();
  open_all(heard, memory_.combined(polys, nus), blinder, rounds.point);
  part_done();
  return std::move(proof_);
}

}  // namespace assay::zk
