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
  if (x.name.empty()) return integer_of(is_wide, x);
  if (x.is_wide == is_wide) return x;
  Value out = fresh(is_wide);
  line(is_wide ? "cvt.s64.s32 " : "cvt.u32.u64 ", out.name, ", ", x.name);
  out.real = x.real, out.raw = x.raw;
  return out;
}

// NVIDIA's compiler makes one instruction of two mins or two maxes in a row, and forgets there that an
// operand is the negative of a register: min(min(x, −y), z) becomes the least of x, y and z (CUDA 13.0 for
// sm_90). What it cannot know to be 0 is added in between; of a grid without a third axis it is.
std::string MapEmitter::apart(const std::string& name, End from) {
  const auto found = ends_.find(name);
  if (found == ends_.end() || (found->second != End::either && found->second != from)) return name;
  const std::string zero = r(), out = r();
  line("mov.u32 ", zero, ", %ctaid.z");
  line("add.s32 ", out, ", ", name, ", ", zero);
  return out;
}

Value MapEmitter::two(const char* op, const char* type, bool is_wide, const Value& a, const std::string& b) {
  const std::string_view what = op;
  std::string left = a.name, right = b;
  const bool is_end = !is_wide && (what == "min" || what == "max");
  const End end = what == "min" ? End::min : End::max;
  if (is_end) left = apart(left, end), right = apart(right, end);
  const Value out = fresh(is_wide);
  line(op, type, out.name, ", ", left, ", ", right);
  if (is_end) ends_[out.name] = end;
  return out;
}

std::string MapEmitter::address(const std::string& base, const Value& index, uint32_t size) {
  const std::string out = d();
  line(index.is_wide ? "mad.lo.u64 " : "mad.wide.u32 ", out, ", ", index.name, ", ", std::to_string(size), ", ", base);
  return out;
}

std::string MapEmitter::declarations() const {
  return "\t.reg .b32 %r<" + std::to_string(r_ + 1) + ">;\n\t.reg .b64 %d<" + std::to_string(d_ + 1) + ">;\n\t.reg .f64 %f<" + std::to_string(f_) + ">;\n\t.reg .pred %p<" +
         std::to_string(p_ + 1) + ">;\n";
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
    default:
      if (waits_for_end(one, number_)) return {"", true, "", "", true};
      if (one.code == Code::clamp && is_waiting(frame().values[one.a]))
        return as(is_wide, map_->op.code.before[one.a].code == Code::sub ? ended_difference(one) : ended_shift(one));
      if (const auto real = uses_reals_ ? real_arithmetic(one, number_) : std::nullopt) return real->is_loose ? *real : kept_as(is_wide, *real);
      want_integers(one);
      return as(is_wide, arithmetic(one, is_wide));
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
      // Neighbours may be those of an axis before a last one of one place.
      if (map_->neighbours && is_own_place(map_->op, one)) return true;
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
    default: {
      bool any = false;
      each_operand(one, [&](uint8_t reg) { any |= known[reg]; });
      return any;
    }
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
    } else {
      for (at_ = 0; at_ < frames.size(); ++at_) frame().values.push_back(run(one, number_));
    }
  }
  at_ = 0;
}

namespace {

// So long an arm of a select had better take, in instructions, that it is jumped over where it is not wanted.
constexpr uint32_t kLeastArm = 24;

uint32_t length_of(const Instruction& one, bool is_wide) {
  switch (one.code) {
    case Code::div:
    case Code::rdiv: return is_wide ? 90 : 20;
    case Code::isqrt: return 40;
    case Code::rand: return 60;
    case Code::rshv: return 8;
    case Code::mul: return is_wide ? 4 : 1;
    default: return is_wide ? 2 : 1;
  }
}

// What the frames of other paths may want stays where it is: loads are shared, coordinates are found once.
bool can_wait(Code code) { return code != Code::load && code != Code::iota; }

}  // namespace

// Instructions of a body of which only one arm of one select makes use: they wait for it.
std::vector<LazyArm> lazy_arms(const MapCode& code, const std::vector<Interval>& intervals) {
  const size_t first = code.before.size() + code.carried.size(), count = code.body.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<bool> is_kept(count, false), waits(count, false);
  for (size_t i = 0; i < count; ++i)
    each_operand(code.body[i], [&](uint8_t reg) { if (reg >= first) readers[reg - first].push_back(i); });
  for (const Carried& one : code.carried)
    if (one.next >= first) is_kept[one.next - first] = true;
  std::vector<LazyArm> arms;
  for (size_t n = count; n-- > 0;) {
    const Instruction& one = code.body[n];
    if (one.code != Code::select || waits[n]) continue;
    for (const bool is_yes : {true, false}) {
      const uint8_t arm = is_yes ? one.b : one.c;
      if (arm < first || is_kept[arm - first] || readers[arm - first] != std::vector<size_t>{n}) continue;
      std::vector<bool> inside(count, false);
      LazyArm found{static_cast<uint32_t>(n), is_yes, {}};
      uint32_t length = 0;
      for (size_t i = arm - first + 1; i-- > 0;) {
        const bool is_wanted = i + first == arm || (!readers[i].empty() && std::ranges::all_of(readers[i], [&](size_t reader) { return inside[reader]; }));
        if (!is_wanted || is_kept[i] || waits[i] || !can_wait(code.body[i].code)) continue;
        inside[i] = true;
        found.waiting.insert(found.waiting.begin(), static_cast<uint32_t>(i));
        bool is_wide = !fits_32(intervals[first + i]);
        each_operand(code.body[i], [&](uint8_t reg) { is_wide |= !fits_32(intervals[reg]); });
        length += length_of(code.body[i], is_wide);
      }
      if (length < kLeastArm) continue;
      for (const uint32_t i : found.waiting) waits[i] = true;
      arms.push_back(std::move(found));
    }
  }
  return arms;
}

