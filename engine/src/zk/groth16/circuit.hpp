// Constraints a·b = c of sums of wires, and what wires have, docs/zk.md §13. Wire 0 is 1, then come the
// inputs. A constraint may make a wire: then c is that wire, and who has inputs and secrets has all wires,
// one constraint after the other. Constraints stand in sections, each of which may be repeated: in copy i a
// wire is so many times a step further.
#pragma once
#include <span>
#include <vector>

#include "core/bn254.hpp"
#include "cpu/thread_pool.hpp"

namespace assay::zk {

// coefficient·wire
struct WireTerm {
  uint32_t wire, coefficient;
};

struct Constraint {
  // Of its terms: where they begin, and how many a, b and c have.
  uint64_t at;
  uint32_t counts[3];
  // The wire that it makes; 0: none, it is a check.
  uint32_t product;
};

struct Section {
  uint32_t copies;
  // Wires from `first` on, up to the next of these, are so much further in the next copy; those before all of
  // them are the same in all.
  struct Step {
    uint32_t first, more;
  };
  std::vector<Step> steps;
  std::vector<Constraint> constraints;
  std::vector<WireTerm> terms;
  // Of its first constraint.
  uint64_t number;

  uint32_t wire_in(uint32_t wire, uint32_t copy) const {
    uint32_t more = 0;
    for (const Step& step : steps)
      if (wire >= step.first) more = step.more;
    return wire + copy * more;
  }
};

struct Circuit {
  uint32_t inputs, wires;
  std::vector<Fr> coefficients;
  // Wires that are given, in the order in which they are.
  std::vector<uint32_t> secrets;
  std::vector<Section> sections;
  uint64_t constraints;

  // Values are polynomials over 2^log2 roots: inputs have a constraint of their own each, and so has 1.
  unsigned log2() const;
};

// See vectors/groth16-rows.ts for the bytes. Throws EngineError bad_request.
Circuit read_circuit(std::span<const uint8_t> bytes);

// What all wires have, and a, b, c of all constraints; zeros up to 2^log2.
struct Solved {
  std::vector<Fr> wires, a, b, c;
};
// Throws EngineError bad_request where a check does not hold.
Solved solve(ThreadPool& pool, const Circuit& circuit, std::span<const Fr> inputs, std::span<const Fr> secrets);

}  // namespace assay::zk
