// Random programs of many ops that feed each other, as training has them: maps over elements, rows and
// columns, sums and maxima over rows, turned copies, products, state that is read and written. The same for
// the same seed.
#pragma once
#include "random_programs.hpp"

namespace assay_test {

class RandomChains {
 public:
  explicit RandomChains(uint64_t seed) : random_(seed) {}
  Program next();
  std::vector<uint8_t> elements(const Tensor& tensor) { return random_.elements(tensor); }

 private:
  struct Made {
    Operand from;
    Interval interval;
  };
  uint64_t below(uint64_t end) { return random_.below(end); }
  bool chance(uint64_t of) { return below(of) == 0; }
  const Made& any(const std::vector<Made>& of) { return of[below(of.size())]; }
  Made seen(Made from, Dims dims) {
    from.from.dims = std::move(dims);
    return from;
  }
  Made tensor(TensorKind kind, Type type, Dims dims);
  // An op whose interval the checker finds.
  Made add(Op op, std::optional<uint16_t> target = std::nullopt);
  // The operands of a map are read at these axes of the output, an empty list of axes being a single element.
  using Axes = std::vector<uint8_t>;
  Made map(Dims dims, const std::vector<std::pair<Made, Axes>>& reads, std::optional<uint16_t> target = std::nullopt);
  const Program& drawn();
  void element_op();
  void row_op();
  void turned_op();
  void product();

