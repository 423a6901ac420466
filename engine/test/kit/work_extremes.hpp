// Every operator and instruction where it is most likely to go wrong: the ends of every type, sums of 1 and
// of 2^20 terms, equals in argmax, shifts by 1 and 62, places far outside on both sides. Against
// naive_ops.hpp.
#pragma once
#include "naive_ops.hpp"

namespace assay_test {

// The ends of every width, their neighbours, and small numbers.
inline std::vector<int64_t> special_numbers(const Interval& within) {
  std::vector<int64_t> found;
  const auto add = [&](Wide x) {
    if (x >= within.lo && x <= within.hi) found.push_back(static_cast<int64_t>(x));
  };
  for (const int bits : {0, 1, 7, 15, 31, 32, 53, 62, 63})
    for (const Wide by : {-1, 0, 1}) add((Wide{1} << bits) + by), add(-(Wide{1} << bits) + by);
  for (const Wide x : {Wide{3037000499}, Wide{3037000499} * 3037000499, Wide{3037000499} * 3037000499 - 1, Wide{94906267} * 94906267 - 1}) add(x);
  add(within.lo), add(within.hi);
  return found;
}

inline std::vector<uint8_t> bytes_of_numbers(Type type, const std::vector<int64_t>& numbers) {
  std::vector<uint8_t> bytes;
  for (const int64_t x : numbers)
    for (uint32_t b = 0; b < bytes_of(type); ++b) bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(x) >> (8 * b)));
  return bytes;
}

class Extremes {
 public:
  Extremes(assay::work::WorkKernels& kernels, std::string set) : kernels_(kernels), set_(std::move(set)) {}

  void run() {
    for (uint8_t code = static_cast<uint8_t>(Code::rand); code < kCodes; ++code) instructions(static_cast<Code>(code));
    check(runs_ > 700, "most instructions at the ends may run: " + std::to_string(runs_));
    edges();
    sums();
    reductions();
    scatters();
  }

 private:
  // Inputs as they are given; whether the program may run.
  bool run_one(Program program, Op op, std::vector<std::vector<uint8_t>> inputs, const std::string& what) {
    op.type = Type::i64;
    op.interval = RandomPrograms::full(Type::i64);
    op.target = static_cast<uint16_t>(program.tensors.size());
    program.tensors.push_back({TensorKind::result, op.type, op.dims, op.interval, "result", {}});
    program.step = {std::move(op)};
    try {
      check_program(program);
    } catch (const Fault&) {
      return false;
    }
    check_case(kernels_, {std::move(program), std::move(inputs)}, what + ", " + set_);
    ++runs_;
    return true;
  }
  static Operand input(Program& program, Type type, Dims dims, Interval interval) {
    const auto index = static_cast<uint16_t>(program.tensors.size());
    program.tensors.push_back({TensorKind::input, type, dims, interval, "in" + std::to_string(index), {}});
    return {Source::input, index, type, std::move(dims)};
  }

