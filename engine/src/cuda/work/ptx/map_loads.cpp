// Where the loads of maps lie, docs/work.md §3.3, and how a thread reads them: in 32 bits where that is
// enough, neighbours in one access, and every element once.
#include <algorithm>

#include "cuda/work/ptx/map_ptx.hpp"

namespace assay::cuda {

using namespace work;

namespace {

constexpr const char* kLoads[] = {"ld.global.s8 ", "ld.global.s16 ", "ld.global.s32 ", "ld.global.s64 "};
// Bytes that an access may lie beside its address.
constexpr int64_t kMostOffset = 1 << 22;

std::string text_of(const Dims& dims) {
  std::string text;
  for (const uint32_t dim : dims) text += 'x' + std::to_string(dim);
  return text;
}

bool moves_with(const Place& place, uint8_t axis) {
  return std::ranges::any_of(place.terms, [&](const Term& term) { return term.of == axis; });
}
// Only that coordinate, moved by the place's constant.
bool is_moved(const Place& place, uint8_t axis) {
  return !place.reg && place.terms.size() == 1 && place.terms[0].of == axis && place.terms[0].times == 1;
}

}  // namespace

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

// Along one axis, before its edge. Sums of a place fit 64 bits; in 32 they may wrap on the way to a result
// that fits.
Value MapEmitter::place(const Place& place, bool is_wide) {
  if (place.terms.size() == 1 && place.terms[0].times == 1 && place.constant == 0 && !place.reg) return as(is_wide, variable(place.terms[0].of));
  if (place.terms.empty() && place.constant == 0 && place.reg) return as(is_wide, frame().values[*place.reg]);
  Value sum = number(place.constant, is_wide);
  if (place.reg) sum = two("add", s(is_wide), is_wide, sum, as(is_wide, frame().values[*place.reg]).name);
  for (const Term& term : place.terms) {
    const Value factor = as(is_wide, variable(term.of));
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", factor.name, ", ", std::to_string(term.times), ", ", sum.name);
    sum = out;
  }
  return sum;
}

// All that a place may be in this frame: its terms at their ends.
MapEmitter::Range MapEmitter::range_of(const Place& place) const {
  Range range{place.constant, place.constant};
  if (place.reg) range.lo += map_->intervals[*place.reg].lo, range.hi += map_->intervals[*place.reg].hi;
  const Dims& dims = map_->op.dims;
  for (const Term& term : place.terms) {
    Wide least = 0, most;
    if (term.of == kSegment) most = kMostSegment;
    else if (term.of == kStep) most = kMostSteps - 1;
    else if (term.of == kTurn) most = map_->op.code.turns - 1;
    else if (map_->neighbours && term.of + 1u == dims.size()) {
      least = at_;
      most = Wide{dims.back()} - static_cast<Wide>(frames_->size() - at_);
    } else most = Wide{dims[term.of]} - 1;
    range.lo += std::min(term.times * least, term.times * most);
    range.hi += std::max(term.times * least, term.times * most);
  }
  return range;
}

bool MapEmitter::stays_inside(const Place& place, uint32_t dim) const {
  if (place.edge == Edge::inside) return true;
  const Range range = range_of(place);
  return range.lo >= 0 && range.hi < dim;
}

// The place on its axis, 32 bits, where it may meet an edge. `outside`: a predicate that is true where an
// edge says zero; empty where none does. What is outside has any place.
Value MapEmitter::edged(const Place& place_, uint32_t dim, std::string& outside) {
  const Range range = range_of(place_);
  const bool w = range.lo < INT32_MIN || range.hi > INT32_MAX;
  const std::string end = std::to_string(dim);
  Value at = place(place_, w);
  const auto moved_where = [&](const char* compare, const std::string& to, const std::string& by) {
    const std::string is = p();
    line(compare, s(w), is, ", ", at.name, ", ", to);
    const Value moved = two("add", s(w), w, at, by), out = fresh(w);
    line("selp", b(w), out.name, ", ", moved.name, ", ", at.name, ", ", is);
    at = out;
  };
  if (place_.edge == Edge::wrap) {
    const bool near = range.lo >= -Wide{dim} && range.hi < 2 * Wide{dim};
    if (!near) at = two("rem", s(w), w, at, end);
    if (range.lo < 0) moved_where("setp.lt", "0", end);
    if (near && range.hi >= dim) moved_where("setp.ge", end, "-" + end);
  } else if (place_.edge == Edge::clamp) {
    if (range.lo < 0) at = two("max", s(w), w, at, "0");
    if (range.hi >= dim) at = two("min", s(w), w, at, std::to_string(dim - 1));
  } else {
    // As an unsigned number, a place below 0 is above every dim.
    const std::string is_out = p();
    if (outside.empty()) line(w ? "setp.ge.u64 " : "setp.ge.u32 ", is_out, ", ", at.name, ", ", end);
    else line(w ? "setp.ge.or.u64 " : "setp.ge.or.u32 ", is_out, ", ", at.name, ", ", end, ", ", outside);
    outside = is_out;
  }
  return as(false, at);
}

// What the places add that never changes is added by the access itself.
MapEmitter::Address MapEmitter::address_of(const Instruction& one, const std::string& base, uint32_t size, std::string& outside) {
  const Operand& operand = map_->op.operands[one.operand];
  const uint64_t count = element_count(operand.dims);
  const bool is_wide = count > INT32_MAX;
  std::vector<bool> inside(operand.dims.size());
  Wide constant = 0, stride = 1;
  for (size_t axis = operand.dims.size(); axis-- > 0; stride *= operand.dims[axis]) {
    inside[axis] = stays_inside(one.place[axis], operand.dims[axis]);
    if (inside[axis] && operand.dims[axis] > 1) constant += one.place[axis].constant * stride;
  }
  const Wide far = constant < 0 ? -constant : constant;
  const bool folds = !is_wide && far * size <= kMostOffset && count + far <= INT32_MAX;
  Value index;
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    Place own = one.place[axis];
    if (operand.dims[axis] == 1) {  // its place is 0
      if (!inside[axis] && own.edge == Edge::zero) edged(own, 1, outside);
      continue;
    }
    if (inside[axis] && folds) own.constant = 0;
    const Value at = as(is_wide, inside[axis] ? place(own, false) : edged(own, operand.dims[axis], outside));
    if (index.name.empty()) {
      index = at;
      continue;
    }
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", index.name, ", ", std::to_string(operand.dims[axis]), ", ", at.name);
    index = out;
  }
  if (index.name.empty()) return {base, 0};
  const std::string from = d();
  line(is_wide ? "mad.lo.s64 " : "mad.wide.s32 ", from, ", ", index.name, ", ", std::to_string(size), ", ", base);
  return {from, folds ? static_cast<int64_t>(constant * size) : 0};
}

