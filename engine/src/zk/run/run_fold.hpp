// Segments of one run, proven each by itself, folded into one opening: docs/zk.md §13. The reference is
// vectors/naive-run.ts.
#pragma once
#include "zk/run/poseidon.hpp"
#include "zk/segment_prover.hpp"

namespace assay::zk {

// A segment as the fold needs it.
struct FoldPart {
  LeftOpen left;
  Fr digest;
  // What it may take of the device's memory.
  std::shared_ptr<const void> held;
};

// What hides what is opened: numbers that nobody can guess, one more than a chunk has. Empty: zeros.
using FoldMask = std::vector<Fr>;
// keccak256(secret ‖ number of each, u32) modulo the order; none for a secret of zeros.
FoldMask mask_of(const Hash& secret, size_t count);

class RunFold : private SumProver {
 public:
  explicit RunFold(ProofMemory& memory);
  // The mask, rounds and values of the fold, then the opening. `parts`: one or more, in their order, of one
  // plan. `power`: the first that chunks do not use.
  std::vector<uint8_t> prove(std::span<const FoldPart> parts, const FoldMask& mask, const G1Affine& power, const OnPart& on_part);

 private:
  void open_all(PoseidonTranscript& heard, const ListPtr& poly, const Fr& blinder, std::span<const Fr> point);
  void say_point(PoseidonTranscript& heard, uint8_t kind, const G1Affine& point);
};

}  // namespace assay::zk
