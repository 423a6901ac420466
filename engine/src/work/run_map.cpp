#include "work/run_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::work {
namespace {

constexpr uint32_t kBlock = 1024;
using Lane = int64_t[kBlock];

// What one block of elements needs beside its registers.
struct Block {
  const Op& op;
  const void* const* operands;
  const Moment& moment;
  uint32_t count = 0;
  int64_t turn = 0;
  std::vector<Lane>* lanes = nullptr;
  Lane coordinates[kMostRank];

  int64_t* reg(uint32_t number) { return (*lanes)[number]; }
};

// ⌊√x⌋: the nearest double is off by one at most.
int64_t square_root(int64_t x) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  const auto value = static_cast<uint64_t>(x);
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return static_cast<int64_t>(root);
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

// To the nearest, halves upwards: ⌊(2a + b) / 2b⌋ without leaving 64 bits.
int64_t round_div(int64_t a, int64_t b) {
  const int64_t q = floor_div(a, b), rest = a - q * b;
  return rest >= b - rest ? q + 1 : q;
}

int64_t round_shift(int64_t x, int64_t k) {
  if (k <= 0) return static_cast<int64_t>(static_cast<uint64_t>(x) << -k);
  return (x >> k) + (x >> (k - 1) & 1);
}

int64_t bit_length(int64_t x) {
  const uint64_t u = x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x);
  return 64 - std::countl_zero(u);
}

