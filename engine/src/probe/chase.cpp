// CHASE: chains of dependent reads through the kept rounds of a GEMM session. docs/hardware-proof.md §13.
#include "chase.hpp"

#include <bit>
#include <cstring>

#include "probe_commands.hpp"

namespace assay {

namespace {

Hash label_hash(const Label& label) {
  uint8_t bytes[sizeof label];
  memcpy(bytes, &label, sizeof label);
  return tagged_hash(Tag::leaf, bytes);
}

Final run_chase(Server& server, ProbeKernels& kernels, Request& request, const std::vector<uint32_t>& slots,
                const ChaseRequest& asked) {
  ProbeSession& session = probe_session(*request.session);
  session.chase.reset();
  const uint32_t made = run_chain(server, request, 1, Tag::nonce, asked.nonce, [&](const Hash& nonce) {
    std::vector<Label> labels = kernels.chase(session.gemm->store(), slots, nonce, asked.intervals, request.stop);
    return session.chase.emplace(static_cast<uint32_t>(slots.size()), nonce, std::move(labels)).root();
  });
  return done(made, made < 1);
}

}  // namespace

Label chase_feed(const Hash& nonce, uint32_t interval, std::span<const Hash> lefts) {
  std::vector<uint8_t> bytes(nonce.b, nonce.b + 32);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(interval >> 8 * i));
  for (const Hash& left : lefts) bytes.insert(bytes.end(), left.b, left.b + 32);
  const Hash hash = tagged_hash(Tag::chase, bytes);
  Label feed;
  memcpy(&feed, hash.b, sizeof feed);
  return feed;
}

Label LabelFold::feed() const {
  const std::vector<Hash> bottom_up(lefts_.rbegin(), lefts_.rend());
  return chase_feed(nonce_, count_, bottom_up);
}

void LabelFold::add(const Label& label) {
  Hash node = label_hash(label);
  for (uint32_t at = count_++; at % 2 == 1; at /= 2) {
    node = node_hash(lefts_.back(), node);
    lefts_.pop_back();
  }
  lefts_.push_back(node);
}

Chase::Chase(uint32_t rounds, const Hash& nonce, std::vector<Label> labels)
    : rounds_(rounds), nonce_(nonce), labels_(std::move(labels)), levels_(1) {
  for (const Label& label : labels_) levels_[0].push_back(label_hash(label));
  while (levels_.back().size() > 1) {
    const std::vector<Hash>& below = levels_.back();
    std::vector<Hash> level;
    for (size_t i = 0; i < below.size(); i += 2) level.push_back(node_hash(below[i], below[i + 1]));
    levels_.push_back(std::move(level));
  }
}

std::vector<Hash> Chase::path(uint32_t interval) const {
  std::vector<Hash> path;
  for (size_t level = 0; level + 1 < levels_.size(); ++level) path.push_back(levels_[level][(interval >> level) ^ 1]);
  return path;
}

Label Chase::start(uint32_t interval) const {
  if (interval == 0) return chase_feed(nonce_, 0, {});
  const uint32_t before = interval - 1;
  std::vector<Hash> lefts;
  for (size_t level = 0; level + 1 < levels_.size(); ++level)
    if (before >> level & 1) lefts.push_back(levels_[level][(before >> level) - 1]);
  Label start = chase_feed(nonce_, before, lefts);
  for (uint32_t chain = 0; chain < kChains; ++chain) start.of[chain] ^= labels_[before].of[chain];
  return start;
}

std::vector<Place> places_of_hops(ProbeSession& session, ProbeKernels& kernels, std::span<const Place> asked,
                                  const std::atomic<bool>& stop) {
  const Chase& chase = *session.chase;
  KeptRounds& gemm = *session.gemm;
  std::vector<uint64_t> starts;
  for (const Place& place : asked) starts.push_back(chase.start(place.round).of[place.index]);
  gemm.make_whole(kernels, chase.rounds(), stop);
  const uint32_t first = gemm.finished() - chase.rounds(), leaves = gemm.spec().leaves();
  std::vector<Place> places;
  for (const uint64_t q : kernels.hop_targets(gemm.store(), gemm.slots_in_order(chase.rounds()), chase.nonce(), starts))
    places.push_back({first + static_cast<uint32_t>(q / leaves), static_cast<uint32_t>(q % leaves)});
  return places;
}

void chase_command(Server& server, uint32_t id, const ChaseRequest& asked) {
  if (asked.intervals < 2 || asked.intervals > 65536 || !std::has_single_bit(asked.intervals))
    throw EngineError(ErrorCode::bad_request, "intervals must be a power of two from 2 to 65536");
  const auto run = [&server, asked](Device* device, uint32_t index, Request& r) {
    return with_kept_rounds(server, *device, index, r, index, asked.newest, [&](const std::vector<uint32_t>& slots) {
      return run_chase(server, probe_kernels_of(*device), r, slots, asked);
    });
  };
  server.submit(std::make_shared<Request>(id, run), asked.session);
}

}  // namespace assay
