// Random programs that the checker lets pass: an op of each kind with random shapes, types and, for maps,
// code. Whatever instruction would be refused is left out, so that many bounds are met closely. The same for
// the same seed.
#pragma once
#include <algorithm>
#include <random>

#include "work/program.hpp"

namespace assay_test {

using namespace assay::work;

class RandomPrograms {
 public:
  explicit RandomPrograms(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t end) { return random_() % end; }
  int64_t between(int64_t lo, int64_t hi) {
    const uint64_t span = static_cast<uint64_t>(hi) - static_cast<uint64_t>(lo) + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(lo) + (span == 0 ? random_() : random_() % span));
  }
  bool chance(uint64_t of) { return below(of) == 0; }

  static Interval full(Type type) {
    const int64_t high = static_cast<int64_t>((uint64_t{1} << (8 * bytes_of(type) - 1)) - 1);
    return {-high - 1, high};
  }
  // Inside the type; often all of it, often few bits.
  Interval interval(Type type, uint32_t most_bits = 63) {
    Interval all = full(type);
    const uint32_t bits = std::min<uint32_t>(8 * bytes_of(type) - 1, most_bits);
    if (bits < 8 * bytes_of(type) - 1) all = {-(int64_t{1} << bits), (int64_t{1} << bits) - 1};
    if (chance(2)) return all;
    const uint64_t fewer = below(bits + 1);
    const auto high = static_cast<int64_t>((uint64_t{1} << fewer) - 1);
    return chance(3) ? Interval{0, high} : Interval{-high - 1, high};
  }

  // An input of random elements within its interval.
  std::vector<uint8_t> elements(const Tensor& tensor) {
    const uint64_t count = element_count(tensor.dims);
    const uint32_t size = bytes_of(tensor.type);
    std::vector<uint8_t> bytes(count * size);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t pick = below(8);
      const int64_t value = pick == 0 ? tensor.interval.lo : pick == 1 ? tensor.interval.hi : between(tensor.interval.lo, tensor.interval.hi);
      for (uint32_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * b));
    }
    return bytes;
  }

  // Of these types, or of any.
  Program matmul(uint32_t most, uint32_t most_depth, std::optional<Type> a = {}, std::optional<Type> b = {});
  Program reduce(uint32_t most, std::optional<Type> from = {});
  Program scatter(uint32_t most, std::optional<Type> from = {});
  Program map(uint32_t most, std::optional<Type> from = {});

 private:
  uint32_t dim(uint32_t most) { return static_cast<uint32_t>(1 + below(chance(2) ? most : std::min(most, 17u))); }
  Type type(uint32_t kinds = 4) { return static_cast<Type>(below(kinds)); }
  Operand input(Program& program, Type type, Dims dims, Interval interval) {
    const auto index = static_cast<uint16_t>(program.tensors.size());
    Tensor tensor{TensorKind::input, type, dims, interval, "in" + std::to_string(index), {}};
    program.tensors.push_back(std::move(tensor));
    return {Source::input, index, type, std::move(dims)};
  }
  // The op's output as the result of a program of one op, with the narrowest type that holds its interval or
  // a wider one.
  Program finish(Program program, Op op, Interval found, uint32_t least_type);
  Instruction instruction(const Op& op, uint32_t registers, bool in_body);
  Place place(const Op& op, uint32_t registers, uint32_t dim, bool in_body, size_t axis);
  void grow(Program& program, Op& op, std::vector<Instruction>& section, uint32_t want, bool in_body);
  void choose(Program& program, Op& op);

  std::mt19937_64 random_;
};

inline Program RandomPrograms::finish(Program program, Op op, Interval found, uint32_t least_type) {
  uint32_t narrowest = least_type;
  while (narrowest < 3 && (full(static_cast<Type>(narrowest)).lo > found.lo || full(static_cast<Type>(narrowest)).hi < found.hi)) ++narrowest;
  op.type = static_cast<Type>(chance(2) ? narrowest : narrowest + below(4 - narrowest));
  op.interval = found;
  op.target = static_cast<uint16_t>(program.tensors.size());
  program.tensors.push_back({TensorKind::result, op.type, op.dims, found, "result", {}});
  program.step = {std::move(op)};
  return program;
}

inline Program RandomPrograms::matmul(uint32_t most, uint32_t most_depth, std::optional<Type> wanted_a, std::optional<Type> wanted_b) {
  Program program;
  const uint32_t depth = dim(most_depth), share_a = chance(2) ? 1 : 1 + below(3), share_b = chance(2) ? 1 : 1 + below(3);
  const uint32_t batch = share_a * share_b * (1 + static_cast<uint32_t>(below(2))), m = dim(most), n = dim(most);
  Op op{Operator::matmul, Type::i64, {batch, m, n}, {}, std::nullopt, {}, Reduction::sum, {}};
  // 62 bits for the product of both and the depth.
  const Type a = wanted_a.value_or(type(3)), b = wanted_b.value_or(type(3));
  const uint32_t room = 62 - std::bit_width(depth), bits_a = std::min<uint32_t>(8 * bytes_of(a) - 1, room / 2);
  const Interval x = interval(a, bits_a), y = interval(b, room - bits_a);
  op.operands.push_back(input(program, a, {batch / share_a, m, depth}, x));
  op.operands.push_back(input(program, b, {batch / share_b, n, depth}, y));
  const int64_t ends[] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
  const auto [lo, hi] = std::minmax_element(std::begin(ends), std::end(ends));
  return finish(std::move(program), std::move(op), {*lo * depth, *hi * depth}, 2);
}

