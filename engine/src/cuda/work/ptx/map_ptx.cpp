#include "cuda/work/ptx/map_ptx.hpp"

#include <algorithm>

namespace assay::cuda {

using namespace work;

namespace {

std::string num(int64_t value) {
  // -2^63 has no decimal spelling of its own.
  if (value == INT64_MIN) return "0x8000000000000000";
  return std::to_string(value);
}

// Without edges and registers: the place moves evenly.
bool is_plain(const Instruction& one) {
  return std::ranges::all_of(one.place, [](const Place& place) { return place.edge == Edge::inside && !place.reg; });
}

}  // namespace

std::optional<FlatPlace> flat_place(const Op& op, const Instruction& one) {
  if (!is_plain(one)) return std::nullopt;
  const Dims& dims = op.operands[one.operand].dims;
  FlatPlace place;
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) {
    // Along an axis of one place a step may be as long as it likes: it is never taken.
    const auto far = [&](int64_t times) { return static_cast<int64_t>(static_cast<uint64_t>(times) * static_cast<uint64_t>(stride)); };
    place.constant += far(one.place[axis].constant);
    for (const Term& term : one.place[axis].terms) place.steps[term.of] += far(term.times);
  }
  return place;
}

namespace {

// Every axis from 0 up to `axes` moves as in a row-major tensor of these dims, and nothing else does.
bool is_row_major(const Op& op, const Instruction& one, size_t axes) {
  const auto place = flat_place(op, one);
  if (!place || place->constant != 0) return false;
  int64_t stride = 1;
  std::array<int64_t, 9> wanted{};
  for (size_t axis = axes; axis-- > 0; stride *= op.dims[axis]) wanted[axis] = stride;
  for (size_t of = 0; of < wanted.size(); ++of)
    if (place->steps[of] != wanted[of] && (of >= op.dims.size() || op.dims[of] > 1)) return false;
  return true;
}

}  // namespace

bool is_own_place(const Op& op, const Instruction& one) {
  return element_count(op.operands[one.operand].dims) == element_count(op.dims) && is_row_major(op, one, op.dims.size());
}

bool is_row_place(const Op& op, const Instruction& one) {
  return element_count(op.operands[one.operand].dims) * op.dims.back() == element_count(op.dims) && is_row_major(op, one, op.dims.size() - 1);
}

std::optional<uint32_t> turned_axis(const Op& op) {
  for (const Instruction& one : op.code.before) {
    const auto place = one.code == Code::load ? flat_place(op, one) : std::nullopt;
    const size_t last = op.dims.size() - 1;
    if (!place || (place->steps[last] >= -1 && place->steps[last] <= 1)) continue;
    for (uint32_t axis = 0; axis < last; ++axis)
      if (place->steps[axis] == 1) return axis;
  }
  return std::nullopt;
}

// ---- text and registers
Value MapEmitter::number(int64_t value, bool is_wide) {
  const Value out = fresh(is_wide);
  line("mov", b(is_wide), out.name, ", ", num(value));
  return out;
}

Value MapEmitter::as(bool is_wide, const Value& x) {
  if (x.is_wide == is_wide) return x;
  const Value out = fresh(is_wide);
  line(is_wide ? "cvt.s64.s32 " : "cvt.u32.u64 ", out.name, ", ", x.name);
  return out;
}

Value MapEmitter::two(const char* op, const char* type, bool is_wide, const Value& a, const std::string& b) {
  const Value out = fresh(is_wide);
  line(op, type, out.name, ", ", a.name, ", ", b);
  return out;
}

std::string MapEmitter::address(const std::string& base, const Value& index, uint32_t size) {
  const std::string out = d();
  line(index.is_wide ? "mad.lo.u64 " : "mad.wide.u32 ", out, ", ", index.name, ", ", std::to_string(size), ", ", base);
  return out;
}

std::string MapEmitter::declarations() const {
  return "\t.reg .b32 %r<" + std::to_string(r_ + 1) + ">;\n\t.reg .b64 %d<" + std::to_string(d_ + 1) + ">;\n\t.reg .f64 %f<1>;\n\t.reg .pred %p<" +
         std::to_string(p_ + 1) + ">;\n";
}

