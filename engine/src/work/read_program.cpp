// Reads a program from hostile bytes, docs/work.md §6: strict, big-endian, one spelling. What decodes may
// still be refused by check_program.cpp.
#include <cstring>
#include <utility>

#include "work/program.hpp"

namespace assay::work {
namespace {

[[noreturn]] void malformed(std::string message) { throw Fault{"PROGRAM_MALFORMED", std::move(message)}; }
[[noreturn]] void limit(std::string message) { throw Fault{"PROGRAM_LIMIT", std::move(message)}; }

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t position() const { return at_; }
  bool is_at_end() const { return at_ == bytes_.size(); }

  std::span<const uint8_t> raw(size_t count) {
    if (bytes_.size() - at_ < count) malformed("the bytes end too early");
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  uint64_t number(uint32_t size) {
    uint64_t value = 0;
    for (const uint8_t byte : raw(size)) value = value << 8 | byte;
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  int32_t i32() { return static_cast<int32_t>(u32()); }
  int64_t i64() { return static_cast<int64_t>(number(8)); }

  template <typename Enum>
  Enum one_of(uint32_t count, const char* what) {
    return static_cast<Enum>(below(u8(), count, what));
  }
  uint8_t below(uint8_t value, uint32_t end, const char* what) {
    if (value >= end) malformed("no such " + std::string(what) + ": " + std::to_string(value));
    return value;
  }
  static uint64_t at_most(uint64_t value, uint64_t most, const char* what) {
    if (value > most) limit(std::to_string(value) + " " + what + "; " + std::to_string(most) + " is the most");
    return value;
  }

  Type type() { return one_of<Type>(4, "type"); }
  Interval interval() {
    const int64_t lo = i64();
    return {lo, i64()};
  }
  Dims dims();

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

Dims Reader::dims() {
  const uint32_t rank = u8();
  if (rank < 1 || rank > kMostRank) limit("rank " + std::to_string(rank));
  Dims dims;
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const uint32_t dim = u32();
    if (dim < 1 || dim > kMostDim) limit("an axis of " + std::to_string(dim));
    if (dim > kMostElements / count) limit("too many elements");
    count *= dim;
    dims.push_back(dim);
  }
  return dims;
}

bool is_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > kMostName || !is_letter(name[0])) return false;
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  return true;
}

Tensor read_tensor(Reader& reader) {
  Tensor tensor{};
  tensor.kind = reader.one_of<TensorKind>(6, "kind of tensor");
  tensor.type = reader.type();
  tensor.dims = reader.dims();
  if (tensor.kind == TensorKind::metric) Reader::at_most(element_count(tensor.dims), kMostMetric, "elements of a metric");
  tensor.interval = reader.interval();
  const auto name = reader.raw(Reader::at_most(reader.u8(), kMostName, "bytes of a name"));
  tensor.name.assign(name.begin(), name.end());
  if (!is_name(tensor.name)) malformed("not a name");
  if (tensor.kind == TensorKind::constant) std::memcpy(tensor.root, reader.raw(32).data(), 32);
  return tensor;
}

// ---- code of a map
enum class Section { before, body, after };
struct Scope {
  Section section;
  uint32_t number;              // of the instruction that is read
  uint32_t body_from, body_to;  // registers that `after` does not see
  uint32_t rank;
  const std::vector<Operand>& operands;
};

uint8_t read_register(Reader& reader, const Scope& scope) {
  const uint8_t found = reader.below(reader.u8(), scope.number, "register");
  if (scope.section == Section::after && found >= scope.body_from && found < scope.body_to)
    malformed("register " + std::to_string(found) + " is the body's");
  return found;
}

Place read_place(Reader& reader, const Scope& scope) {
  const uint8_t mode = reader.u8();
  if (mode > 7) malformed(std::to_string(mode) + " is no edge");
  Place place{static_cast<Edge>(mode & 3), std::nullopt, 0, {}};
  if (mode & 4) place.reg = read_register(reader, scope);
  place.constant = reader.i32();
  const uint32_t count = reader.below(reader.u8(), kMostTerms + 1, "count of terms");
  int above = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const uint8_t of = reader.u8();
    if (!(of < scope.rank || of == kSegment || of == kStep || (of == kTurn && scope.section == Section::body)))
      malformed(std::to_string(of) + " is no variable here");
    if (of <= above) malformed("the terms of a place ascend");
    above = of;
    const int32_t times = reader.i32();
    if (times == 0) malformed("a term is never zero");
    place.terms.push_back({of, times});
  }
  return place;
}

Instruction read_instruction(Reader& reader, const Scope& scope) {
  Instruction one{};
  one.code = reader.one_of<Code>(kCodes, "instruction");
  const auto reg = [&] { return read_register(reader, scope); };
  switch (one.code) {
    case Code::load:
      one.operand = reader.below(reader.u8(), static_cast<uint32_t>(scope.operands.size()), "operand");
      for (size_t axis = 0; axis < scope.operands[one.operand].dims.size(); ++axis) one.place.push_back(read_place(reader, scope));
      break;
    case Code::constant: one.value = reader.i64(); break;
    case Code::iota: one.axis = reader.below(reader.u8(), scope.rank, "axis"); break;
    case Code::segment:
    case Code::step: break;
    case Code::turn:
      if (scope.section != Section::body) malformed("a turn is known in the body only");
      break;
    case Code::rand:
      one.a = reg();
      one.domain = reader.u32();
      break;
    case Code::neg:
    case Code::abs:
    case Code::isqrt:
    case Code::bitlen: one.a = reg(); break;
    case Code::shl:
    case Code::shr:
    case Code::rsh:
      one.a = reg();
      one.bits = reader.below(reader.u8(), kMostBits + 1, "shift");
      if (one.bits == 0) malformed("a shift by 0");
      break;
    case Code::select:
    case Code::clamp:
      one.a = reg();
      one.b = reg();
      one.c = reg();
      break;
    default:
      one.a = reg();
      one.b = reg();
  }
  return one;
}