inline Program RandomPrograms::reduce(uint32_t most, std::optional<Type> wanted) {
  Program program;
  const uint32_t rows = dim(most), count = dim(most);
  Op op{Operator::reduce, Type::i64, {rows}, {}, std::nullopt, {}, static_cast<Reduction>(below(5)), {}};
  const Type from = wanted.value_or(type());
  const Interval x = interval(from, 62 - std::bit_width(count));
  op.operands.push_back(input(program, from, {rows, count}, x));
  Interval found = x;
  if (op.reduction == Reduction::sum) found = {x.lo * count, x.hi * count};
  if (op.reduction >= Reduction::argmax) found = {0, int64_t{count} - 1};
  return finish(std::move(program), std::move(op), found, 0);
}

inline Program RandomPrograms::scatter(uint32_t most, std::optional<Type> wanted) {
  Program program;
  const uint32_t rows = dim(most), width = dim(most), terms = dim(most);
  Op op{Operator::scatter_add, Type::i64, {rows, width}, {}, std::nullopt, {}, Reduction::sum, {}};
  const Type from = wanted.value_or(type());
  const Interval x = interval(from, 62 - std::bit_width(terms));
  op.operands.push_back(input(program, from, {width, terms}, x));
  const Type index = rows > 127 ? Type::i32 : type();
  op.operands.push_back(input(program, index, {terms}, {0, int64_t{rows} - 1}));
  return finish(std::move(program), std::move(op), {std::min<int64_t>(0, x.lo * terms), std::max<int64_t>(0, x.hi * terms)}, 0);
}

inline Place RandomPrograms::place(const Op& op, uint32_t registers, uint32_t dim, bool in_body, size_t axis) {
  Place place{static_cast<Edge>(below(4)), std::nullopt, 0, {}};
  if (axis < op.dims.size() && op.dims[axis] <= dim && chance(2)) {
    place.edge = Edge::inside;
    place.terms.push_back({static_cast<uint8_t>(axis), 1});
    return place;
  }
  // A neighbour, as stencils read it.
  if (axis < op.dims.size() && chance(2)) {
    place.constant = static_cast<int32_t>(between(-2, 2));
    if (chance(8)) place.constant *= static_cast<int32_t>(dim);
    place.terms.push_back({static_cast<uint8_t>(axis), 1});
    return place;
  }
  if (chance(3) && registers > 0) place.reg = static_cast<uint8_t>(below(registers));
  place.constant = static_cast<int32_t>(between(-3, 3));
  for (uint8_t of = 0; of <= kTurn; ++of) {
    if ((of < kSegment && of >= op.dims.size()) || (of == kTurn && !in_body) || !chance(3)) continue;
    const auto times = static_cast<int32_t>(between(-3, 3));
    if (times != 0) place.terms.push_back({of, times});
  }
  return place;
}

inline Instruction RandomPrograms::instruction(const Op& op, uint32_t registers, bool in_body) {
  Instruction one{};
  one.code = registers == 0 ? Code::load : static_cast<Code>(below(kCodes));
  if (one.code == Code::turn && !in_body) one.code = Code::load;
  const auto reg = [&] { return static_cast<uint8_t>(registers == 0 ? 0 : below(registers)); };
  one.a = reg(), one.b = reg(), one.c = reg();
  one.axis = static_cast<uint8_t>(below(op.dims.size()));
  one.bits = static_cast<uint8_t>(1 + below(chance(2) ? 8 : kMostBits));
  one.domain = static_cast<uint32_t>(random_());
  one.value = interval(type()).hi * (chance(2) ? 1 : -1);
  if (chance(4)) one.value = (int64_t{1} << below(63)) * (chance(2) ? 1 : -1);
  if (one.code == Code::load) {
    one.operand = static_cast<uint8_t>(below(op.operands.size()));
    const Dims& dims = op.operands[one.operand].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) one.place.push_back(place(op, registers, dims[axis], in_body, axis));
  }
  return one;
}

// Instructions that the checker takes; a program of what there is is checked for each.
inline void RandomPrograms::grow(Program& program, Op& op, std::vector<Instruction>& section, uint32_t want, bool in_body) {
  for (uint32_t tries = 0; section.size() < want && tries < 8 * want; ++tries) {
    const auto before = static_cast<uint32_t>(op.code.before.size());
    const uint32_t registers = &section == &op.code.before ? before
                               : &section == &op.code.body ? before + static_cast<uint32_t>(op.code.carried.size() + op.code.body.size())
                                                           : before + static_cast<uint32_t>(op.code.carried.size());
    Instruction one = instruction(op, registers, in_body);
    section.push_back(std::move(one));
    program.step = {op};
    try {
      check_program(program);
    } catch (const Fault&) {
      section.pop_back();
    }
  }
}