// ---- places
Value MapEmitter::coordinate(uint32_t axis) {
  const Dims& dims = map_->op.dims;
  const size_t last = dims.size() - 1;
  Value& found = frame().coordinates[axis];
  if (!found.name.empty()) return found;
  if (at_ > 0 && map_->neighbours) {
    const size_t here = at_;
    at_ = 0;
    const Value first = coordinate(axis);
    at_ = here;
    return found = axis == last ? two("add", ".s32 ", false, first, std::to_string(here)) : first;
  }
  // index / (dims after it) % dim; ptxas turns constants into products.
  const bool by_row = axis < last && !frame().row.name.empty();
  uint64_t after = 1;
  for (size_t i = axis + 1; i < dims.size() - (by_row ? 1 : 0); ++i) after *= dims[i];
  Value at = by_row ? frame().row : frame().index;
  const bool is_wide = at.is_wide;
  const char* type = is_wide ? ".u64 " : ".u32 ";
  if (after > 1) at = two("div", type, is_wide, at, std::to_string(after));
  if (axis > 0) at = two("rem", type, is_wide, at, std::to_string(dims[axis]));
  return found = as(false, at);
}

Value MapEmitter::variable(uint8_t of) {
  if (of == kSegment) return {"%segment", false};
  if (of == kStep) return {"%step", false};
  return of == kTurn ? frame().turn : coordinate(of);
}

// Along one axis, before its edge. Sums of a place fit 64 bits; in 32 they may wrap on the way to a result that fits.
Value MapEmitter::place(const Place& place, bool is_wide) {
  if (place.terms.size() == 1 && place.terms[0].times == 1 && place.constant == 0 && !place.reg) return as(is_wide, variable(place.terms[0].of));
  if (place.terms.empty() && place.constant == 0 && place.reg) return as(is_wide, frame().values[*place.reg]);
  Value sum = number(place.constant, is_wide);
  if (place.reg) sum = two("add", s(is_wide), is_wide, sum, as(is_wide, frame().values[*place.reg]).name);
  for (const Term& term : place.terms) {
    const Value factor = as(is_wide, variable(term.of));
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", factor.name, ", ", num(term.times), ", ", sum.name);
    sum = out;
  }
  return sum;
}

Value MapEmitter::affine_index(const Instruction& one, const Operand& operand) {
  const bool is_wide = element_count(operand.dims) > INT32_MAX;
  Value index;
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    if (operand.dims[axis] == 1 && axis + 1 < operand.dims.size()) continue;  // its place is 0
    const Value at = as(is_wide, place(one.place[axis], false));
    if (index.name.empty()) {
      index = at;
      continue;
    }
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", index.name, ", ", std::to_string(operand.dims[axis]), ", ", at.name);
    index = out;
  }
  return index;
}

// `outside`: a predicate that is true where an edge says zero; empty where none does.
Value MapEmitter::edged_index(const Instruction& one, const Operand& operand, std::string& outside) {
  Value index = fresh(true);
  line("mov.b64 ", index.name, ", 0");
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const Edge edge = one.place[axis].edge;
    const std::string dim = std::to_string(operand.dims[axis]);
    Value at = place(one.place[axis], true);
    if (edge == Edge::wrap) {
      at = two("rem", ".s64 ", true, at, dim);
      at = two("add", ".s64 ", true, at, dim);
      at = two("rem", ".s64 ", true, at, dim);
    } else if (edge != Edge::inside) {
      if (edge == Edge::zero) {
        // As an unsigned number, a place below 0 is above every dim.
        const std::string is_out = p();
        line("setp.ge.u64 ", is_out, ", ", at.name, ", ", dim);
        if (outside.empty()) outside = is_out;
        else {
          const std::string either = p();
          line("or.pred ", either, ", ", outside, ", ", is_out);
          outside = either;
        }
      }
      at = two("max", ".s64 ", true, at, "0");
      at = two("min", ".s64 ", true, at, std::to_string(operand.dims[axis] - 1));
    }
    const Value out = fresh(true);
    line("mad.lo.s64 ", out.name, ", ", index.name, ", ", dim, ", ", at.name);
    index = out;
  }
  return index;
}

namespace {
constexpr const char* kLoads[] = {"ld.global.s8 ", "ld.global.s16 ", "ld.global.s32 ", "ld.global.s64 "};
}  // namespace