MapEmitter::Address MapEmitter::place_of(const Instruction& one, const std::string& base, uint32_t size, std::string& outside) {
  if (is_own_place(map_->op, one)) return {address(base, frame().index, size), 0};
  return address_of(one, base, size, outside);
}

// The elements that frames want from an operand may lie side by side, the first of them at a multiple of an
// access: a load that gives each frame the one at its own place there. `at`: which one of them this frame
// wants.
std::optional<Instruction> MapEmitter::line_of(const Instruction& one, uint32_t& at) const {
  const auto count = static_cast<int64_t>(frames_->size()), together = std::min<int64_t>(count, 4);
  if (!map_->neighbours || count == 1) return std::nullopt;
  const auto last = static_cast<uint8_t>(map_->op.dims.size() - 1);
  const Dims& dims = map_->op.operands[one.operand].dims;
  const auto flat = flat_place(map_->op, one);
  const auto is_apart = [&](int64_t by) { return by % together != 0; };
  const bool is_even = flat && flat->constant % together == 0 && flat->steps[last] == 1 && std::ranges::count_if(flat->steps, is_apart) == 1;
  if (is_even || is_own_place(map_->op, one)) {
    at = static_cast<uint32_t>(at_);
    return one;
  }
  if (!is_moved(one.place.back(), last) || dims.back() % together != 0 || dims.back() < map_->op.dims.back()) return std::nullopt;
  for (size_t axis = 0; axis + 1 < dims.size(); ++axis)
    if (moves_with(one.place[axis], last) || (one.place[axis].reg && varying_[*one.place[axis].reg])) return std::nullopt;
  const int64_t wanted = one.place.back().constant + static_cast<int64_t>(at_);
  if (wanted < 0 || wanted >= count) return std::nullopt;
  at = static_cast<uint32_t>(wanted);
  Instruction first = one;
  first.place.back().constant = 0;
  first.place.back().edge = Edge::inside;
  return first;
}