// One of two numbers in the body, of which one or both take long to find.
inline void RandomPrograms::choose(Program& program, Op& op) {
  auto& body = op.code.body;
  const size_t size = body.size(), first = op.code.before.size() + op.code.carried.size();
  const auto reg = [&] { return static_cast<uint8_t>(below(first + size)); };
  const auto put = [&](Code code, uint8_t a, uint8_t b = 0, uint8_t c = 0, int64_t value = 0) {
    body.push_back({code, a, b, c, 0, 0, 0, 0, value, {}});
    return static_cast<uint8_t>(first + body.size() - 1);
  };
  const auto long_way = [&] {
    const uint8_t divisor = put(Code::max, put(Code::abs, reg()), put(Code::constant, 0, 0, 0, 1 + static_cast<int64_t>(below(1000))));
    const uint8_t share = put(chance(2) ? Code::div : Code::rdiv, chance(2) ? reg() : put(Code::abs, reg()), divisor);
    return chance(3) ? put(Code::isqrt, put(Code::abs, share)) : share;
  };
  const uint8_t asked = chance(2) ? put(Code::lt, reg(), reg()) : reg();
  const uint8_t yes = chance(3) ? reg() : long_way(), no = chance(2) ? reg() : long_way();
  const uint8_t chosen = put(Code::select, asked, yes, chance(8) ? yes : no);
  const int64_t end = int64_t{1} << below(50);
  if (chance(2)) put(Code::clamp, chosen, put(Code::constant, 0, 0, 0, -end), put(Code::constant, 0, 0, 0, end));
  program.step = {op};
  try {
    check_program(program);
  } catch (const Fault&) {
    body.resize(size);
  }
}

inline Program RandomPrograms::map(uint32_t most, std::optional<Type> wanted) {
  Program program;
  program.k = static_cast<uint32_t>(1 + below(4));
  Op op{Operator::map, Type::i64, {}, full(Type::i64), std::nullopt, {}, Reduction::sum, {}};
  for (uint64_t rank = 1 + below(4); op.dims.size() < rank;) op.dims.push_back(dim(op.dims.empty() ? most : 9));
  // Some so that four neighbours lie in one row.
  if (chance(2)) op.dims.back() = (op.dims.back() + 3) / 4 * 4;
  for (uint64_t operands = 1 + below(3); op.operands.size() < operands;) {
    const Type from = wanted.value_or(type());
    Dims dims = op.dims;
    if (chance(2))
      for (uint32_t& one : dims) one = dim(9);
    op.operands.push_back(input(program, from, std::move(dims), interval(from, chance(2) ? 20 : 63)));
  }
  grow(program, op, op.code.before, static_cast<uint32_t>(2 + below(20)), false);
  if (op.code.before.empty()) op.code.before.push_back({Code::constant, 0, 0, 0, 0, 0, 0, 0, 7, {}});
  if (chance(2)) {
    const auto before = static_cast<uint32_t>(op.code.before.size());
    MapCode kept = op.code;
    // Some so long that a loop may come to rest before its end.
    op.code.turns = static_cast<uint16_t>(chance(3) ? 16 + 4 * below(8) : 1 + below(9));
    for (uint64_t carried = 1 + below(3); op.code.carried.size() < carried;)
      op.code.carried.push_back({static_cast<uint8_t>(below(before)), 0, interval(type(), 40)});
    // A body and an end there must be before anything is checked.
    const auto first = static_cast<uint8_t>(before);
    op.code.body.push_back({Code::min, first, first, 0, 0, 0, 0, 0, 0, {}});
    op.code.after.push_back({Code::max, first, first, 0, 0, 0, 0, 0, 0, {}});
    for (Carried& one : op.code.carried) one.next = first;
    grow(program, op, op.code.body, static_cast<uint32_t>(2 + below(8)), true);
    for (uint64_t choices = below(3); choices > 0; --choices) choose(program, op);
    const auto all = before + static_cast<uint32_t>(op.code.carried.size() + op.code.body.size());
    for (Carried& one : op.code.carried) one.next = static_cast<uint8_t>(chance(2) ? all - 1 - below(std::min<size_t>(3, op.code.body.size())) : below(all));
    grow(program, op, op.code.after, static_cast<uint32_t>(1 + below(4)), false);
    program.step = {op};
    try {
      check_program(program);
    } catch (const Fault&) {
      op.code = std::move(kept);
    }
  }
  program.step = {op};
  const CheckedProgram checked = check_program(program);
  return finish(std::move(program), std::move(op), checked.step_registers[0].back(), 0);
}

}  // namespace assay_test
