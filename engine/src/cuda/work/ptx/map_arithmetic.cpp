// The instructions of maps that compute, docs/work.md §3.2 and §3.4; places and loads are map_ptx.cpp's.
#include <algorithm>
#include <bit>

#include "cuda/work/ptx/map_ptx.hpp"

namespace assay::cuda {

using namespace work;

// Philox4x32-10, the first word: core/philox.hpp.
Value MapEmitter::random(const Instruction& one) {
  const Value x = as(true, frame().values[one.a]);
  std::array<std::string, 4> c{r(), r(), "%when", r()};
  line("mov.b64 {", c[0], ", ", c[1], "}, ", x.name);
  line("mov.b32 ", c[3], ", ", std::to_string(one.domain));
  std::string k0 = "%key0", k1 = "%key1";
  for (int round = 0; round < 10; ++round) {
    const std::string lo0 = r(), hi0 = r(), lo1 = r(), hi1 = r(), n0 = r(), n2 = r();
    line("mul.lo.u32 ", lo0, ", ", c[0], ", 0xD2511F53");
    line("mul.hi.u32 ", hi0, ", ", c[0], ", 0xD2511F53");
    line("mul.lo.u32 ", lo1, ", ", c[2], ", 0xCD9E8D57");
    line("mul.hi.u32 ", hi1, ", ", c[2], ", 0xCD9E8D57");
    line("xor.b32 ", n0, ", ", hi1, ", ", c[1]);
    line("xor.b32 ", n0, ", ", n0, ", ", k0);
    line("xor.b32 ", n2, ", ", hi0, ", ", c[3]);
    line("xor.b32 ", n2, ", ", n2, ", ", k1);
    c = {n0, lo1, n2, lo0};
    const std::string next0 = r(), next1 = r();
    line("add.u32 ", next0, ", ", k0, ", 0x9E3779B9");
    line("add.u32 ", next1, ", ", k1, ", 0xBB67AE85");
    k0 = next0, k1 = next1;
  }
  const Value out = fresh(true);
  line("cvt.u64.u32 ", out.name, ", ", c[0]);
  return out;
}

// x >> k; where the result fits 32 bits, they alone are made.
Value MapEmitter::shifted(const Value& x, uint32_t k, bool is_wide) {
  if (!x.is_wide || is_wide) return two("shr", s(x.is_wide), x.is_wide, x, std::to_string(k));
  const std::string low = r(), high = r();
  line("mov.b64 {", low, ", ", high, "}, ", x.name);
  const Value out = fresh(false);
  if (k >= 32) line("shr.s32 ", out.name, ", ", high, ", ", std::to_string(k - 32));
  else line("shf.r.wrap.b32 ", out.name, ", ", low, ", ", high, ", ", std::to_string(k));
  return out;
}

// To the nearest, halves upwards: (x + 2^(k − 1)) >> k where that sum fits, else (x >> k) + (x >> (k − 1) &
// 1).
Value MapEmitter::rounded_shift(const Value& x, const Interval& of, uint32_t k, bool is_wide) {
  const bool w = x.is_wide;
  const int64_t half = int64_t{1} << (k - 1), most = w ? INT64_MAX : INT32_MAX;
  if (half <= most && of.hi <= most - half && (w || k < 32)) return shifted(two("add", s(w), w, x, std::to_string(half)), k, is_wide);
  const Value whole = two("shr", s(w), w, x, std::to_string(k)), rest = two("shr", s(w), w, x, std::to_string(k - 1));
  const Value bit = two("and", b(w), w, rest, "1");
  return two("add", s(w), w, whole, bit.name);
}

namespace {
// Of the largest magnitude: below 2^digits.
int digits_of(const Interval& x) { return std::bit_width(size_of(x)); }
}  // namespace

// b > 0: to the right by b and rounded; else to the left by −b.
Value MapEmitter::shift_by_register(const Value& x, const Interval& of, const Value& by, const Interval& by_of) {
  const Value wide = as(true, x), k = as(false, by);
  // Where there is room: to the left by as much as it ever goes and one more, to the right by the rest; then
  // half of it, upwards. From `nothing` on it is 0.
  const int bits = digits_of(of), most_left = by_of.lo < 0 ? static_cast<int>(-by_of.lo) : 0, nothing = bits + 1;
  const int most_right = static_cast<int>(std::min<int64_t>(by_of.hi, nothing)) + most_left;
  if (by_of.hi > 0 && bits + most_left <= 62 && most_right <= 63) {
    const Value raised = two("shl", ".b64 ", true, wide, std::to_string(most_left + 1));
    const Value within = by_of.hi > nothing ? two("min", ".s32 ", false, k, std::to_string(nothing)) : k;
    const Value right = most_left > 0 ? two("add", ".s32 ", false, within, std::to_string(most_left)) : within;
    const Value twice = two("shr", ".s64 ", true, raised, right.name);
    return two("shr", ".s64 ", true, two("add", ".s64 ", true, twice, "1"), "1");
  }
  Value left;
  if (by_of.lo < 0) {
    const Value negative = fresh(false);
    line("neg.s32 ", negative.name, ", ", k.name);
    left = by_of.hi > 0 ? two("max", ".s32 ", false, negative, "0") : negative;
  }
  const Value raised = by_of.lo < 0 ? two("shl", ".b64 ", true, wide, left.name) : wide;
  if (by_of.hi <= 0) return raised;
  const Value right = by_of.lo < 0 ? two("max", ".s32 ", false, k, "0") : k;
  if (of.hi <= INT64_MAX - (int64_t{1} << (by_of.hi - 1))) {
    // 2^right / 2, which is 0 for a shift by nothing.
    const Value one = number(1, true), power = two("shl", ".b64 ", true, one, right.name), half = two("shr", ".s64 ", true, power, "1");
    const Value sum = two("add", ".s64 ", true, raised, half.name);
    return two("shr", ".s64 ", true, sum, right.name);
  }
  const Value at_least = two("max", ".s32 ", false, right, "1"), less = two("sub", ".s32 ", false, at_least, "1");
  const Value whole = two("shr", ".s64 ", true, raised, right.name), rest = two("shr", ".s64 ", true, raised, less.name);
  const Value bit = two("and", ".b64 ", true, rest, "1");
  const Value rounded = two("add", ".s64 ", true, whole, bit.name);
  const std::string is_right = p();
  line("setp.gt.s32 ", is_right, ", ", right.name, ", 0");
  const Value out = fresh(true);
  line("selp.b64 ", out.name, ", ", rounded.name, ", ", raised.name, ", ", is_right);
  return out;
}

// ⌊x / y⌋ or next to it, by a double that is off by a half at most.
Value MapEmitter::quotient(const Value& x, const Value& y) {
  const std::string top = f(), below = f(), minus = f(), q = f();
  line("cvt.rn.f64.s64 ", top, ", ", x.name);
  line("cvt.rn.f64.s64 ", below, ", ", y.name);
  line("neg.f64 ", minus, ", ", below);
  std::string near = f();
  line("rcp.approx.ftz.f64 ", near, ", ", below);
  // 20 bits of it are right, then 40, then all.
  for (int i = 0; i < 2; ++i) {
    const std::string off = f(), next = f();
    line("fma.rn.f64 ", off, ", ", minus, ", ", near, ", 0d3FF0000000000000");
    line("fma.rn.f64 ", next, ", ", near, ", ", off, ", ", near);
    near = next;
  }
  line("mul.rn.f64 ", q, ", ", top, ", ", near);
  const Value out = fresh(true);
  line("cvt.rmi.s64.f64 ", out.name, ", ", q);
  return out;
}

// ⌊a / b⌋, or to the nearest with halves upwards; b ≥ 1.
Value MapEmitter::divide(const Value& a, const Interval& of_a, const Value& b, const Interval& of_b, bool rounds) {
  const bool w = a.is_wide || b.is_wide;
  const Value x = as(w, a), y = as(w, b), q = fresh(w);
  // In loops, of which many turns have nothing to divide: 64 bits take some 90 instructions.
  const bool may_skip = w && map_->op.code.turns > 0;
  const std::string skip = may_skip ? label() : "";
  if (may_skip) {
    const std::string nothing = p();
    line("mov.b64 ", q.name, ", 0");
    line("setp.eq.s64 ", nothing, ", ", x.name, ", 0");
    line("@", nothing, " bra ", skip);
  }
  // By a constant the compiler multiplies.
  const bool by_double = has_doubles_ && w && of_b.lo < of_b.hi && of_b.hi <= int64_t{1} << 53 && size_of(of_a) / static_cast<uint64_t>(of_b.lo) < uint64_t{1} << 50;
  if (by_double) line("mov.b64 ", q.name, ", ", quotient(x, y).name);
  else line("div", s(w), q.name, ", ", x.name, ", ", y.name);
  Value rest = fresh(w), product = two("mul.lo", s(w), w, q, y.name);
  line("sub", s(w), rest.name, ", ", x.name, ", ", product.name);
  const std::string below = p();
  line("setp.lt", s(w), below, ", ", rest.name, ", 0");
  line("@", below, " add", s(w), q.name, ", ", q.name, ", -1");
  if (rounds || by_double) line("@", below, " add", s(w), rest.name, ", ", rest.name, ", ", y.name);
  if (by_double) {
    const std::string beyond = p();
    line("setp.ge", s(w), beyond, ", ", rest.name, ", ", y.name);
    line("@", beyond, " add", s(w), q.name, ", ", q.name, ", 1");
    if (rounds) line("@", beyond, " sub", s(w), rest.name, ", ", rest.name, ", ", y.name);
  }
  if (rounds) {
    const Value left = fresh(w);
    line("sub", s(w), left.name, ", ", y.name, ", ", rest.name);
    const std::string up = p();
    line("setp.ge", s(w), up, ", ", rest.name, ", ", left.name);
    line("@", up, " add", s(w), q.name, ", ", q.name, ", 1");
  }
  if (may_skip) place_label(skip);
  return q;
}

// ⌊√x⌋: the nearest double is off by one at most.
Value MapEmitter::root(const Value& x) {
  const Value wide = as(true, x), out = fresh(true), square = fresh(true), next = fresh(true);
  line("cvt.rn.f64.s64 %f0, ", wide.name);
  line("sqrt.rn.f64 %f0, %f0");
  line("cvt.rzi.s64.f64 ", out.name, ", %f0");
  const std::string above = p(), below = p();
  line("mul.lo.u64 ", square.name, ", ", out.name, ", ", out.name);
  line("setp.gt.u64 ", above, ", ", square.name, ", ", wide.name);
  line("@", above, " add.s64 ", out.name, ", ", out.name, ", -1");
  line("add.s64 ", next.name, ", ", out.name, ", 1");
  line("mul.lo.u64 ", square.name, ", ", next.name, ", ", next.name);
  line("setp.le.u64 ", below, ", ", square.name, ", ", wide.name);
  line("@", below, " mov.b64 ", out.name, ", ", next.name);
  return out;
}

Value MapEmitter::digits(const Value& x) {
  const Value size = fresh(x.is_wide), zeros = fresh(false), out = fresh(false);
  line("abs", s(x.is_wide), size.name, ", ", x.name);
  line("clz", b(x.is_wide), zeros.name, ", ", size.name);
  line("sub.s32 ", out.name, ", ", x.is_wide ? "64" : "32", ", ", zeros.name);
  return out;
}

// Where intervals already tell which of the two it is, nothing is compared.
Value MapEmitter::at_most(const Value& a, const Interval& of_a, const Value& b, const Interval& of_b) {
  if (of_a.hi <= of_b.lo) return a;
  if (of_b.hi <= of_a.lo) return b;
  return signed_two("min", a.is_wide || b.is_wide, a, b);
}
Value MapEmitter::at_least(const Value& a, const Interval& of_a, const Value& b, const Interval& of_b) {
  if (of_a.lo >= of_b.hi) return a;
  if (of_b.lo >= of_a.hi) return b;
  return signed_two("max", a.is_wide || b.is_wide, a, b);
}

namespace {
// Both ends are met: −2^n and 2^n, n from 32 on.
bool is_wide_power(const Value& a, const Interval& of, const Interval& lo, const Interval& hi) {
  const int64_t power = hi.hi;
  return a.is_wide && lo.lo == lo.hi && hi.lo == power && lo.lo == -power && power >= int64_t{1} << 32 && std::has_single_bit(static_cast<uint64_t>(power)) &&
         of.lo < -power && of.hi > power;
}
}  // namespace

// By its upper word alone: where that is inside, so is all of it; where it is not, the lower one is 0.
Value MapEmitter::clamp_to_power(const Value& x, int64_t power) {
  const std::string low = r(), high = r(), kept = r(), top = std::to_string(power >> 32), is_inside = p();
  line("mov.b64 {", low, ", ", high, "}, ", x.name);
  const Value moved = two("add", ".s32 ", false, {high, false}, top);
  line("setp.lt.u32 ", is_inside, ", ", moved.name, ", ", std::to_string(power >> 31));
  line("selp.b32 ", kept, ", ", low, ", 0, ", is_inside);
  const Value above = two("max", ".s32 ", false, {high, false}, "-" + top), both = two("min", ".s32 ", false, above, top), out = fresh(true);
  line("mov.b64 ", out.name, ", {", kept, ", ", both.name, "}");
  return out;
}

Value MapEmitter::clamp(const Value& x, const Value& lo, const Value& hi, bool is_wide) {
  return signed_two("min", is_wide, signed_two("max", is_wide, x, lo), hi);
}

// All that reads it is one clamp, to constants of 32 bits.
bool MapEmitter::is_ended_short(uint32_t number) const {
  const auto& code = map_->op.code.before;
  const auto& of = map_->intervals;
  if (map_->op.code.turns > 0) return false;
  const Instruction* end = nullptr;
  for (uint32_t n = number + 1; n < code.size(); ++n) {
    bool reads = false;
    each_operand(code[n], [&](uint8_t reg) { reads |= reg == number; });
    if (reads && end != nullptr) return false;
    if (reads) end = &code[n];
  }
  if (end == nullptr || end->code != Code::clamp || end->a != number || end->b == number || end->c == number) return false;
  return of[end->b].lo == of[end->b].hi && of[end->c].lo == of[end->c].hi && fits_32(of[end->b]) && fits_32(of[end->c]);
}

// It is made with the clamp that ends it: it may be too long for 32 bits before.
bool MapEmitter::waits_for_end(const Instruction& one, uint32_t number) const {
  if (one.code == Code::sub) {
    const auto& of = map_->intervals;
    if (fits_32(of[number]) || !fits_32(of[one.a]) || !fits_32(of[one.b]) || !is_ended_short(number)) return false;
    // No clamp between here and the one that reads it has this for its operand.
    const auto reads = [&](const Instruction& end) { return end.code == Code::clamp && end.a == number; };
    return of[std::ranges::find_if(map_->op.code.before, reads)->b].lo >= 0;
  }
  return uses_reals_ && can_shift(one, number) && is_ended_short(number);
}

// From 0 on, and below 2^32: what is less than nothing is nothing.
Value MapEmitter::ended_difference(const Instruction& end) {
  const Instruction& one = map_->op.code.before[end.a];
  const Value a = as(false, frame().values[one.a]), b = as(false, frame().values[one.b]);
  const Value at_least = two("max", ".s32 ", false, a, b.name), out = two("sub", ".s32 ", false, at_least, b.name);
  const Value ended = two("min", ".u32 ", false, out, std::to_string(map_->intervals[end.c].lo));
  const int64_t least = map_->intervals[end.b].lo;
  return least > 0 ? two("max", ".u32 ", false, ended, std::to_string(least)) : ended;
}

Value MapEmitter::arithmetic(const Instruction& one, bool is_wide) {
  const Value &a = frame().values[one.a], &b = frame().values[one.b], &c = frame().values[one.c];
  // Wide enough for what goes in and what comes out.
  const bool w = is_wide || a.is_wide, w2 = w || b.is_wide;
  const std::string bits = std::to_string(one.bits);
  const Interval &of_a = map_->intervals[one.a], &of_b = map_->intervals[one.b], &of_c = map_->intervals[one.c];
  switch (one.code) {
    case Code::add: return signed_two("add", w2, a, b);
    case Code::sub: return signed_two("sub", w2, a, b);
    case Code::mul:
      if (is_wide && !a.is_wide && !b.is_wide) return two("mul.wide", ".s32 ", true, a, b.name);
      return signed_two("mul.lo", w2, a, b);
    case Code::neg:
    case Code::abs: {
      const Value out = fresh(w);
      line(one.code == Code::neg ? "neg" : "abs", s(w), out.name, ", ", as(w, a).name);
      return out;
    }
    case Code::min: return at_most(a, of_a, b, of_b);
    case Code::max: return at_least(a, of_a, b, of_b);
    case Code::shl: return two("shl", MapEmitter::b(w), w, as(w, a), bits);
    case Code::shr: return a.is_wide || one.bits < 32 ? shifted(a, one.bits, is_wide) : two("shr", ".s32 ", false, a, "31");
    case Code::rsh: return rounded_shift(a, map_->intervals[one.a], one.bits, is_wide);
    case Code::rshv: return shift_by_register(a, map_->intervals[one.a], b, map_->intervals[one.b]);
    case Code::div: return divide(a, of_a, b, of_b, false);
    case Code::rdiv: return divide(a, of_a, b, of_b, true);
    case Code::isqrt: return root(a);
    case Code::bitlen: return digits(a);
    case Code::eq:
    case Code::lt: {
      const bool wide = a.is_wide || b.is_wide;
      const std::string is = p();
      line(one.code == Code::eq ? "setp.eq" : "setp.lt", s(wide), is, ", ", as(wide, a).name, ", ", as(wide, b).name);
      const Value out = fresh(false);
      line("selp.b32 ", out.name, ", 1, 0, ", is);
      return out;
    }
    case Code::and_: return two("and", MapEmitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::or_: return two("or", MapEmitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::xor_: return two("xor", MapEmitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::select: {
      const std::string is = p();
      line("setp.ne", s(a.is_wide), is, ", ", a.name, ", 0");
      const Value out = fresh(is_wide);
      const Value yes = as(is_wide, b), no = as(is_wide, c);
      line("selp", MapEmitter::b(is_wide), out.name, ", ", yes.name, ", ", no.name, ", ", is);
      return out;
    }
    default:
      if (is_wide_power(a, of_a, of_b, of_c)) return clamp_to_power(a, of_c.hi);
      return at_most(at_least(a, of_a, b, of_b), {std::max(of_a.lo, of_b.lo), std::max(of_a.hi, of_b.hi)}, c, of_c);
  }
}

}  // namespace assay::cuda