// Which element a load reads. Loads with one key read the same.
std::string MapEmitter::load_key(const Instruction& one) const {
  const Operand& operand = map_->op.operands[one.operand];
  const auto last = static_cast<uint8_t>(map_->op.dims.size() - 1);
  const bool in_line = map_->neighbours && frames_->size() > 1;
  std::string key = map_->inputs[one.operand].base + " " + (*frames_)[in_line ? 0 : at_].index.name;
  bool is_near = in_line && operand.dims == map_->op.dims && is_moved(one.place.back(), last) && stays_inside(one.place.back(), operand.dims.back());
  for (uint8_t axis = 0; is_near && axis < last; ++axis) is_near = is_moved(one.place[axis], axis) && one.place[axis].constant == 0;
  if (is_near) return key + "+" + std::to_string(one.place.back().constant + static_cast<int64_t>(at_));
  if (is_own_place(map_->op, one)) return key + "+" + std::to_string(in_line ? at_ : 0);
  key += text_of(map_->op.dims) + " of" + text_of(operand.dims);
  for (size_t axis = 0; axis < one.place.size(); ++axis) {
    const Place& place = one.place[axis];
    int64_t constant = place.constant;
    std::string terms;
    for (const Term& term : place.terms) {
      if (in_line && term.of == last) constant += term.times * static_cast<int64_t>(at_);
      terms.append(" ").append(std::to_string(term.times)).append("*").append(std::to_string(term.of));
    }
    const Edge edge = stays_inside(place, operand.dims[axis]) ? Edge::inside : place.edge;
    key.append(" |").append(std::to_string(static_cast<int>(edge))).append(" ").append(std::to_string(constant)).append(terms);
    if (place.reg) key.append(" ").append(frame().values[*place.reg].name);
  }
  return key;
}

// What line_of gives, in few accesses.
std::vector<Value> MapEmitter::load_line(const Instruction& one, const std::string& base) {
  const Operand& operand = map_->op.operands[one.operand];
  // 16 bytes at most.
  const size_t count = frames_->size(), size = bytes_of(operand.type), each = size == 8 ? 2 : std::min<size_t>(count, 4);
  std::string outside;
  at_ = 0;
  const Address from = place_of(one, base, bytes_of(operand.type), outside);
  std::vector<Value> all;
  for (size_t i = 0; i < count; ++i) all.push_back(fresh(operand.type == Type::i64));
  if (!outside.empty())
    for (const Value& value : all) line("mov", b(value.is_wide), value.name, ", 0");
  for (size_t i = 0; i < count; i += each) {
    std::string names = all[i].name;
    for (size_t j = 1; j < each; ++j) names += ", " + all[i + j].name;
    line(outside.empty() ? "" : "@!" + outside + " ", "ld.global.v", std::to_string(each), ".s", std::to_string(8 * size), " {", names, "}, [", from.base,
         "+", std::to_string(from.offset + static_cast<int64_t>(i * size)), "]");
  }
  return all;
}

// One element, or as many neighbours as there are frames.
std::vector<Value> MapEmitter::load_packed(const Instruction& one, const Input& input, size_t count) {
  const Operand& operand = map_->op.operands[one.operand];
  const uint32_t packed = input.packed;
  std::string outside, again;
  const Address low = place_of(one, input.base, 4, outside), high = place_of(one, input.base, packed, again);
  const auto above = high.offset + 4 * static_cast<int64_t>(element_count(operand.dims));
  const std::string where = outside.empty() ? "" : "@!" + outside + " ";
  std::vector<std::string> words;
  std::vector<Value> all;
  for (size_t i = 0; i < count; ++i) words.push_back(r());
  const size_t each = std::min<size_t>(count, 4);
  const auto read = [&](const char* kind, const std::vector<std::string>& to, const std::string& at) {
    std::string names = to[0];
    for (size_t i = 1; i < to.size(); ++i) names += ", " + to[i];
    for (const std::string& name : to)
      if (!outside.empty()) line("mov.b32 ", name, ", ", kind[0] == 'u' ? "0" : packed == 1 ? "0x80808080" : "0x80008000");
    const bool is_one = to.size() == 1;
    const char* width = is_one ? "" : to.size() == 2 ? "v2." : "v4.";
    line(where, "ld.global.", width, kind, " ", is_one ? "" : "{", names, is_one ? "" : "}", ", [", at, "]");
  };
  for (size_t i = 0; i < count; i += each) {
    const std::vector<std::string> lows(words.begin() + static_cast<std::ptrdiff_t>(i), words.begin() + static_cast<std::ptrdiff_t>(i + each));
    read("u32", lows, low.base + "+" + std::to_string(low.offset + static_cast<int64_t>(4 * i)));
    const size_t bytes = each * packed;
    std::vector<std::string> highs{r()};
    if (bytes == 8) highs.push_back(r());
    read(bytes == 1 ? "b8" : bytes == 2 ? "b16" : "b32", highs, high.base + "+" + std::to_string(above + static_cast<int64_t>(packed * i)));
    for (size_t j = 0; j < each; ++j) all.push_back(unpacked(lows[j], highs[j * packed / 4], packed, j * packed % 4));
  }
  return all;
}