  RandomPrograms random_;
  Program program_;
  uint32_t rows_ = 0, width_ = 0;
  std::vector<Made> elements_, by_row_, by_column_;
};

inline RandomChains::Made RandomChains::tensor(TensorKind kind, Type type, Dims dims) {
  const auto index = static_cast<uint16_t>(program_.tensors.size());
  Interval interval = random_.interval(type, 30);
  if (interval.lo > 0 || interval.hi < 0) interval = {-1, 1};
  program_.tensors.push_back({kind, type, dims, interval, "t" + std::to_string(index), {}});
  const Source source = kind == TensorKind::input ? Source::input : kind == TensorKind::scratch ? Source::scratch : Source::state;
  return {{source, index, type, std::move(dims)}, interval};
}

inline RandomChains::Made RandomChains::add(Op op, std::optional<uint16_t> target) {
  op.type = Type::i64;
  if (op.op != Operator::matmul || op.interval.hi == 0) op.interval = RandomPrograms::full(Type::i64);
  if (target) {
    op.type = program_.tensors[*target].type;
    op.interval = program_.tensors[*target].interval;
    op.target = target;
  } else if (op.op == Operator::map) {
    program_.step.push_back(op);
    op.interval = check_program(program_).step_registers.back().back();
    program_.step.pop_back();
    uint32_t type = 0;
    while (RandomPrograms::full(static_cast<Type>(type)).lo > op.interval.lo || RandomPrograms::full(static_cast<Type>(type)).hi < op.interval.hi) ++type;
    op.type = static_cast<Type>(type);
  }
  program_.step.push_back(op);
  return {{Source::op, static_cast<uint16_t>(program_.step.size() - 1), op.type, op.dims}, op.interval};
}

inline RandomChains::Made RandomChains::map(Dims dims, const std::vector<std::pair<Made, Axes>>& reads, std::optional<uint16_t> target) {
  Op op{Operator::map, Type::i64, std::move(dims), {}, std::nullopt, {}, Reduction::sum, {}};
  auto& code = op.code.before;
  const auto last = [&] { return static_cast<uint8_t>(code.size() - 1); };
  const auto put = [&](Code what, uint8_t a, uint8_t b = 0, uint8_t c = 0, uint8_t bits = 0, int64_t value = 0) {
    code.push_back({what, a, b, c, 0, 0, bits, 0, value, {}});
    return last();
  };
  const auto clamped = [&](uint8_t x, int64_t lo, int64_t hi) {
    const uint8_t low = put(Code::constant, 0, 0, 0, 0, lo), high = put(Code::constant, 0, 0, 0, 0, hi);
    return put(Code::clamp, x, low, high);
  };
  uint8_t value = 0;
  // Some with numbers that fit no 32 bits.
  const bool is_wide = chance(3);
  const int64_t end = int64_t{1} << (is_wide ? 42 : 28);
  for (size_t i = 0; i < reads.size(); ++i) {
    const auto& [from, axes] = reads[i];
    op.operands.push_back(from.from);
    Instruction load{};
    load.code = Code::load;
    load.operand = static_cast<uint8_t>(i);
    for (const uint8_t axis : axes) load.place.push_back({Edge::inside, std::nullopt, 0, {{axis, 1}}});
    while (load.place.size() < from.from.dims.size()) load.place.push_back({Edge::inside, std::nullopt, 0, {}});
    code.push_back(std::move(load));
    const uint8_t x = clamped(last(), -end, end);
    if (i == 0) value = x;
    else {
      const Code with[] = {Code::add, Code::sub, Code::min, Code::max, Code::xor_, Code::mul};
      value = put(with[below(is_wide ? 5 : 6)], value, x);
    }
    value = clamped(value, -end, end);
    // By a factor and back, as products are brought to scale.
    if (is_wide && chance(2)) {
      const uint8_t factor = clamped(x, -40000, 40000), by = clamped(x, static_cast<int64_t>(below(5)) - 3, 3 + static_cast<int64_t>(below(40)));
      uint8_t scaled = put(Code::mul, chance(2) ? value : factor, chance(2) ? factor : put(Code::constant, 0, 0, 0, 0, 12345));
      scaled = chance(3) ? put(Code::rsh, scaled, 0, 0, static_cast<uint8_t>(1 + below(30))) : put(Code::rshv, scaled, by);
      if (chance(2)) scaled = put(chance(2) ? Code::add : Code::sub, scaled, x);
      value = clamped(scaled, -end, end);
      if (chance(3)) value = put(Code::sub, put(Code::abs, value), put(Code::bitlen, value));
    }
  }
  if (chance(3)) value = put(Code::rsh, value, 0, 0, static_cast<uint8_t>(1 + below(12)));
  if (chance(6)) {
    const uint8_t at = put(Code::iota, 0);
    code.back().axis = static_cast<uint8_t>(below(op.dims.size()));
    value = put(Code::add, value, at);
  }
  if (chance(8)) value = put(Code::add, value, put(Code::step, 0));
  if (chance(5)) {
    const uint8_t size = put(Code::abs, value), one = put(Code::constant, 0, 0, 0, 0, 1), divisor = put(Code::add, size, one);
    value = put(Code::rdiv, put(Code::shl, value, 0, 0, 10), divisor);
  }
  if (chance(10)) value = put(Code::isqrt, put(Code::abs, value));
  if (target) clamped(value, program_.tensors[*target].interval.lo, program_.tensors[*target].interval.hi);
  else if (chance(2)) clamped(value, -32768, 32767);
  else if (chance(4)) clamped(value, -100, 90);
  return add(std::move(op), target);
}

inline void RandomChains::element_op() {
  std::vector<std::pair<Made, Axes>> reads{{any(elements_), {0, 1}}};
  if (chance(2)) reads.push_back({any(elements_), {0, 1}});
  if (!by_row_.empty() && chance(2)) reads.push_back({any(by_row_), {0}});
  if (chance(3)) reads.push_back({any(by_column_), {1}});
  elements_.push_back(map({rows_, width_}, reads));
}

inline void RandomChains::row_op() {
  if (by_row_.empty() || chance(2)) {
    Op op{Operator::reduce, Type::i64, {rows_}, {}, std::nullopt, {any(elements_).from}, static_cast<Reduction>(below(chance(4) ? 5 : 3)), {}};
    by_row_.push_back(add(std::move(op)));
    return;
  }
  std::vector<std::pair<Made, Axes>> reads{{any(by_row_), {0}}};
  if (chance(2)) reads.push_back({any(by_row_), {0}});
  by_row_.push_back(map({rows_}, reads));
}

inline void RandomChains::turned_op() {
  const Made turned = map({width_, rows_}, {{any(elements_), {1, 0}}});
  elements_.push_back(map({rows_, width_}, {{turned, {1, 0}}, {any(elements_), {0, 1}}}));
}

// Rows with rows: [rows, rows], and back to elements by a product with what was turned.
inline void RandomChains::product() {
  const auto small = [&] {
    Made from = any(elements_);
    Op op{Operator::map, Type::i16, {rows_, width_}, {-32768, 32767}, std::nullopt, {from.from}, Reduction::sum, {}};
    Instruction load{};
    load.code = Code::load;
    load.place = {{Edge::inside, std::nullopt, 0, {{0, 1}}}, {Edge::inside, std::nullopt, 0, {{1, 1}}}};
    const bool is_byte = chance(3);
    op.code.before = {load, {Code::constant, 0, 0, 0, 0, 0, 0, 0, is_byte && chance(2) ? -100 : -32768, {}}, {Code::constant, 0, 0, 0, 0, 0, 0, 0, is_byte ? 100 : 32767, {}},
                      {Code::clamp, 0, 1, 2, 0, 0, 0, 0, 0, {}}};
    return add(std::move(op));
  };
  const Made a = small(), b = chance(3) ? a : small();
  Op op{Operator::matmul, Type::i64, {1, rows_, rows_}, {}, std::nullopt, {seen(a, {1, rows_, width_}).from, seen(b, {1, rows_, width_}).from}, Reduction::sum, {}};
  // As models say it: no more than it can be.
  const int64_t most_sum = 32768ll * 32768 * width_;
  if (chance(2)) op.interval = {-most_sum, most_sum};
  const Made sums = add(std::move(op));
  // With an element of its row: then it runs for itself.
  std::vector<std::pair<Made, Axes>> scaled{{seen(sums, {rows_, rows_}), {0, 1}}};
  if (chance(2)) scaled.push_back({any(by_row_), {0}});
  const Made scores = map({rows_, rows_}, scaled);
  Op top{Operator::reduce, Type::i64, {rows_}, {}, std::nullopt, {scores.from}, Reduction::max, {}};
  const Made most = add(std::move(top));
  const Made e = map({rows_, rows_}, {{scores, {0, 1}}, {most, {0}}});
  const Made turned = map({width_, rows_}, {{b, {1, 0}}});
  if (e.from.type == Type::i64 || turned.from.type == Type::i64) return;
  Op back{Operator::matmul, Type::i64, {1, rows_, width_}, {}, std::nullopt, {seen(e, {1, rows_, rows_}).from, seen(turned, {1, width_, rows_}).from}, Reduction::sum, {}};
  elements_.push_back(seen(add(std::move(back)), {rows_, width_}));
}

// One that the checker lets pass.
inline Program RandomChains::next() {
  while (true) {
    try {
      check_program(drawn());
      return program_;
    } catch (const Fault&) {
    }
  }
}

inline const Program& RandomChains::drawn() {
  static constexpr uint32_t kRows[] = {3, 64, 65, 100, 128, 160, 192, 256}, kWidths[] = {1, 4, 12, 33, 64, 100, 128, 132, 256, 300, 768, 1024, 4096, 4100, 5001};
  program_ = {};
  program_.k = static_cast<uint32_t>(1 + below(3));
  elements_.clear(), by_row_.clear(), by_column_.clear();
  rows_ = kRows[below(std::size(kRows))];
  width_ = kWidths[below(std::size(kWidths))];
  const auto type = [&] { return static_cast<Type>(below(4)); };
  for (int i = 0; i < 2; ++i) elements_.push_back(tensor(TensorKind::input, type(), {rows_, width_}));
  by_column_.push_back(tensor(TensorKind::input, type(), {width_}));
  const Made state = tensor(TensorKind::state, type(), {rows_, width_}), row_state = tensor(TensorKind::state, type(), {rows_});
  const Made scratch = tensor(TensorKind::scratch, type(), {rows_, width_});
  for (const Made* one : {&state, &row_state, &scratch}) {
    Interval& interval = program_.tensors[one->from.index].interval;
    interval = {std::min<int64_t>(interval.lo, 0), std::max<int64_t>(interval.hi, 0)};
  }
  elements_.push_back(state), elements_.push_back(scratch), by_row_.push_back(row_state);
  for (uint64_t ops = 3 + below(10); program_.step.size() < ops;) {
    const uint64_t kind = below(8);
    if (kind < 3) element_op();
    else if (kind < 6) row_op();
    else if (kind < 7) turned_op();
    else product();
  }
  // Writers last: until then their tensors may be read.
  map({rows_, width_}, {{any(elements_), {0, 1}}, {state, {0, 1}}}, state.from.index);
  elements_.erase(elements_.begin() + 2);
  map({rows_}, {{any(by_row_), {0}}}, row_state.from.index);
  std::erase_if(elements_, [&](const Made& one) { return one.from.source == Source::scratch; });
  map({rows_, width_}, {{any(elements_), {0, 1}}}, scratch.from.index);
  return program_;
}

}  // namespace assay_test