  // All pairs of special numbers, with a third one beside; every shift; intervals from all of a type down to
  // a few bits.
  void instructions(Code code) {
    const bool shifts = code == Code::shl || code == Code::shr || code == Code::rsh;
    for (const Type type : {Type::i8, Type::i16, Type::i32, Type::i64})
      for (const uint32_t bits : {63u, 62u, 32u, 31u, 15u, 1u}) {
        if (bits > 8 * bytes_of(type) - 1) continue;
        const auto high = static_cast<int64_t>((uint64_t{1} << bits) - 1);
        for (const Interval& a : {Interval{-high - 1, high}, {-high, high}, {0, high}, {-high - 1, 0}})
          for (const Interval& b : seconds(code, type, a))
            for (const uint8_t shift : shifts ? std::vector<uint8_t>{1, 31, 32, 33, 62} : std::vector<uint8_t>{1})
              one_instruction(code, type, a, b, shift);
      }
  }
  static std::vector<Interval> seconds(Code code, Type type, const Interval& a) {
    const Interval all = RandomPrograms::full(type);
    if (code == Code::rshv) return {{-31, 62}, {0, 62}, {-31, 0}, {62, 62}};
    if (code == Code::div || code == Code::rdiv) return {{1, all.hi}, {1, 1}, {2, 3}};
    return {a};
  }
  void one_instruction(Code code, Type type, const Interval& a, const Interval& b, uint8_t shift) {
    const std::vector<int64_t> firsts = special_numbers(a), others = special_numbers(b);
    std::vector<int64_t> x, y, z;
    for (const int64_t first : firsts)
      for (const int64_t second : others) x.push_back(first), y.push_back(second), z.push_back(others[(x.size() * 7) % others.size()]);
    Program program;
    const Dims dims{static_cast<uint32_t>(x.size())};
    Op op{Operator::map, Type::i64, dims, {}, std::nullopt, {}, {}, {}};
    for (const Interval& interval : {a, b, b}) op.operands.push_back(input(program, type, dims, interval));
    for (uint8_t operand = 0; operand < 3; ++operand)
      op.code.before.push_back({Code::load, 0, 0, 0, operand, 0, 0, 0, 0, {{Edge::inside, std::nullopt, 0, {{0, 1}}}}});
    op.code.before.push_back({code, 0, 1, 2, 0, 0, shift, 9, 0, {}});
    run_one(std::move(program), std::move(op), {bytes_of_numbers(type, x), bytes_of_numbers(type, y), bytes_of_numbers(type, z)},
            "instruction " + std::to_string(static_cast<int>(code)));
  }

  // Loads around both ends, by a coordinate and by a register that is any 64-bit number.
  void edges() {
    const std::vector<int64_t> far = special_numbers(RandomPrograms::full(Type::i64));
    for (const uint32_t dim : {1u, 2u, 5u, 7u})
      for (const Edge edge : {Edge::zero, Edge::wrap, Edge::clamp})
        for (const int32_t times : {1, -1, 3, INT32_MAX, INT32_MIN}) {
          std::vector<int64_t> numbers;
          for (uint32_t i = 0; i < dim * dim; ++i) numbers.push_back(100 + i);
          const Dims dims{static_cast<uint32_t>(far.size()), 3};
          for (const int32_t constant : {0, -1, static_cast<int32_t>(dim), -2 * static_cast<int32_t>(dim), INT32_MIN, INT32_MAX}) {
            Program program;
            Op op{Operator::map, Type::i64, dims, {}, std::nullopt, {}, {}, {}};
            op.operands = {input(program, Type::i16, {dim, dim}, {100, 200}),
                           input(program, Type::i64, {dims[0]}, RandomPrograms::full(Type::i64))};
            op.code.before = {{Code::load, 0, 0, 0, 0, 0, 0, 0, 0, {{edge, std::nullopt, constant, {{0, times}}}, {edge, std::nullopt, -1, {{1, 2}}}}},
                              {Code::load, 0, 0, 0, 1, 0, 0, 0, 0, {{Edge::inside, std::nullopt, 0, {{0, 1}}}}},
                              {Code::load, 0, 0, 0, 0, 0, 0, 0, 0, {{edge, uint8_t{1}, 0, {}}, {edge, std::nullopt, -1, {{1, 1}}}}},
                              {Code::shl, 2, 0, 0, 0, 0, 8, 0, 0, {}},
                              {Code::add, 0, 3, 0, 0, 0, 0, 0, 0, {}}};
            check(run_one(std::move(program), std::move(op), {bytes_of_numbers(Type::i16, numbers), bytes_of_numbers(Type::i64, far)}, "edges"),
                  "edges may run");
          }
        }
  }