MapCode read_code(Reader& reader, uint32_t rank, const std::vector<Operand>& operands) {
  MapCode code;
  code.turns = static_cast<uint16_t>(Reader::at_most(reader.u16(), kMostTurns, "turns"));
  const auto carried = static_cast<uint32_t>(Reader::at_most(reader.u8(), kMostCarried, "carried values"));
  const uint32_t before = reader.u16(), body = reader.u16(), after = reader.u16();
  Reader::at_most(before + carried + body + after, kMostRegisters, "registers");
  const bool repeats = code.turns > 0;
  if (repeats) Reader::at_most(before, kMostBeforeTurns, "instructions before turns");
  if (before == 0 || (carried > 0) != repeats || (body > 0) != repeats || (after > 0) != repeats)
    malformed("a section is empty that must not be, or the reverse");
  const uint32_t body_from = before + carried, body_to = body_from + body;
  for (uint32_t i = 0; i < carried; ++i) {
    const uint8_t from = reader.below(reader.u8(), before, "register"), next = reader.below(reader.u8(), body_to, "register");
    code.carried.push_back({from, next, reader.interval()});
  }
  const auto section = [&](Section name, uint32_t first, uint32_t count) {
    std::vector<Instruction> found;
    for (uint32_t i = 0; i < count; ++i) found.push_back(read_instruction(reader, {name, first + i, body_from, body_to, rank, operands}));
    return found;
  };
  code.before = section(Section::before, 0, before);
  code.body = section(Section::body, body_from, body);
  code.after = section(Section::after, body_to, after);
  return code;
}

Op read_op(Reader& reader, Phase phase) {
  Op op{};
  const size_t from = reader.position();
  op.op = reader.one_of<Operator>(4, "operator");
  const auto found = reader.one_of<Phase>(2, "phase");
  op.type = reader.type();
  op.dims = reader.dims();
  op.interval = reader.interval();
  if (const uint16_t target = reader.u16(); target != 0xFFFF) op.target = target;
  const auto count = Reader::at_most(reader.u8(), kMostOperands, "operands");
  for (uint64_t i = 0; i < count; ++i) {
    Operand operand{};
    operand.source = reader.one_of<Source>(5, "source");
    operand.index = reader.u16();
    operand.type = reader.type();
    operand.dims = reader.dims();
    op.operands.push_back(std::move(operand));
  }
  if (op.op == Operator::reduce) op.reduction = reader.one_of<Reduction>(5, "reduction");
  if (op.op == Operator::map) {
    op.code = read_code(reader, static_cast<uint32_t>(op.dims.size()), op.operands);
    // A judge of one element gets all this in one transaction, which must not be too dear for anyone.
    const uint64_t judged = reader.position() - from + 32 * op.operands.size() + 8 * op.code.registers();
    Reader::at_most(judged, kMostJudged, "bytes that a judge of the map gets");
  }
  if (found != phase) malformed("an op of another phase");
  return op;
}

}  // namespace

Program read_program(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  int32_t tensor = -1, phase = -1, number = -1;
  try {
    Reader::at_most(bytes.size(), kMostBytes, "bytes");
    if (std::memcmp(reader.raw(8).data(), "ASSAYPR1", 8) != 0) malformed("not a program");
    if (const uint16_t version = reader.u16(); version != 1) malformed("version " + std::to_string(version) + "; this is version 1");
    Program program;
    program.k = static_cast<uint32_t>(Reader::at_most(reader.u32(), kMostSteps, "steps a segment"));
    if (program.k == 0) limit("a segment has at least one step");
    const auto tensors = Reader::at_most(reader.u16(), kMostTensors, "tensors");
    const uint32_t counts[2] = {reader.u16(), reader.u16()};
    Reader::at_most(counts[0] + counts[1], kMostOps, "ops");
    if (counts[1] == 0) limit("a step has at least one op");
    for (uint64_t i = 0; i < tensors; ++i) {
      tensor = static_cast<int32_t>(i);
      program.tensors.push_back(read_tensor(reader));
    }
    tensor = -1;
    for (phase = 0; phase < 2; ++phase)
      for (uint32_t i = 0; i < counts[phase]; ++i) {
        number = static_cast<int32_t>(i);
        (phase == 0 ? program.init : program.step).push_back(read_op(reader, static_cast<Phase>(phase)));
      }
    phase = number = -1;
    if (!reader.is_at_end()) malformed("bytes follow the last op");
    return program;
  } catch (Fault& fault) {
    if (tensor >= 0) fault.tensor = tensor;
    else if (number >= 0) fault.phase = phase, fault.op = number;
    throw;
  }
}

}  // namespace assay::work