// No edge is ever met: the place's terms at their ends lie in the operand.
bool MapEmitter::stays_inside(const Place& place, uint32_t dim) const {
  using Wide = __int128;
  Wide lo = place.constant, hi = place.constant;
  if (place.reg) lo += map_->intervals[*place.reg].lo, hi += map_->intervals[*place.reg].hi;
  for (const Term& term : place.terms) {
    if (term.of == kSegment || term.of == kStep) return false;
    const Wide far = Wide{term.times} * (int64_t{term.of == kTurn ? map_->op.code.turns : map_->op.dims[term.of]} - 1);
    (far < 0 ? lo : hi) += far;
  }
  return lo >= 0 && hi < dim;
}

Value MapEmitter::load(const Instruction& one, bool is_wide) {
  const Operand& operand = map_->op.operands[one.operand];
  const Input& input = map_->inputs[one.operand];
  if (input.made != nullptr) return as(is_wide, (*input.made)[input.made->size() == 1 ? 0 : at_].values.back());
  bool has_edge = false;
  for (size_t axis = 0; axis < one.place.size(); ++axis)
    has_edge |= one.place[axis].edge != Edge::inside && !stays_inside(one.place[axis], operand.dims[axis]);
  std::string outside;
  const bool own = is_own_place(map_->op, one);
  const Value index = own ? frame().index : has_edge ? edged_index(one, operand, outside) : affine_index(one, operand);
  if (own && loaded_.contains({input.base, index.name})) return as(is_wide, loaded_[{input.base, index.name}][0]);
  const std::string from = address(input.base, index, bytes_of(operand.type));
  Value out = fresh(operand.type == Type::i64);
  if (own) loaded_[{input.base, index.name}] = {out};
  line(kLoads[static_cast<uint8_t>(operand.type)], out.name, ", [", from, "]");
  if (!outside.empty()) {
    const Value kept = fresh(out.is_wide);
    line("selp", b(out.is_wide), kept.name, ", 0, ", out.name, ", ", outside);
    out = kept;
  }
  return as(is_wide, out);
}

// Neighbours in few accesses, where the operand has them side by side.
bool MapEmitter::load_neighbours(const Instruction& one, bool is_wide, std::vector<Frame>& frames) {
  const Input& input = map_->inputs[one.operand];
  const int count = static_cast<int>(frames.size()), together = std::min(count, 4);
  if (!map_->neighbours || count == 1 || input.made != nullptr) return false;
  const bool own = is_own_place(map_->op, one);
  if (!own) {
    const auto place = flat_place(map_->op, one);
    if (!place || place->constant % together != 0) return false;
    const size_t last = map_->op.dims.size() - 1;
    for (size_t of = 0; of < place->steps.size(); ++of)
      if (of == last ? place->steps[of] != 1 : place->steps[of] % together != 0) return false;
  }
  const Operand& operand = map_->op.operands[one.operand];
  at_ = 0;
  const Value index = own ? frame().index : affine_index(one, operand);
  std::vector<Value>& four = loaded_[{input.base, own ? index.name : std::string()}];
  const auto give = [&] {
    for (int i = 0; i < count; ++i) frames[i].values.push_back(as(is_wide, four[i]));
    return true;
  };
  if (own && !four.empty()) return give();
  const std::string from = address(input.base, index, bytes_of(operand.type));
  four.clear();
  for (int i = 0; i < count; ++i) four.push_back(fresh(operand.type == Type::i64));
  const auto names = [&](int first, int end) {
    std::string all;
    for (int i = first; i < end; ++i) all += (i > first ? ", " : "") + four[i].name;
    return all;
  };
  // No access is wider than 16 bytes.
  const int size = static_cast<int>(bytes_of(operand.type)), each = size == 8 ? 2 : together;
  for (int i = 0; i < count; i += each)
    line("ld.global.v", std::to_string(each), ".s", std::to_string(8 * size), " {", names(i, i + each), "}, [", from, "+", std::to_string(i * size), "]");
  return give();
}

Value MapEmitter::run(const Instruction& one, uint32_t number_) {
  const bool is_wide = !fits_32(map_->intervals[number_]);
  switch (one.code) {
    case Code::load: return load(one, is_wide);
    case Code::constant: return number(one.value, is_wide);
    case Code::iota: return as(is_wide, coordinate(one.axis));
    case Code::segment: return as(is_wide, {"%segment", false});
    case Code::step: return as(is_wide, {"%step", false});
    case Code::turn: return as(is_wide, frame().turn);
    case Code::rand: return as(is_wide, random(one));
    default: return as(is_wide, arithmetic(one, is_wide));
  }
}

