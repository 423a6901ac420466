// See circuit.hpp.
#include "zk/groth16/circuit.hpp"

#include <atomic>
#include <string>

#include "core/portable.hpp"
#include "engine_error.hpp"
#include "zk/groth16/roots.hpp"
#include "zk/proof_plan.hpp"

namespace assay::zk {

namespace {

constexpr uint32_t kCircuitMagic = 0x31637261, kMostSteps = 16;
constexpr uint64_t kMostConstraints = uint64_t{1} << kMostRootBits;

void need_circuit(bool is_right, const char* what) {
  if (!is_right) throw EngineError(ErrorCode::bad_request, std::string("the circuit has ") + what);
}

class Words {
 public:
  explicit Words(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint32_t next() {
    const uint32_t word = load_le32(take(4));
    return word;
  }
  const uint8_t* take(uint64_t count) {
    need_circuit(count <= bytes_.size() - at_, "fewer bytes than it says");
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  uint64_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t at_ = 0;
};

// Wires of one step are together in each copy: none reaches into the next copy's, and the last copy's are
// there.
void check_section(const Section& section, const Circuit& circuit) {
  need_circuit(section.copies >= 1, "a section of no copies");
  for (size_t i = 1; i < section.steps.size(); ++i) need_circuit(section.steps[i - 1].first < section.steps[i].first, "steps out of order");
  const auto check = [&](uint32_t wire, bool is_made) {
    need_circuit(wire < circuit.wires, "a wire that is not there");
    if (section.copies == 1) return;
    const Section::Step* own = nullptr;
    // Of one step all copies, before those of the next.
    uint64_t end = circuit.wires;
    for (const Section::Step& step : section.steps) {
      if (wire < step.first) {
        end = std::min<uint64_t>(end, step.first);
        break;
      }
      own = &step;
    }
    need_circuit(own != nullptr || !is_made, "a wire that is made in each copy");
    if (own == nullptr) return;
    need_circuit(wire - own->first < own->more, "copies that meet");
    need_circuit(uint64_t{wire} + uint64_t{section.copies - 1} * own->more < end, "a wire that is not there, or another step's");
  };
  for (const WireTerm& term : section.terms) {
    check(term.wire, false);
    need_circuit(term.coefficient < circuit.coefficients.size(), "a coefficient that is not there");
  }
  for (const Constraint& one : section.constraints)
    if (one.product != 0) check(one.product, true);
}

Section read_section(Words& words, const Circuit& circuit) {
  Section section{};
  section.copies = words.next();
  const uint32_t constraints = words.next(), steps = words.next();
  need_circuit(steps <= kMostSteps, "too many steps");
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t first = words.next();
    section.steps.push_back({first, words.next()});
  }
  need_circuit(constraints <= words.left() / 16, "fewer bytes than it says");
  uint64_t terms = 0;
  for (uint32_t i = 0; i < constraints; ++i) {
    Constraint one{terms, {}, 0};
    for (uint32_t& count : one.counts) terms += count = words.next();
    one.product = words.next();
    need_circuit(one.product == 0 || one.counts[2] == 0, "a wire that is made twice");
    section.constraints.push_back(one);
  }
  need_circuit(terms <= words.left() / 8, "fewer bytes than it says");
  section.terms.reserve(terms);
  for (uint64_t i = 0; i < terms; ++i) {
    const uint32_t wire = words.next();
    section.terms.push_back({wire, words.next()});
  }
  section.number = circuit.constraints;
  check_section(section, circuit);
  return section;
}

}  // namespace

unsigned Circuit::log2() const { return bits_for(constraints + inputs + 1); }

Circuit read_circuit(std::span<const uint8_t> bytes) {
  Words words(bytes);
  need_circuit(words.next() == kCircuitMagic, "another form");
  Circuit circuit{};
  circuit.inputs = words.next();
  circuit.wires = words.next();
  need_circuit(circuit.inputs < circuit.wires, "more inputs than wires");
  const uint32_t coefficients = words.next(), ranges = words.next(), sections = words.next();
  need_circuit(coefficients <= words.left() / 32, "fewer bytes than it says");
  for (uint32_t i = 0; i < coefficients; ++i) need_circuit(Fr::from_bytes(words.take(32), circuit.coefficients.emplace_back()), "a number that is no scalar");
  for (uint32_t i = 0; i < ranges; ++i) {
    const uint32_t first = words.next(), count = words.next();
    need_circuit(first > circuit.inputs && count <= circuit.wires - std::min(first, circuit.wires), "a secret that is no wire");
    need_circuit(circuit.secrets.size() + count <= circuit.wires, "more secrets than wires");
    for (uint32_t k = 0; k < count; ++k) circuit.secrets.push_back(first + k);
  }
  for (uint32_t i = 0; i < sections; ++i) {
    circuit.sections.push_back(read_section(words, circuit));
    circuit.constraints += uint64_t{circuit.sections.back().copies} * circuit.sections.back().constraints.size();
    need_circuit(circuit.constraints + circuit.inputs + 1 <= kMostConstraints, "too many constraints");
  }
  need_circuit(words.left() == 0, "more bytes than it says");
  return circuit;
}

Solved solve(ThreadPool& pool, const Circuit& circuit, std::span<const Fr> inputs, std::span<const Fr> secrets) {
  need_circuit(inputs.size() == circuit.inputs && secrets.size() == circuit.secrets.size(), "other inputs");
  const size_t size = size_t{1} << circuit.log2();
  Solved solved{std::vector<Fr>(circuit.wires, Fr::zero()), std::vector<Fr>(size, Fr::zero()), std::vector<Fr>(size, Fr::zero()), std::vector<Fr>(size, Fr::zero())};
  solved.wires[0] = Fr::one();
  std::copy(inputs.begin(), inputs.end(), solved.wires.begin() + 1);
  for (size_t i = 0; i < secrets.size(); ++i) solved.wires[circuit.secrets[i]] = secrets[i];
  std::vector<bool> is_one;
  for (const Fr& one : circuit.coefficients) is_one.push_back(one == Fr::one());
  std::atomic<uint64_t> wrong{~uint64_t{0}};
  for (const Section& section : circuit.sections)
    pool.run(section.copies, [&](uint64_t copy) {
      const auto wire_at = [&](uint32_t wire) { return section.wire_in(wire, static_cast<uint32_t>(copy)); };
      uint64_t row = section.number + copy * section.constraints.size();
      for (const Constraint& one : section.constraints) {
        uint64_t at = one.at;
        Fr sums[3];
        for (size_t k = 0; k < 3; ++k) {
          sums[k] = Fr::zero();
          for (const uint64_t end = at + one.counts[k]; at < end; ++at) {
            const auto& [wire, coefficient] = section.terms[at];
            const Fr& value = solved.wires[wire_at(wire)];
            sums[k] = sums[k] + (is_one[coefficient] ? value : value * circuit.coefficients[coefficient]);
          }
        }
        if (one.product != 0) solved.wires[wire_at(one.product)] = sums[2] = sums[0] * sums[1];
        else if (!(sums[0] * sums[1] == sums[2])) wrong = std::min(wrong.load(), row);
        solved.a[row] = sums[0], solved.b[row] = sums[1], solved.c[row] = sums[2];
        ++row;
      }
    });
  if (wrong != ~uint64_t{0}) throw EngineError(ErrorCode::bad_request, "constraint " + std::to_string(wrong) + " does not hold");
  for (size_t i = 0; i <= circuit.inputs; ++i) solved.a[circuit.constraints + i] = solved.wires[i];
  return solved;
}

}  // namespace assay::zk
