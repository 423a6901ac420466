// See map_code.hpp.
#include "cuda/work/map_code.hpp"

#include <cstring>

#include "work/program.hpp"

namespace assay::cuda {
namespace {

using namespace work;

class Encoder {
 public:
  explicit Encoder(const Op& op) : op_(op) {}

  std::vector<uint8_t> encode() {
    const MapCode& code = op_.code;
    for (const auto* section : {&code.before, &code.body, &code.after})
      for (const Instruction& one : *section) add(one);
    std::vector<MapCarried> carried;
    for (const Carried& one : code.carried) carried.push_back({one.interval.lo, one.interval.hi, one.from, one.next});
    MapHead head{};
    head.count = element_count(op_.dims);
    head.rank = static_cast<uint32_t>(op_.dims.size());
    for (uint32_t axis = 0; axis < head.rank; ++axis) head.dims[axis] = op_.dims[axis];
    head.type = static_cast<uint32_t>(op_.type);
    head.turns = code.turns;
    head.may_settle = may_settle(code);
    head.before = static_cast<uint32_t>(code.before.size());
    head.body = static_cast<uint32_t>(code.body.size());
    head.after = static_cast<uint32_t>(code.after.size());
    head.carried = static_cast<uint32_t>(carried.size());
    bytes_.resize(sizeof head);
    head.instructions_at = put(instructions_);
    head.carried_at = put(carried);
    head.places_at = put(places_);
    head.terms_at = put(terms_);
    std::memcpy(bytes_.data(), &head, sizeof head);
    return std::move(bytes_);
  }

 private:
  void add(const Instruction& one) {
    MapInstruction code{one.value, one.domain, static_cast<uint32_t>(places_.size()), 0, 0, static_cast<uint8_t>(one.code),
                        one.a, one.b, one.c, one.operand, one.axis, one.bits, 0};
    if (one.code == Code::load) {
      const Operand& operand = op_.operands[one.operand];
      code.operand_type = static_cast<uint32_t>(operand.type);
      code.axes = static_cast<uint32_t>(operand.dims.size());
      for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
        const work::Place& place = one.place[axis];
        places_.push_back({operand.dims[axis], place.constant, static_cast<uint32_t>(terms_.size()), static_cast<uint32_t>(place.terms.size()),
                           static_cast<uint32_t>(place.edge), place.reg ? *place.reg : -1});
        for (const Term& term : place.terms) terms_.push_back({term.of, term.times});
      }
    }
    instructions_.push_back(code);
  }
  template <typename T>
  uint32_t put(const std::vector<T>& table) {
    const size_t at = bytes_.size();
    bytes_.resize(at + (table.size() * sizeof(T) + 7) / 8 * 8);
    if (!table.empty()) std::memcpy(bytes_.data() + at, table.data(), table.size() * sizeof(T));
    return static_cast<uint32_t>(at);
  }

  const Op& op_;
  std::vector<uint8_t> bytes_;
  std::vector<MapInstruction> instructions_;
  std::vector<MapPlace> places_;
  std::vector<MapTerm> terms_;
};

}  // namespace

std::vector<uint8_t> encode_map(const Op& op) { return Encoder(op).encode(); }

}  // namespace assay::cuda
