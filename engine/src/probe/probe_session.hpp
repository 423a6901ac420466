// What a finished GEMM or FMA leaves behind so that its rounds can be streamed, copied, chased and opened.
#pragma once
#include <optional>

#include "chase.hpp"
#include "engine_error.hpp"
#include "product_copies.hpp"
#include "server/session.hpp"

namespace assay {

// Which round lies in which slot. The newest `slots` finished rounds are the kept ones; round r lives in slot
// r mod slots. A cancelled round leaves its slot broken: the older round that was there still counts as kept
// and is computed again before the next use (restore), because the verifier knows only the roots it saw.
class KeptRounds {
 public:
  KeptRounds(ProbeKernels& kernels, const GemmSpec& spec, uint32_t slots);

  const GemmSpec& spec() const { return spec_; }
  uint32_t finished() const { return static_cast<uint32_t>(seeds_.size()); }
  uint32_t kept() const { return finished() < slots_ ? finished() : slots_; }
  uint32_t first_kept() const { return finished() - kept(); }

  // The next round; throws cancelled.
  Hash run(ProbeKernels& kernels, const Seed& seed, const std::atomic<bool>& stop);
  // How many rounds "the `newest` kept ones" of a request are: 0 means all, and so does more than there are.
  uint32_t newest_or_all(uint32_t newest) const { return newest == 0 || newest > kept() ? kept() : newest; }
  // Computes broken ones of the newest `rounds` kept rounds again; `kernels` are those that made them.
  void make_whole(ProbeKernels& kernels, uint32_t rounds, const std::atomic<bool>& stop);
  bool are_whole(uint32_t rounds) const;
  std::vector<uint32_t> slots_in_order(uint32_t rounds) const;  // of the newest, the oldest of them first
  // Openings of any finished round. One that is not kept is computed into a slot of its own, made on the
  // first such call and freed by drop_scratch(): a kept round is never given up for it.
  std::vector<Opening> open(ProbeKernels& kernels, uint32_t round, std::span<const uint32_t> leaves,
                            const std::atomic<bool>& stop);
  void drop_scratch() { scratch_.reset(); }
  Kept& store() { return *kept_; }

 private:
  bool whole(uint32_t round) const { return round >= first_kept() && in_slot_[round % slots_] == int64_t{round}; }
  void restore(ProbeKernels& kernels, uint32_t round, const std::atomic<bool>& stop);

  GemmSpec spec_;
  uint32_t slots_;
  std::unique_ptr<Kept> kept_, scratch_;
  std::vector<int64_t> in_slot_;  // round whose product is whole in the slot, -1 for none
  std::vector<Seed> seeds_;       // of every finished round
};

struct FmaRounds {
  FmaSpec spec;
  std::vector<Seed> seeds;
};

// Rounds on a disk: the newest `rounds` kept ones, which never change once the GEMM has ended.
struct RoundsCopy {
  uint32_t device;
  std::unique_ptr<DiskCopy> copy;
  uint32_t rounds;
  Hash nonce;
};

struct ProbeSession final : SessionContent {
  std::optional<KeptRounds> gemm;
  std::optional<FmaRounds> fma;
  std::vector<Hash> nonces;      // of the last STREAM's finished passes
  uint32_t streamed_rounds = 0;  // how many of the newest kept rounds it went over
  std::optional<RoundsCopy> copy;
  std::optional<Chase> chase;  // the last one
};

// Of a session that stands, in its turn. At the end of the program the session's own device frees it while
// another device's thread may still wait for the turn: that one finds it empty.
inline ProbeSession& probe_session(Session& session) {
  if (!session.content) throw EngineError(ErrorCode::no_session, "the session was freed");
  auto* probe = dynamic_cast<ProbeSession*>(session.content.get());
  if (probe == nullptr) throw EngineError(ErrorCode::bad_request, "this needs the session of a GEMM or FMA");
  return *probe;
}

}  // namespace assay