  // Every element at one end, at the other, and in turns; one term and 2^20.
  void sums() {
    for (const Type a : {Type::i8, Type::i16, Type::i32})
      for (const Type b : {Type::i8, Type::i16, Type::i32})
        for (const uint32_t depth : {1u, 2u, 1u << 20}) {
          if (depth > 2 && a != b) continue;
          const Interval x = RandomPrograms::full(a);
          Interval y = RandomPrograms::full(b);
          // Σ < 2^63: the second one takes what is left.
          const int64_t left = (INT64_MAX / depth) / -x.lo;
          y = {std::max(y.lo, -left), std::min(y.hi, left)};
          Program program;
          Op op{Operator::matmul, Type::i64, {1, 3, 3}, {}, std::nullopt, {}, {}, {}};
          op.operands = {input(program, a, {1, 3, depth}, x), input(program, b, {1, 3, depth}, y)};
          std::vector<int64_t> left_side(uint64_t{3} * depth), right_side(left_side.size());
          for (uint64_t i = 0; i < left_side.size(); ++i) {
            const uint64_t row = i / depth;
            left_side[i] = row == 0 ? x.lo : row == 1 ? x.hi : i % 2 == 0 ? x.lo : x.hi;
            right_side[i] = row == 0 ? y.lo : row == 1 ? y.hi : i % 3 == 0 ? y.lo : y.hi;
          }
          check(run_one(std::move(program), std::move(op), {bytes_of_numbers(a, left_side), bytes_of_numbers(b, right_side)},
                        "sums of " + std::to_string(depth)),
                "sums at the ends may run");
        }
  }

  // Equals: the lowest index wins, also across the pieces of a long row.
  void reductions() {
    for (const Type type : {Type::i8, Type::i16, Type::i32, Type::i64})
      for (uint8_t which = 0; which < 5; ++which)
        for (const uint32_t count : {1u, 2u, 17u, 70000u})
          for (int kind = 0; kind < 4; ++kind) {
            const Interval all = RandomPrograms::full(type);
            Interval interval = all;
            if (which == 0 && type == Type::i64) interval = {-(INT64_MAX / int64_t{count}), INT64_MAX / int64_t{count}};
            std::vector<int64_t> numbers(uint64_t{2} * count, kind == 0 ? interval.lo : kind == 1 ? interval.hi : 0);
            // The best one at the last place; twice, far apart.
            if (kind == 2) numbers[count - 1] = interval.hi, numbers[2 * count - 1] = interval.lo;
            if (kind == 3) numbers[count / 2] = numbers[count - 1] = interval.hi, numbers[count + count / 2] = numbers[2 * count - 1] = interval.lo;
            Program program;
            Op op{Operator::reduce, Type::i64, {2}, {}, std::nullopt, {}, static_cast<Reduction>(which), {}};
            op.operands = {input(program, type, {2, count}, interval)};
            check(run_one(std::move(program), std::move(op), {bytes_of_numbers(type, numbers)}, "reduction of " + std::to_string(count)),
                  "reductions at the ends may run");
          }
  }

  // All terms to the first row, to the last, to one that does not exist for others; more rows than are summed
  // at a time.
  void scatters() {
    for (const Type type : {Type::i8, Type::i32, Type::i64})
      for (const auto& [rows, width, terms] : {std::array<uint32_t, 3>{1, 1, 1}, {5, 3, 1000}, {70000, 2, 40}, {3, 200, 9}})
        for (int kind = 0; kind < 3; ++kind) {
          const Interval all = RandomPrograms::full(type);
          const Interval interval = type == Type::i64 ? Interval{-(INT64_MAX / int64_t{terms}), INT64_MAX / int64_t{terms}} : all;
          std::vector<int64_t> numbers(uint64_t{width} * terms), places(terms);
          for (uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = i % 3 == 0 ? interval.lo : interval.hi;
          for (uint32_t r = 0; r < terms; ++r) places[r] = kind == 0 ? 0 : kind == 1 ? rows - 1 : (r * 7919u) % rows;
          Program program;
          Op op{Operator::scatter_add, Type::i64, {rows, width}, {}, std::nullopt, {}, {}, {}};
          op.operands = {input(program, type, {width, terms}, interval), input(program, Type::i32, {terms}, {0, int64_t{rows} - 1})};
          check(run_one(std::move(program), std::move(op), {bytes_of_numbers(type, numbers), bytes_of_numbers(Type::i32, places)},
                        "scatter to " + std::to_string(rows) + " rows"),
                "scatters at the ends may run");
        }
  }

  assay::work::WorkKernels& kernels_;
  const std::string set_;
  unsigned runs_ = 0;
};

}  // namespace assay_test