// Other loads of the map read the same row of a table of four, as of a polynomial's parts.
bool MapEmitter::has_row_mates(const Instruction& one) const {
  const Operand& operand = map_->op.operands[one.operand];
  const auto is_fixed = [](const Place& place) { return !place.reg && place.terms.empty() && place.constant >= 0 && place.constant < 4; };
  if (operand.type != Type::i32 || operand.dims.back() != 4 || !is_fixed(one.place.back()) || map_->op.code.turns > 0) return false;
  const auto is_mate = [&](const Instruction& other) {
    if (other.code != Code::load || other.operand != one.operand || !is_fixed(other.place.back())) return false;
    for (size_t axis = 0; axis + 1 < one.place.size(); ++axis) {
      const Place &a = one.place[axis], &b = other.place[axis];
      const auto same = [](const Term& x, const Term& y) { return x.of == y.of && x.times == y.times; };
      if (a.edge != b.edge || a.reg != b.reg || a.constant != b.constant || !std::ranges::equal(a.terms, b.terms, same)) return false;
    }
    return true;
  };
  return std::ranges::count_if(map_->op.code.before, is_mate) > 1;
}

void MapEmitter::load_row(const Instruction& one, const std::string& base) {
  Instruction first = one;
  first.place.back() = {Edge::inside, std::nullopt, 0, {}};
  std::string outside;
  const Address from = address_of(first, base, 4, outside);
  std::array<std::string, 4> all;
  for (std::string& each : all) {
    each = r();
    if (!outside.empty()) line("mov.b32 ", each, ", 0");
  }
  line(outside.empty() ? "" : "@!" + outside + " ", "ld.global.v4.s32 {", all[0], ", ", all[1], ", ", all[2], ", ", all[3], "}, [", from.base, "+", std::to_string(from.offset), "]");
  for (int64_t i = 0; i < 4; ++i) {
    first.place.back().constant = i;
    loaded_[load_key(first)] = {all[i], false};
  }
}

Value MapEmitter::load(const Instruction& one, bool is_wide) {
  const Operand& operand = map_->op.operands[one.operand];
  const Input& input = map_->inputs[one.operand];
  if (input.made != nullptr) return kept_as(is_wide, (*input.made)[input.made->size() == 1 ? 0 : at_].values.back());
  const std::string key = load_key(one);
  if (const auto found = loaded_.find(key); found != loaded_.end()) return kept_as(is_wide, found->second);
  uint32_t in_line = 0;
  if (const auto first = line_of(one, in_line)) {
    const size_t here = at_;
    at_ = 0;
    const std::vector<Value> all = input.packed != 0 ? load_packed(*first, input, frames_->size()) : load_line(*first, input.base);
    for (at_ = 0; at_ < all.size(); ++at_) loaded_[load_key(*first)] = all[at_];
    at_ = here;
    return kept_as(is_wide, all[in_line]);
  }
  if (input.packed != 0) return kept_as(is_wide, loaded_[key] = load_packed(one, input, 1)[0]);
  if (has_row_mates(one)) {
    load_row(one, input.base);
    return as(is_wide, loaded_.at(key));
  }
  std::string outside;
  const Address from = place_of(one, input.base, bytes_of(operand.type), outside);
  const Value out = fresh(operand.type == Type::i64);
  if (!outside.empty()) line("mov", b(out.is_wide), out.name, ", 0");
  line(outside.empty() ? "" : "@!" + outside + " ", kLoads[static_cast<uint8_t>(operand.type)], out.name, ", [", from.base, "+", std::to_string(from.offset), "]");
  loaded_[key] = out;
  return as(is_wide, out);
}

}  // namespace assay::cuda
