// What a program is, docs/work.md §4: tensors, operators, code of maps. Only shapes: read_program.cpp makes
// them from hostile bytes, check_program.cpp says whether one may run. The TypeScript twin is
// src/work/program/; neither reads the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::work {

enum class Type : uint8_t { i8, i16, i32, i64 };
constexpr uint32_t bytes_of(Type type) { return 1u << static_cast<uint8_t>(type); }

struct Interval {
  int64_t lo = 0, hi = 0;
};

using Dims = std::vector<uint32_t>;
inline uint64_t element_count(const Dims& dims) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) count *= dim;
  return count;
}

enum class TensorKind : uint8_t { constant, input, state, scratch, result, metric };
struct Tensor {
  TensorKind kind;
  Type type;
  Dims dims;
  Interval interval;
  std::string name;
  uint8_t root[32] = {};  // of a constant only
};

enum class Source : uint8_t { op, constant, input, state, scratch };
struct Operand {
  Source source;
  uint16_t index;
  Type type;
  Dims dims;
};

// Variables of places besides the coordinates 0 … 5.
constexpr uint8_t kSegment = 6, kStep = 7, kTurn = 8;
struct Term {
  uint8_t of;
  int32_t times;
};
enum class Edge : uint8_t { inside, zero, wrap, clamp };
// Where a load reads along one axis of its operand.
struct Place {
  Edge edge;
  std::optional<uint8_t> reg;
  int32_t constant;
  std::vector<Term> terms;
};

// In the order of their codes.
enum class Code : uint8_t {
  load, constant, iota, segment, step, turn, rand, add, sub, mul, neg, abs, min, max, shl, shr, rsh, rshv, div, rdiv, isqrt,
  bitlen, eq, lt, and_, or_, xor_, select, clamp
};
constexpr uint8_t kCodes = 29;
struct Instruction {
  Code code;
  uint8_t a = 0, b = 0, c = 0;  // registers
  uint8_t operand = 0, axis = 0, bits = 0;
  uint32_t domain = 0;
  int64_t value = 0;
  std::vector<Place> place;  // of a load, an axis of its operand each
};

// How many of a, b, c an instruction reads.
constexpr uint32_t operand_count(Code code) {
  switch (code) {
    case Code::load:
    case Code::constant:
    case Code::iota:
    case Code::segment:
    case Code::step:
    case Code::turn: return 0;
    case Code::rand:
    case Code::neg:
    case Code::abs:
    case Code::shl:
    case Code::shr:
    case Code::rsh:
    case Code::isqrt:
    case Code::bitlen: return 1;
    case Code::select:
    case Code::clamp: return 3;
    default: return 2;
  }
}
// Calls f with each register that it reads.
template <typename F>
void each_operand(const Instruction& one, F f) {
  const uint8_t registers[] = {one.a, one.b, one.c};
  for (uint32_t i = 0; i < operand_count(one.code); ++i) f(registers[i]);
  if (one.code != Code::load) return;
  for (const Place& place : one.place)
    if (place.reg) f(*place.reg);
}

struct Carried {
  uint8_t from, next;  // registers: before the first turn, after each
  Interval interval;
};
// Registers: those of `before`, one for each carried value, those of `body`, those of `after`. The last one
// is the output.
struct MapCode {
  uint16_t turns = 0;
  std::vector<Carried> carried;
  std::vector<Instruction> before, body, after;
  uint32_t registers() const { return static_cast<uint32_t>(before.size() + carried.size() + body.size() + after.size()); }
};

// The body does not know its turn: once it changes nothing it never will again, and the loop may end there.
// Short loops are not asked.
constexpr uint32_t kLeastSettling = 16;
inline bool may_settle(const MapCode& code) {
  const auto of_turn = [](const Term& term) { return term.of == kTurn; };
  const auto knows_turn = [&](const Instruction& one) {
    return one.code == Code::turn || std::ranges::any_of(one.place, [&](const Place& place) { return std::ranges::any_of(place.terms, of_turn); });
  };
  return code.turns >= kLeastSettling && std::ranges::none_of(code.body, knows_turn);
}

enum class Operator : uint8_t { matmul, map, reduce, scatter_add };
enum class Reduction : uint8_t { sum, max, min, argmax, argmin };
enum class Phase : uint8_t { init, step };

struct Op {
  Operator op;
  Type type;
  Dims dims;
  Interval interval;
  std::optional<uint16_t> target;
  std::vector<Operand> operands;
  Reduction reduction = Reduction::sum;
  MapCode code;
};

struct Program {
  uint32_t k = 1;  // steps a segment
  std::vector<Tensor> tensors;
  std::vector<Op> init, step;
  const std::vector<Op>& ops(Phase phase) const { return phase == Phase::init ? init : step; }
};

// The declared interval of what an operand reads.
inline const Interval& interval_of(const Program& program, Phase phase, const Operand& operand) {
  return operand.source == Source::op ? program.ops(phase)[operand.index].interval : program.tensors[operand.index].interval;
}

constexpr uint32_t kMostBytes = 1u << 20, kMostSteps = 65536, kMostTensors = 4096, kMostOps = 65535, kMostRank = 6, kMostOperands = 8,
                   kMostRegisters = 256, kMostTurns = 4096, kMostCarried = 16, kMostTerms = 9, kMostSummed = 1u << 20, kMostName = 64,
                   kMostBits = 62, kMostMetric = 1024;
// Of a map: what a judge of one element gets (its leaf, the root of each operand, 8 bytes for each register),
// and the instructions of before where turns follow, whose registers a judge of a turn gets twice.
constexpr uint32_t kMostJudged = 2960, kMostBeforeTurns = 112;
constexpr uint64_t kMostDim = (uint64_t{1} << 31) - 1, kMostElements = uint64_t{1} << 40;
constexpr uint64_t kMostSegment = (uint64_t{1} << 31) - 1, kMostGlobalStep = (uint64_t{1} << 32) - 2;

// The highest number that a segment of k steps may have.
constexpr uint64_t last_segment(uint32_t k) {
  const uint64_t by_steps = (kMostGlobalStep + 1) / k;
  return by_steps < kMostSegment ? by_steps : kMostSegment;
}
// Third word of rand's counter: init has the number that no step can have.
constexpr uint32_t global_step(uint64_t segment, uint32_t step, uint32_t k) {
  return segment == 0 ? static_cast<uint32_t>(kMostGlobalStep + 1) : static_cast<uint32_t>((segment - 1) * k + step);
}

// Why a program is refused: a code of src/protocol/codes.ts and where. Both checkers give one verdict.
struct Fault {
  const char* code;
  std::string message;
  int32_t tensor = -1, phase = -1, op = -1, instruction = -1;
};

// A program that may run, with the interval of every register of its maps.
struct CheckedProgram {
  Program program;
  std::vector<std::vector<Interval>> init_registers, step_registers;
  const std::vector<Interval>& registers(Phase phase, size_t op) const {
    return (phase == Phase::init ? init_registers : step_registers)[op];
  }
};

// Throw Fault.
Program read_program(std::span<const uint8_t> bytes);
CheckedProgram check_program(Program program);

}  // namespace assay::work
