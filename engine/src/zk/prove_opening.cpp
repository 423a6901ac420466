// The opening of one segment's proof, docs/zk.md §3: what it says, in which order.
#include "zk/run/cross_opening.hpp"
#include "zk/sum_prover.hpp"

namespace assay::zk {

namespace {

enum OpeningMessage : uint8_t { kClaim = 16, kSegmentCross, kSegmentValues, kQuotient, kLastQuotient };

std::vector<uint8_t> bytes_of_point(const G1Affine& point) {
  std::vector<uint8_t> bytes;
  append(bytes, point);
  return bytes;
}

}  // namespace

void SumProver::open(const ListPtr& poly, const Fr& blinder, const G1Affine& commitment, std::span<const Fr> point, const Fr& value) {
  std::vector<uint8_t> claim = bytes_of_point(commitment);
  for (const Fr& one : point) append(claim, one);
  append(claim, value);
  transcript_->absorb(kClaim, claim);
  CrossOpening opening(memory_, poly, blinder, point);
  message(kSegmentCross, bytes_of_point(opening.cross()));
  send(kSegmentValues, opening.values_at(transcript_->challenge()));
  opening.join(transcript_->challenge());
  moment();
  message(kQuotient, bytes_of_point(opening.first_quotient()));
  message(kLastQuotient, bytes_of_point(opening.second_quotient(transcript_->challenge())));
}

}  // namespace assay::zk