void find_coordinates(Block& block, uint64_t first) {
  const Dims& dims = block.op.dims;
  uint64_t at[kMostRank], rest = first;
  for (size_t axis = dims.size(); axis-- > 0;) {
    at[axis] = rest % dims[axis];
    rest /= dims[axis];
  }
  for (uint32_t i = 0; i < block.count; ++i) {
    for (size_t axis = 0; axis < dims.size(); ++axis) block.coordinates[axis][i] = static_cast<int64_t>(at[axis]);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

template <typename T>
void gather(const void* from, const int64_t* index, uint32_t count, int64_t* out) {
  const T* elements = static_cast<const T*>(from);
  for (uint32_t i = 0; i < count; ++i) out[i] = index[i] < 0 ? 0 : static_cast<int64_t>(elements[index[i]]);
}

// Along one axis, before its edge.
void find_places(Block& block, const Place& place, int64_t* at) {
  const uint32_t count = block.count;
  int64_t fixed = place.constant;
  for (const Term& term : place.terms) {
    if (term.of == kSegment) fixed += term.times * static_cast<int64_t>(block.moment.segment);
    else if (term.of == kStep) fixed += int64_t{term.times} * block.moment.step;
    else if (term.of == kTurn) fixed += term.times * block.turn;
  }
  // Sums of a place fit, in whatever order: as unsigned numbers they may wrap on the way.
  for (uint32_t i = 0; i < count; ++i) at[i] = fixed;
  const auto add = [&](const int64_t* from, int64_t times) {
    for (uint32_t i = 0; i < count; ++i)
      at[i] = static_cast<int64_t>(static_cast<uint64_t>(at[i]) + static_cast<uint64_t>(times) * static_cast<uint64_t>(from[i]));
  };
  if (place.reg) add(block.reg(*place.reg), 1);
  for (const Term& term : place.terms)
    if (term.of < kMostRank) add(block.coordinates[term.of], term.times);
}

void load(Block& block, const Instruction& one, int64_t* out) {
  const Operand& operand = block.op.operands[one.operand];
  Lane index{}, at;
  bool outside[kBlock] = {};
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const Place& place = one.place[axis];
    const int64_t dim = operand.dims[axis];
    find_places(block, place, at);
    for (uint32_t i = 0; i < block.count; ++i) {
      int64_t p = at[i];
      if (p < 0 || p >= dim) {
        if (place.edge == Edge::zero) outside[i] = true;
        if (place.edge == Edge::wrap) p = (p % dim + dim) % dim;
        else p = p < 0 ? 0 : dim - 1;
      }
      index[i] = index[i] * dim + p;
    }
  }
  for (uint32_t i = 0; i < block.count; ++i)
    if (outside[i]) index[i] = -1;
  const void* from = block.operands[one.operand];
  switch (operand.type) {
    case Type::i8: return gather<int8_t>(from, index, block.count, out);
    case Type::i16: return gather<int16_t>(from, index, block.count, out);
    case Type::i32: return gather<int32_t>(from, index, block.count, out);
    case Type::i64: return gather<int64_t>(from, index, block.count, out);
  }
}

void run_instruction(Block& block, const Instruction& one, int64_t* out) {
  const uint32_t count = block.count;
  const int64_t *a = block.reg(one.a), *b = block.reg(one.b), *c = block.reg(one.c);
  const auto each = [&](auto f) {
    for (uint32_t i = 0; i < count; ++i) out[i] = f(i);
  };
  switch (one.code) {
    case Code::load: return load(block, one, out);
    case Code::constant: return each([&](uint32_t) { return one.value; });
    case Code::iota: return each([&](uint32_t i) { return block.coordinates[one.axis][i]; });
    case Code::segment: return each([&](uint32_t) { return static_cast<int64_t>(block.moment.segment); });
    case Code::step: return each([&](uint32_t) { return int64_t{block.moment.step}; });
    case Code::turn: return each([&](uint32_t) { return block.turn; });
    case Code::rand: {
      const uint32_t when = global_step(block.moment.segment, block.moment.step, block.moment.k);
      return each([&](uint32_t i) {
        const auto x = static_cast<uint64_t>(a[i]);
        const auto low = static_cast<uint32_t>(x), high = static_cast<uint32_t>(x >> 32);
        return int64_t{philox4x32_10(block.moment.key, low, high, when, one.domain).w[0]};
      });
    }
    case Code::add: return each([&](uint32_t i) { return a[i] + b[i]; });
    case Code::sub: return each([&](uint32_t i) { return a[i] - b[i]; });
    case Code::mul: return each([&](uint32_t i) { return a[i] * b[i]; });
    case Code::neg: return each([&](uint32_t i) { return -a[i]; });
    case Code::abs: return each([&](uint32_t i) { return a[i] < 0 ? -a[i] : a[i]; });
    case Code::min: return each([&](uint32_t i) { return std::min(a[i], b[i]); });
    case Code::max: return each([&](uint32_t i) { return std::max(a[i], b[i]); });
    case Code::shl: return each([&](uint32_t i) { return round_shift(a[i], -int64_t{one.bits}); });
    case Code::shr: return each([&](uint32_t i) { return a[i] >> one.bits; });
    case Code::rsh: return each([&](uint32_t i) { return round_shift(a[i], one.bits); });
    case Code::rshv: return each([&](uint32_t i) { return round_shift(a[i], b[i]); });
    case Code::div: return each([&](uint32_t i) { return floor_div(a[i], b[i]); });
    case Code::rdiv: return each([&](uint32_t i) { return round_div(a[i], b[i]); });
    case Code::isqrt: return each([&](uint32_t i) { return square_root(a[i]); });
    case Code::bitlen: return each([&](uint32_t i) { return bit_length(a[i]); });
    case Code::eq: return each([&](uint32_t i) { return int64_t{a[i] == b[i]}; });
    case Code::lt: return each([&](uint32_t i) { return int64_t{a[i] < b[i]}; });
    case Code::and_: return each([&](uint32_t i) { return a[i] & b[i]; });
    case Code::or_: return each([&](uint32_t i) { return a[i] | b[i]; });
    case Code::xor_: return each([&](uint32_t i) { return a[i] ^ b[i]; });
    case Code::select: return each([&](uint32_t i) { return a[i] != 0 ? b[i] : c[i]; });
    case Code::clamp: return each([&](uint32_t i) { return std::min(std::max(a[i], b[i]), c[i]); });
  }
}

uint32_t run_section(Block& block, const std::vector<Instruction>& section, uint32_t first) {
  for (const Instruction& one : section) run_instruction(block, one, block.reg(first++));
  return first;
}

void clamp_into(const Block& block, const int64_t* from, const Interval& interval, int64_t* to) {
  for (uint32_t i = 0; i < block.count; ++i) to[i] = std::clamp(from[i], interval.lo, interval.hi);
}

void run_turns(Block& block, uint32_t carried_at, std::vector<Lane>& next) {
  const MapCode& code = block.op.code;
  const auto carried = static_cast<uint32_t>(code.carried.size());
  for (uint32_t i = 0; i < carried; ++i)
    clamp_into(block, block.reg(code.carried[i].from), code.carried[i].interval, block.reg(carried_at + i));
  for (uint32_t turn = 0; turn < code.turns; ++turn) {
    block.turn = turn;
    run_section(block, code.body, carried_at + carried);
    // All of them from the same turn: one may be another's next.
    for (uint32_t i = 0; i < carried; ++i) clamp_into(block, block.reg(code.carried[i].next), code.carried[i].interval, next[i]);
    for (uint32_t i = 0; i < carried; ++i) std::copy_n(next[i], block.count, block.reg(carried_at + i));
  }
  block.turn = 0;
}

template <typename T>
void store(const int64_t* from, uint32_t count, void* out, uint64_t first) {
  T* elements = static_cast<T*>(out) + first;
  for (uint32_t i = 0; i < count; ++i) elements[i] = static_cast<T>(from[i]);
}

}  // namespace

void run_map(const Op& op, const void* const* operands, void* out, const Moment& moment, Part part) {
  const MapCode& code = op.code;
  std::vector<Lane> lanes(code.registers()), next(code.carried.size());
  Block block{op, operands, moment, 0, 0, &lanes, {}};
  for (uint64_t first = part.first; first < part.end; first += kBlock) {
    block.count = static_cast<uint32_t>(std::min<uint64_t>(kBlock, part.end - first));
    find_coordinates(block, first);
    const uint32_t carried_at = run_section(block, code.before, 0);
    if (code.turns > 0) {
      run_turns(block, carried_at, next);
      run_section(block, code.after, carried_at + static_cast<uint32_t>(code.carried.size() + code.body.size()));
    }
    const int64_t* last = lanes.back();
    switch (op.type) {
      case Type::i8: store<int8_t>(last, block.count, out, first); break;
      case Type::i16: store<int16_t>(last, block.count, out, first); break;
      case Type::i32: store<int32_t>(last, block.count, out, first); break;
      case Type::i64: store<int64_t>(last, block.count, out, first); break;
    }
  }
}

}  // namespace assay::work