// Whether its value may differ between the frames.
bool MapEmitter::varies(const Instruction& one, const std::vector<bool>& known) const {
  const auto last = static_cast<uint8_t>(map_->op.dims.size() - 1);
  const auto moves = [&](uint8_t axis) { return !map_->neighbours || axis == last; };
  switch (one.code) {
    case Code::load: {
      const Input& input = map_->inputs[one.operand];
      if (input.made != nullptr) return input.made->size() > 1;
      return std::ranges::any_of(one.place, [&](const Place& place) {
        return (place.reg && known[*place.reg]) ||
               std::ranges::any_of(place.terms, [&](const Term& term) { return term.of < kSegment && moves(term.of); });
      });
    }
    case Code::constant:
    case Code::segment:
    case Code::step:
    case Code::turn: return false;
    case Code::iota: return moves(one.axis);
    case Code::select:
    case Code::clamp: return known[one.a] || known[one.b] || known[one.c];
    case Code::rand:
    case Code::neg:
    case Code::abs:
    case Code::shl:
    case Code::shr:
    case Code::rsh:
    case Code::isqrt:
    case Code::bitlen: return known[one.a];
    default: return known[one.a] || known[one.b];
  }
}

void MapEmitter::run_section(const std::vector<Instruction>& section, std::vector<Frame>& frames) {
  for (const Instruction& one : section) {
    const auto number_ = static_cast<uint32_t>(frames[0].values.size());
    at_ = 0;
    const bool differs = varies(one, varying_);
    varying_.push_back(differs);
    if (!differs) {
      const Value same = run(one, number_);
      for (Frame& each : frames) each.values.push_back(same);
    } else if (one.code != Code::load || !load_neighbours(one, !fits_32(map_->intervals[number_]), frames)) {
      for (at_ = 0; at_ < frames.size(); ++at_) frame().values.push_back(run(one, number_));
    }
  }
  at_ = 0;
}

// One element at a time.
void MapEmitter::run_turns(std::vector<Frame>& frames) {
  const MapCode& code = map_->op.code;
  Frame& one_frame = frames[0];
  const auto carry = [&](const Carried& one, const Value& from) {
    return as(!fits_32(one.interval), clamp(from, number(one.interval.lo, true), number(one.interval.hi, true), true));
  };
  std::vector<Value> carried;
  for (const Carried& one : code.carried) {
    const Value start = carry(one, one_frame.values[one.from]), kept = fresh(start.is_wide);
    line("mov", b(kept.is_wide), kept.name, ", ", start.name);
    carried.push_back(kept);
  }
  // Coordinates that only the body needs are found before it: not again in every turn.
  for (uint32_t axis = 0; axis < map_->op.dims.size(); ++axis) coordinate(axis);
  one_frame.values.insert(one_frame.values.end(), carried.begin(), carried.end());
  varying_.insert(varying_.end(), carried.size(), true);
  const Value turn = one_frame.turn = fresh(false);
  const std::string top = label(), more = p();
  line("mov.b32 ", turn.name, ", 0");
  place_label(top);
  // Several turns of a short body in a row: their loads are under way together.
  const uint32_t at_once = code.body.size() > 16 ? 1 : code.turns % 16 == 0 ? 16 : code.turns % 8 == 0 ? 8 : code.turns % 4 == 0 ? 4 : 1;
  const size_t before = one_frame.values.size();
  for (uint32_t i = 0; i < at_once; ++i) {
    one_frame.values.resize(before);
    varying_.resize(before);
    forget_loads();
    run_section(code.body, frames);
    std::vector<Value> next;
    for (const Carried& one : code.carried) next.push_back(carry(one, one_frame.values[one.next]));
    for (size_t c = 0; c < carried.size(); ++c) line("mov", b(carried[c].is_wide), carried[c].name, ", ", next[c].name);
    line("add.s32 ", turn.name, ", ", turn.name, ", 1");
  }
  line("setp.lt.s32 ", more, ", ", turn.name, ", ", std::to_string(code.turns));
  line("@", more, " bra ", top);
}

void MapEmitter::run(const MapToEmit& map, std::vector<Frame>& frames) {
  map_ = &map;
  frames_ = &frames;
  varying_.clear();
  run_section(map.op.code.before, frames);
  if (map.op.code.turns == 0) return;
  run_turns(frames);
  run_section(map.op.code.after, frames);
}

}  // namespace assay::cuda
