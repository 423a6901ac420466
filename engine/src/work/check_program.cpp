// May this program run? docs/work.md §5: every register stays in 64 bits, every index inside its operand,
// every divisor at least 1, every output inside its interval, and state keeps its bounds for ever. The order
// of the checks is the page's, so that this checker and the one in TypeScript name the same first fault.
// Arithmetic is in 128 bits: no product of two 64-bit values leaves them.
#include <algorithm>
#include <bit>
#include <map>

#include "work/program.hpp"

namespace assay::work {
namespace {

using Wide = __int128;
struct Range {
  Wide lo, hi;
};
// What is wrong, before anyone says where; `instruction` in a map.
struct Wrong {
  const char* code;
  const char* message;
  int32_t instruction = -1;
};

constexpr Wide kI64Lo = -(Wide{1} << 63), kI64Hi = (Wide{1} << 63) - 1;

Range wide(const Interval& x) { return {x.lo, x.hi}; }
Interval narrow(const Range& x) { return {static_cast<int64_t>(x.lo), static_cast<int64_t>(x.hi)}; }
bool is_inside(const Range& inner, const Range& outer) { return outer.lo <= inner.lo && inner.hi <= outer.hi; }
bool fits(const Range& x) { return x.lo >= kI64Lo && x.hi <= kI64Hi; }
Range hull(std::initializer_list<Wide> values) { return {std::min(values), std::max(values)}; }
Range type_range(Type type) {
  const Wide half = Wide{1} << (8 * bytes_of(type) - 1);
  return {-half, half - 1};
}
bool holds_zero(const Interval& x) { return x.lo <= 0 && x.hi >= 0; }
Wide magnitude(const Range& x) { return std::max(-x.lo, x.hi); }

// ---- arithmetic on values, as the page has it
Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && a < 0 ? q - 1 : q;
}
Wide shift_right(Wide x, uint32_t k) { return x >> k; }
Wide round_shift(Wide x, Wide k) {
  if (k <= 0) return x * (Wide{1} << static_cast<int>(-k));
  return (x + (Wide{1} << static_cast<int>(k - 1))) >> static_cast<int>(k);
}
uint32_t bit_length(Wide x) {
  unsigned __int128 u = x < 0 ? -static_cast<unsigned __int128>(x) : static_cast<unsigned __int128>(x);
  uint32_t n = 0;
  for (; u != 0; u >>= 1) ++n;
  return n;
}
Wide square_root(Wide x) {
  Wide lo = 0, hi = Wide{1} << 32;
  while (lo < hi) {
    const Wide middle = (lo + hi + 1) / 2;
    if (middle * middle <= x) lo = middle;
    else hi = middle - 1;
  }
  return lo;
}
Wide two(Code code, Wide a, Wide b) {
  switch (code) {
    case Code::mul: return a * b;
    case Code::rshv: return round_shift(a, b);
    case Code::div: return floor_div(a, b);
    default: return floor_div(2 * a + b, 2 * b);  // rdiv
  }
}

// ---- arithmetic on intervals
Range corners(Code code, const Range& a, const Range& b) {
  return hull({two(code, a.lo, b.lo), two(code, a.lo, b.hi), two(code, a.hi, b.lo), two(code, a.hi, b.hi)});
}
Range absolute(const Range& a) {
  if (a.lo >= 0) return a;
  return a.hi <= 0 ? Range{-a.hi, -a.lo} : Range{0, std::max(-a.lo, a.hi)};
}
Range bitwise(Code code, const Range& a, const Range& b) {
  const auto digits = [](Wide x) { return bit_length(x < 0 ? -x - 1 : x); };
  const Wide power = Wide{1} << std::max({digits(a.lo), digits(a.hi), digits(b.lo), digits(b.hi)});
  const bool a_positive = a.lo >= 0, b_positive = b.lo >= 0;
  if (code == Code::and_) {
    if (a_positive && b_positive) return {0, std::min(a.hi, b.hi)};
    if (a_positive || b_positive) return {0, a_positive ? a.hi : b.hi};
    return {-power, std::max(a.hi, b.hi)};
  }
  if (!a_positive || !b_positive) return {-power, power - 1};
  return {code == Code::or_ ? std::max(a.lo, b.lo) : Wide{0}, power - 1};
}
Range is_less(const Range& a, const Range& b) {
  if (a.hi < b.lo) return {1, 1};
  return a.lo >= b.hi ? Range{0, 0} : Range{0, 1};
}
Range is_equal(const Range& a, const Range& b) {
  if (a.hi < b.lo || b.hi < a.lo) return {0, 0};
  return a.lo == a.hi && b.lo == b.hi ? Range{1, 1} : Range{0, 1};
}
Wide clamped(Wide x, Wide lo, Wide hi) { return std::min(std::max(x, lo), hi); }

Range arithmetic(const Instruction& one, const Range& a, const Range& b, const Range& c) {
  if ((one.code == Code::div || one.code == Code::rdiv) && b.lo < 1) throw Wrong{"PROGRAM_DIVISOR", "a divisor is at least 1"};
  if (one.code == Code::isqrt && a.lo < 0) throw Wrong{"PROGRAM_DOMAIN", "isqrt needs at least 0"};
  if (one.code == Code::rshv && (b.lo < -31 || b.hi > 62)) throw Wrong{"PROGRAM_DOMAIN", "rshv takes -31..62"};
  Range found{};
  switch (one.code) {
    case Code::add: found = {a.lo + b.lo, a.hi + b.hi}; break;
    case Code::sub: found = {a.lo - b.hi, a.hi - b.lo}; break;
    case Code::mul:
      if (one.a == one.b) {
        const Range x = absolute(a);
        found = {x.lo * x.lo, x.hi * x.hi};
      } else found = corners(one.code, a, b);
      break;
    case Code::neg: found = {-a.hi, -a.lo}; break;
    case Code::abs: found = absolute(a); break;
    case Code::min: found = {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; break;
    case Code::max: found = {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; break;
    case Code::shl: found = {round_shift(a.lo, -Wide{one.bits}), round_shift(a.hi, -Wide{one.bits})}; break;
    case Code::shr: found = {shift_right(a.lo, one.bits), shift_right(a.hi, one.bits)}; break;
    case Code::rsh: found = {round_shift(a.lo, one.bits), round_shift(a.hi, one.bits)}; break;
    case Code::rshv:
    case Code::div:
    case Code::rdiv: found = corners(one.code, a, b); break;
    case Code::isqrt: found = {square_root(a.lo), square_root(a.hi)}; break;
    case Code::bitlen: {
      const Range x = absolute(a);
      found = {bit_length(x.lo), bit_length(x.hi)};
      break;
    }
    case Code::eq: found = is_equal(a, b); break;
    case Code::lt: found = is_less(a, b); break;
    case Code::and_:
    case Code::or_:
    case Code::xor_: found = bitwise(one.code, a, b); break;
    case Code::select:
      if (a.lo > 0 || a.hi < 0) found = b;
      else if (a.lo == 0 && a.hi == 0) found = c;
      else found = {std::min(b.lo, c.lo), std::max(b.hi, c.hi)};
      break;
    default: found = {clamped(a.lo, b.lo, c.lo), clamped(a.hi, b.hi, c.hi)};  // clamp
  }
  if (!fits(found)) throw Wrong{"PROGRAM_OVERFLOW", "outside 64 bits"};
  return found;
}

// ---- maps
struct Surroundings {
  const Op& op;
  Range segment, step, turn;
  const std::vector<Range>& operands;

  Range variable(uint8_t of) const {
    if (of == kSegment) return segment;
    if (of == kStep) return step;
    return of == kTurn ? turn : Range{0, Wide{op.dims[of]} - 1};
  }
};

Range load_range(const Instruction& one, const Surroundings& around, const std::vector<Interval>& registers) {
  bool may_be_zero = false;
  const Dims& dims = around.op.operands[one.operand].dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const Place& place = one.place[axis];
    Range at = place.reg ? wide(registers[*place.reg]) : Range{0, 0};
    at = {at.lo + place.constant, at.hi + place.constant};
    for (const Term& term : place.terms) {
      const Range range = around.variable(term.of), ends = hull({term.times * range.lo, term.times * range.hi});
      at = {at.lo + ends.lo, at.hi + ends.hi};
    }
    if (!fits(at)) throw Wrong{"PROGRAM_OVERFLOW", "a place outside 64 bits"};
    if (is_inside(at, {0, Wide{dims[axis]} - 1})) continue;
    if (place.edge == Edge::inside) throw Wrong{"PROGRAM_INDEX", "a load outside its operand"};
    if (place.edge == Edge::zero) may_be_zero = true;
  }
  const Range range = around.operands[one.operand];
  return may_be_zero ? hull({range.lo, range.hi, 0}) : range;
}

Range instruction_range(const Instruction& one, const Surroundings& around, const std::vector<Interval>& registers) {
  switch (one.code) {
    case Code::load: return load_range(one, around, registers);
    case Code::constant: return {one.value, one.value};
    case Code::iota: return around.variable(one.axis);
    case Code::segment: return around.segment;
    case Code::step: return around.step;
    case Code::turn: return around.turn;
    case Code::rand: return {0, (Wide{1} << 32) - 1};
    default: return arithmetic(one, wide(registers[one.a]), wide(registers[one.b]), wide(registers[one.c]));
  }
}

void check_output(const Range& found, const Op& op) {
  if (!is_inside(found, wide(op.interval))) throw Wrong{"PROGRAM_OUTPUT", "outside the declared interval"};
}

std::vector<Interval> check_map(const Op& op, const Surroundings& around) {
  std::vector<Interval> registers;
  try {
    const auto run = [&](const std::vector<Instruction>& section) {
      for (const Instruction& one : section) registers.push_back(narrow(instruction_range(one, around, registers)));
    };
    run(op.code.before);
    for (const Carried& one : op.code.carried) {
      if (one.interval.lo > one.interval.hi) throw Wrong{"PROGRAM_INTERVAL", "a carried value has an empty interval"};
      registers.push_back(one.interval);
    }
    run(op.code.body);
    run(op.code.after);
  } catch (Wrong& wrong) {
    wrong.instruction = static_cast<int32_t>(registers.size());
    throw;
  }
  try {
    check_output(wide(registers.back()), op);
  } catch (Wrong& wrong) {
    wrong.instruction = static_cast<int32_t>(registers.size()) - 1;
    throw;
  }
  return registers;
}

// ---- sums
void check_shape(bool is_right, const char* message) {
  if (!is_right) throw Wrong{"PROGRAM_SHAPE", message};
}
void check_terms(uint32_t count, const Wide& bound) {
  if (count * bound > kI64Hi) throw Wrong{"PROGRAM_OVERFLOW", "a sum may reach 2^63"};
}

void check_matmul(const Op& op, const std::vector<Range>& ranges) {
  check_shape(op.operands.size() == 2, "matmul has two operands");
  const Dims &a = op.operands[0].dims, &b = op.operands[1].dims, &c = op.dims;
  check_shape(a.size() == 3 && b.size() == 3 && c.size() == 3, "matmul has three axes each");
  check_shape(a[1] == c[1] && b[1] == c[2] && a[2] == b[2] && c[0] % a[0] == 0 && c[0] % b[0] == 0, "matmul does not fit");
  check_shape(a[2] <= kMostSummed, "matmul sums too many products");
  check_shape(op.operands[0].type != Type::i64 && op.operands[1].type != Type::i64, "matmul multiplies i8, i16 and i32");
  check_shape(op.type == Type::i32 || op.type == Type::i64, "matmul gives i32 or i64");
  const Range &x = ranges[0], &y = ranges[1];
  check_terms(a[2], magnitude(x) * magnitude(y));
  const Range product = hull({x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi});
  check_output({a[2] * product.lo, a[2] * product.hi}, op);
}

void check_reduce(const Op& op, const std::vector<Range>& ranges) {
  check_shape(op.operands.size() == 1, "reduce has one operand");
  const Dims& x = op.operands[0].dims;
  check_shape(x.size() == 2 && op.dims.size() == 1 && x[0] == op.dims[0], "reduce does not fit");
  check_shape(x[1] <= kMostSummed, "reduce takes too many elements");
  const Range& range = ranges[0];
  if (op.reduction == Reduction::sum) {
    check_terms(x[1], magnitude(range));
    check_output({x[1] * range.lo, x[1] * range.hi}, op);
  } else {
    const bool is_index = op.reduction == Reduction::argmax || op.reduction == Reduction::argmin;
    check_output(is_index ? Range{0, Wide{x[1]} - 1} : range, op);
  }
}

void check_scatter(const Op& op, const std::vector<Range>& ranges) {
  check_shape(op.operands.size() == 2, "scatter_add has two operands");
  const Dims &x = op.operands[0].dims, &index = op.operands[1].dims;
  check_shape(x.size() == 2 && index.size() == 1 && op.dims.size() == 2 && x[0] == op.dims[1] && x[1] == index[0],
              "scatter_add does not fit");
  check_shape(x[1] <= kMostSummed, "scatter_add takes too many rows");
  if (!is_inside(ranges[1], {0, Wide{op.dims[0]} - 1})) throw Wrong{"PROGRAM_INDEX", "scatter_add outside its output"};
  check_terms(x[1], magnitude(ranges[0]));
  check_output(hull({0, x[1] * ranges[0].lo, x[1] * ranges[0].hi}), op);
}

// ---- wiring
using Writers = std::map<uint16_t, size_t>;  // op by tensor

void check_declared(Type type, const Interval& interval) {
  if (interval.lo > interval.hi || !is_inside(wide(interval), type_range(type)))
    throw Wrong{"PROGRAM_INTERVAL", "an interval that is empty or outside its type"};
}

void check_target(const Program& program, Phase phase, const Op& op, const Writers& writers) {
  if (!op.target) return;
  const auto refuse = [](const char* message) { throw Wrong{"PROGRAM_TARGET", message}; };
  if (*op.target >= program.tensors.size()) refuse("writes a tensor that is not declared");
  const Tensor& tensor = program.tensors[*op.target];
  const bool may = tensor.kind == TensorKind::state ||
                   (phase == Phase::step && (tensor.kind == TensorKind::scratch || tensor.kind == TensorKind::result ||
                                             tensor.kind == TensorKind::metric));
  if (!may) refuse("writes a tensor that this phase may not write");
  if (writers.contains(*op.target)) refuse("writes a tensor that is written already");
  if (op.type != tensor.type || element_count(op.dims) != element_count(tensor.dims)) refuse("another type or count than its tensor");
  if (op.interval.lo != tensor.interval.lo || op.interval.hi != tensor.interval.hi) refuse("another interval than its tensor");
}

constexpr TensorKind kind_of(Source source) {
  return source == Source::constant ? TensorKind::constant
         : source == Source::input  ? TensorKind::input
         : source == Source::state  ? TensorKind::state
                                    : TensorKind::scratch;
}

Range source_range(const Program& program, Phase phase, size_t number, const Operand& operand, const Writers& writers) {
  const auto refuse = [](const char* message) { throw Wrong{"PROGRAM_WIRING", message}; };
  if (phase == Phase::init && (operand.source == Source::state || operand.source == Source::scratch))
    refuse("the init phase reads neither state nor scratch");
  const Dims* dims = nullptr;
  Type type{};
  Interval interval;
  if (operand.source == Source::op) {
    if (operand.index >= number) refuse("reads an op that does not come before it");
    const Op& from = program.ops(phase)[operand.index];
    dims = &from.dims, type = from.type, interval = from.interval;
  } else {
    if (operand.index >= program.tensors.size() || program.tensors[operand.index].kind != kind_of(operand.source))
      refuse("reads a tensor of another kind");
    const Tensor& from = program.tensors[operand.index];
    dims = &from.dims, type = from.type, interval = from.interval;
  }
  if (type != operand.type || element_count(*dims) != element_count(operand.dims)) refuse("reads with another type or count");
  if (operand.source != Source::op && writers.contains(operand.index)) refuse("reads a tensor after an op wrote it");
  return wide(interval);
}

std::vector<Interval> check_op(const Program& program, Phase phase, size_t number, const Writers& writers) {
  const Op& op = program.ops(phase)[number];
  check_declared(op.type, op.interval);
  check_target(program, phase, op, writers);
  std::vector<Range> ranges;
  for (const Operand& operand : op.operands) ranges.push_back(source_range(program, phase, number, operand, writers));
  switch (op.op) {
    case Operator::matmul: check_matmul(op, ranges); return {};
    case Operator::reduce: check_reduce(op, ranges); return {};
    case Operator::scatter_add: check_scatter(op, ranges); return {};
    case Operator::map: break;
  }
  const bool is_init = phase == Phase::init;
  const Range segment = is_init ? Range{0, 0} : Range{1, static_cast<Wide>(last_segment(program.k))};
  const Range step = is_init ? Range{0, 0} : Range{0, Wide{program.k} - 1};
  const Range turn = {0, op.code.turns == 0 ? Wide{0} : Wide{op.code.turns} - 1};
  return check_map(op, {op, segment, step, turn, ranges});
}

void check_tensors(const Program& program) {
  std::map<std::string, size_t> names;
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const auto at = static_cast<int32_t>(i);
    if (tensor.interval.lo > tensor.interval.hi || !is_inside(wide(tensor.interval), type_range(tensor.type)))
      throw Fault{"PROGRAM_INTERVAL", "an interval that is empty or outside its type", at};
    if (tensor.kind == TensorKind::scratch && !holds_zero(tensor.interval))
      throw Fault{"PROGRAM_INTERVAL", "scratch begins as zero, which its interval lacks", at};
    if (!names.emplace(tensor.name, i).second) throw Fault{"PROGRAM_MALFORMED", "a name stands twice", at};
  }
}

void check_written(const Program& program, const Writers& init, const Writers& step) {
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    const auto number = static_cast<uint16_t>(i);
    if (tensor.kind == TensorKind::state && !init.contains(number) && !holds_zero(tensor.interval))
      throw Fault{"PROGRAM_INTERVAL", "state that no init op writes begins as zero, which its interval lacks", number};
    if ((tensor.kind == TensorKind::result || tensor.kind == TensorKind::metric) && !step.contains(number))
      throw Fault{"PROGRAM_TARGET", "no step op writes this tensor", number};
  }
}

}  // namespace

CheckedProgram check_program(Program program) {
  check_tensors(program);
  CheckedProgram checked;
  Writers writers[2];
  for (const Phase phase : {Phase::init, Phase::step}) {
    const auto at = static_cast<int32_t>(phase);
    for (size_t number = 0; number < program.ops(phase).size(); ++number) {
      try {
        auto registers = check_op(program, phase, number, writers[at]);
        (phase == Phase::init ? checked.init_registers : checked.step_registers).push_back(std::move(registers));
      } catch (const Wrong& wrong) {
        throw Fault{wrong.code, wrong.message, -1, at, static_cast<int32_t>(number), wrong.instruction};
      }
      if (const auto target = program.ops(phase)[number].target) writers[at].emplace(*target, number);
    }
  }
  check_written(program, writers[0], writers[1]);
  checked.program = std::move(program);
  return checked;
}

}  // namespace assay::work
