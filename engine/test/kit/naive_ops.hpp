// Ops worked out element by element in 128 bits, from the page alone (docs/work.md): what the CPU's fast ways
// are compared with.
#pragma once
#include <cmath>
#include <numeric>

#include "check.hpp"
#include "random_programs.hpp"
#include "work/runner.hpp"

namespace assay_test {

using Wide = __int128;

struct Case {
  Program program;
  std::vector<std::vector<uint8_t>> inputs;
  assay::PhiloxKey key{0x1234567, 0x89abcdef};
};

inline Case make_case(RandomPrograms& random, Program program) {
  Case one{std::move(program), {}};
  for (const Tensor& tensor : one.program.tensors)
    if (tensor.kind == TensorKind::input) one.inputs.push_back(random.elements(tensor));
  return one;
}

inline std::vector<uint8_t> run_on(WorkKernels& kernels, const Case& one, uint64_t segments = 1) {
  assay::work::Runner runner(kernels, check_program(one.program), one.key);
  for (uint32_t i = 0; i < one.inputs.size(); ++i) runner.write(i, 0, one.inputs[i]);
  runner.run_init();
  for (uint64_t i = 0; i < segments; ++i) runner.run_segment();
  const auto result = static_cast<uint32_t>(one.program.tensors.size()) - 1;
  const Tensor& tensor = one.program.tensors[result];
  std::vector<uint8_t> bytes(element_count(tensor.dims) * bytes_of(tensor.type));
  runner.read(result, 0, bytes);
  return bytes;
}

inline Wide element(const std::vector<uint8_t>& bytes, Type type, uint64_t index) {
  const uint32_t size = bytes_of(type);
  uint64_t value = 0;
  for (uint32_t b = 0; b < size; ++b) value |= uint64_t{bytes[index * size + b]} << (8 * b);
  const uint32_t unused = 64 - 8 * size;
  return static_cast<int64_t>(value << unused) >> unused;
}

// ---- the page, once more, one element at a time
inline Wide floor_div(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
inline Wide power_of_two(Wide k) { return Wide{1} << static_cast<int>(k); }
inline Wide shifted(Wide x, Wide k) { return k <= 0 ? x * power_of_two(-k) : floor_div(x + power_of_two(k - 1), power_of_two(k)); }

class Naive {
 public:
  Naive(const Case& one, uint64_t segment) : one_(one), op_(one.program.step[0]), segment_(segment) {}

  // Of the last step of a segment.
  Wide at(uint64_t index) {
    uint64_t rest = index;
    for (size_t axis = op_.dims.size(); axis-- > 0;) {
      coordinates_[axis] = rest % op_.dims[axis];
      rest /= op_.dims[axis];
    }
    switch (op_.op) {
      case Operator::matmul: return product();
      case Operator::reduce: return reduction(index);
      case Operator::scatter_add: return scattered();
      case Operator::map: return map();
    }
    return 0;
  }

 private:
  Wide operand(size_t which, uint64_t index) const { return element(one_.inputs[which], op_.operands[which].type, index); }

  Wide product() const {
    const Dims &a = op_.operands[0].dims, &b = op_.operands[1].dims;
    Wide sum = 0;
    for (uint64_t k = 0; k < a[2]; ++k) {
      const uint64_t in_a = coordinates_[0] * a[0] / op_.dims[0], in_b = coordinates_[0] * b[0] / op_.dims[0];
      sum += operand(0, (in_a * a[1] + coordinates_[1]) * a[2] + k) * operand(1, (in_b * b[1] + coordinates_[2]) * b[2] + k);
    }
    return sum;
  }
  Wide reduction(uint64_t row) const {
    const uint64_t count = op_.operands[0].dims[1];
    Wide best = operand(0, row * count), sum = 0;
    uint64_t place = 0;
    const bool wants_high = op_.reduction == Reduction::max || op_.reduction == Reduction::argmax;
    for (uint64_t i = 0; i < count; ++i) {
      const Wide x = operand(0, row * count + i);
      sum += x;
      if (wants_high ? x > best : x < best) best = x, place = i;
    }
    if (op_.reduction == Reduction::sum) return sum;
    return op_.reduction == Reduction::max || op_.reduction == Reduction::min ? best : static_cast<Wide>(place);
  }
  Wide scattered() const {
    const uint64_t terms = op_.operands[0].dims[1];
    Wide sum = 0;
    for (uint64_t r = 0; r < terms; ++r)
      if (operand(1, r) == static_cast<Wide>(coordinates_[0])) sum += operand(0, coordinates_[1] * terms + r);
    return sum;
  }

  Wide map() {
    const MapCode& code = op_.code;
    registers_.clear();
    run(code.before);
    if (code.turns == 0) return registers_.back();
    const size_t first = registers_.size();
    std::vector<Wide> carried;
    for (const Carried& one : code.carried) carried.push_back(within(registers_[one.from], one.interval));
    for (turn_ = 0; turn_ < code.turns; ++turn_) {
      registers_.resize(first);
      registers_.insert(registers_.end(), carried.begin(), carried.end());
      run(code.body);
      for (size_t i = 0; i < carried.size(); ++i) carried[i] = within(registers_[code.carried[i].next], code.carried[i].interval);
    }
    registers_.resize(first);
    registers_.insert(registers_.end(), carried.begin(), carried.end());
    registers_.resize(first + carried.size() + code.body.size(), 0);
    run(code.after);
    return registers_.back();
  }
  static Wide within(Wide x, const Interval& interval) { return std::clamp<Wide>(x, interval.lo, interval.hi); }
  void run(const std::vector<Instruction>& section) {
    for (const Instruction& one : section) registers_.push_back(value(one));
  }

  Wide variable(uint8_t of) const {
    if (of == kSegment) return static_cast<Wide>(segment_);
    if (of == kStep) return Wide{one_.program.k} - 1;
    return of == kTurn ? Wide{turn_} : static_cast<Wide>(coordinates_[of]);
  }
  Wide load(const Instruction& one) const {
    const Dims& dims = op_.operands[one.operand].dims;
    uint64_t index = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const assay::work::Place& place = one.place[axis];
      const Wide dim = dims[axis];
      Wide p = place.constant + (place.reg ? registers_[*place.reg] : 0);
      for (const Term& term : place.terms) p += term.times * variable(term.of);
      if (p < 0 || p >= dim) {
        if (place.edge == Edge::zero) return 0;
        if (place.edge == Edge::wrap) p -= floor_div(p, dim) * dim;
        if (place.edge == Edge::clamp) p = p < 0 ? 0 : dim - 1;
        if (place.edge == Edge::inside) throw std::logic_error("outside");
      }
      index = index * dims[axis] + static_cast<uint64_t>(p);
    }
    return operand(one.operand, index);
  }
  Wide value(const Instruction& one) const {
    const auto reg = [&](uint8_t number) { return number < registers_.size() ? registers_[number] : 0; };
    const Wide a = reg(one.a), b = reg(one.b), c = reg(one.c);
    switch (one.code) {
      case Code::load: return load(one);
      case Code::constant: return one.value;
      case Code::iota: return static_cast<Wide>(coordinates_[one.axis]);
      case Code::segment: return variable(kSegment);
      case Code::step: return variable(kStep);
      case Code::turn: return turn_;
      case Code::rand: {
        const auto x = static_cast<uint64_t>(a);
        const auto when = static_cast<uint32_t>((segment_ - 1) * one_.program.k + one_.program.k - 1);
        return assay::philox4x32_10(one_.key, static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32), when, one.domain).w[0];
      }
      case Code::add: return a + b;
      case Code::sub: return a - b;
      case Code::mul: return a * b;
      case Code::neg: return -a;
      case Code::abs: return a < 0 ? -a : a;
      case Code::min: return a < b ? a : b;
      case Code::max: return a > b ? a : b;
      case Code::shl: return a * power_of_two(one.bits);
      case Code::shr: return floor_div(a, power_of_two(one.bits));
      case Code::rsh: return shifted(a, one.bits);
      case Code::rshv: return shifted(a, b);
      case Code::div: return floor_div(a, b);
      case Code::rdiv: return floor_div(2 * a + b, 2 * b);
      case Code::isqrt: {
        Wide root = static_cast<Wide>(std::sqrt(static_cast<long double>(a)));
        while (root * root > a) --root;
        while ((root + 1) * (root + 1) <= a) ++root;
        return root;
      }
      case Code::bitlen: {
        Wide digits = 0;
        for (Wide x = a < 0 ? -a : a; x != 0; x /= 2) ++digits;
        return digits;
      }
      case Code::eq: return a == b;
      case Code::lt: return a < b;
      case Code::and_: return a & b;
      case Code::or_: return a | b;
      case Code::xor_: return a ^ b;
      case Code::select: return a != 0 ? b : c;
      case Code::clamp: return std::min(std::max(a, b), c);
    }
    return 0;
  }

