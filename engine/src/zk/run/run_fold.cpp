// See run_fold.hpp.
#include "zk/run/run_fold.hpp"

#include <algorithm>
#include <thread>

#include "cpu/msm.hpp"
#include "zk/run/poseidon.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

namespace {

enum FoldMessage : uint8_t { kDigests = 33, kFoldRound, kFoldValues, kMask = 37 };
constexpr size_t kMaskAtOnce = 1 << 14;
// The sum, the opening.
constexpr uint32_t kFoldParts = 2;

std::vector<Fr> powers_from_one(const Fr& x, size_t count) {
  std::vector<Fr> list(count, Fr::one());
  for (size_t i = 1; i < count; ++i) list[i] = list[i - 1] * x;
  return list;
}

// What the opening's transcript begins with.
Hash statement_of(const Fr& digest) {
  constexpr char kName[] = "assay/zk/run/1";
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
  std::vector<uint8_t> bytes;
  append(bytes, masked);
  proof_.insert(proof_.end(), bytes.begin(), bytes.end());
  heard.hear(kMask, halves_of(bytes));
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
  std::vector<Slice> polys;
  std::vector<G1Affine> commitments;
  std::vector<uint64_t> words;
  Fr value = Fr::zero(), blinder = mask_list ? nus.back() * mask[chunk] : Fr::zero();
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_mask = i == parts.size();
    if (!is_mask) polys.push_back(all_of(parts[i].left.poly));
    commitments.push_back(is_mask ? masked : parts[i].left.commitment);
    const Fr plain = nus[i].plain();
    words.insert(words.end(), plain.w, plain.w + 4);
    value = value + nus[i] * values[i];
    if (!is_mask) blinder = blinder + nus[i] * parts[i].left.blinder;
  }
  if (mask_list) polys.push_back(all_of(mask_list));
  else nus.pop_back();
  const Hash statement = statement_of(heard.digest());
  transcript_ = std::make_unique<Transcript>(statement);
  open(with_blinder(memory_, memory_.combined(polys, nus), blinder), msm(commitments, words, 4).affine(), rounds.point, value);
  part_done();
  return std::move(proof_);
}

}  // namespace assay::zk