// The body of a loop, for one element: arms of selects that take long only where they are chosen.
void MapEmitter::run_body(std::vector<Frame>& frames) {
  const MapCode& code = map_->op.code;
  const std::vector<LazyArm> arms = lazy_arms(code, map_->intervals);
  std::vector<bool> waits(code.body.size(), false);
  for (const LazyArm& arm : arms)
    for (const uint32_t i : arm.waiting) waits[i] = true;
  auto& values = frames[0].values;
  const size_t first = values.size();
  at_ = 0;
  for (uint32_t n = 0; n < code.body.size(); ++n) {
    varying_.push_back(true);
    if (waits[n]) {
      values.emplace_back();
      continue;
    }
    for (const LazyArm& arm : arms) {
      if (arm.select != n) continue;
      const Value& asked = values[code.body[n].a];
      const std::string other = p(), skip = label();
      line(arm.is_yes ? "setp.eq" : "setp.ne", s(asked.is_wide), other, ", ", asked.name, ", 0");
      line("@", other, " bra ", skip);
      for (const uint32_t i : arm.waiting) values[first + i] = run(code.body[i], static_cast<uint32_t>(first + i));
      place_label(skip);
    }
    values.push_back(run(code.body[n], static_cast<uint32_t>(first + n)));
  }
}

// What a turn begins with: inside the carried value's interval. Nothing is done for an end that is never
// crossed.
Value MapEmitter::carry(const Carried& one, uint32_t from) {
  const Value& x = frame().values[from];
  const Interval& of = map_->intervals[from];
  const bool w = x.is_wide || !fits_32(one.interval);
  Value out = as(w, x);
  if (of.lo < one.interval.lo) out = signed_two("max", w, out, number(one.interval.lo, w));
  if (of.hi > one.interval.hi) out = signed_two("min", w, out, number(one.interval.hi, w));
  return as(!fits_32(one.interval), out);
}

// A predicate: the turn has changed something.
std::string MapEmitter::changed(const std::vector<Value>& carried, const std::vector<Value>& next) {
  std::string any;
  for (size_t c = 0; c < carried.size(); ++c) {
    if (carried[c].name == next[c].name) continue;
    const std::string one = p();
    if (any.empty()) line("setp.ne", s(next[c].is_wide), one, ", ", carried[c].name, ", ", next[c].name);
    else line("setp.ne.or", s(next[c].is_wide), one, ", ", carried[c].name, ", ", next[c].name, ", ", any);
    any = one;
  }
  return any;
}

// One element at a time.
void MapEmitter::run_turns(std::vector<Frame>& frames) {
  const MapCode& code = map_->op.code;
  Frame& one_frame = frames[0];
  std::vector<Value> carried;
  for (const Carried& one : code.carried) {
    const Value start = carry(one, one.from), kept = fresh(start.is_wide);
    may_be_end(kept);
    line("mov", b(kept.is_wide), kept.name, ", ", start.name);
    carried.push_back(kept);
  }
  // Coordinates that only the body needs are found before it: not again in every turn.
  for (uint32_t axis = 0; axis < map_->op.dims.size(); ++axis) coordinate(axis);
  one_frame.values.insert(one_frame.values.end(), carried.begin(), carried.end());
  varying_.insert(varying_.end(), carried.size(), true);
  const Value turn = one_frame.turn = fresh(false);
  const std::string top = label();
  std::string more = p();
  line("mov.b32 ", turn.name, ", 0");
  place_label(top);
  // Several turns of a short body in a row: their loads are under way together.
  const uint32_t at_once = code.body.size() > 16 ? 1 : code.turns % 16 == 0 ? 16 : code.turns % 8 == 0 ? 8 : code.turns % 4 == 0 ? 4 : 1;
  const size_t before = one_frame.values.size();
  const auto known = loaded_;
  std::string has_changed;
  for (uint32_t i = 0; i < at_once; ++i) {
    one_frame.values.resize(before);
    varying_.resize(before);
    loaded_ = known;
    run_body(frames);
    std::vector<Value> next;
    for (const Carried& one : code.carried) next.push_back(carry(one, one.next));
    if (i + 1 == at_once && may_settle(code)) has_changed = changed(carried, next);
    // One may be another's next: all are read before one is set.
    std::vector<Value> kept;
    for (size_t c = 0; c < carried.size(); ++c) {
      const bool is_carried = std::ranges::any_of(carried, [&](const Value& other) { return other.name == next[c].name; });
      kept.push_back(is_carried ? fresh(next[c].is_wide) : next[c]);
      if (is_carried) line("mov", b(next[c].is_wide), kept[c].name, ", ", next[c].name);
    }
    for (size_t c = 0; c < carried.size(); ++c) line("mov", b(carried[c].is_wide), carried[c].name, ", ", kept[c].name);
    line("add.s32 ", turn.name, ", ", turn.name, ", 1");
  }
  loaded_ = known;
  if (has_changed.empty()) line("setp.lt.s32 ", more, ", ", turn.name, ", ", std::to_string(code.turns));
  else line("setp.lt.and.s32 ", more, ", ", turn.name, ", ", std::to_string(code.turns), ", ", has_changed);
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