  const Case& one_;
  const Op& op_;
  const uint64_t segment_;
  uint64_t coordinates_[kMostRank] = {};
  std::vector<Wide> registers_;
  uint32_t turn_ = 0;
};

// All of a product's sums, where 64 bits hold them: far quicker than Naive for large ones.
inline std::vector<int64_t> plain_products(const Case& one) {
  const Op& op = one.program.step[0];
  const uint64_t depth = op.operands[0].dims[2];
  std::vector<int64_t> found, rows[2];
  for (size_t i = 0; i < 2; ++i)
    for (uint64_t at = 0; at < element_count(op.operands[i].dims); ++at)
      rows[i].push_back(static_cast<int64_t>(element(one.inputs[i], op.operands[i].type, at)));
  const auto row_of = [&](size_t operand, uint64_t batch, uint64_t row) {
    const Dims& dims = op.operands[operand].dims;
    return rows[operand].data() + (batch * dims[0] / op.dims[0] * dims[1] + row) * depth;
  };
  for (uint64_t batch = 0; batch < op.dims[0]; ++batch)
    for (uint64_t row = 0; row < op.dims[1]; ++row)
      for (uint64_t column = 0; column < op.dims[2]; ++column) {
        const int64_t *x = row_of(0, batch, row), *y = row_of(1, batch, column);
        found.push_back(std::inner_product(x, x + depth, y, int64_t{0}));
      }
  return found;
}

inline void check_case(WorkKernels& kernels, const Case& one, const std::string& what) {
  const uint64_t segments = 2;
  const std::vector<uint8_t> found = run_on(kernels, one, segments);
  const Op& op = one.program.step[0];
  Naive naive(one, segments);
  for (uint64_t i = 0; i < element_count(op.dims); ++i)
    if (element(found, op.type, i) != naive.at(i)) {
      check(false, what + ", element " + std::to_string(i));
      return;
    }
  check(true, what);
}

}  // namespace assay_test
