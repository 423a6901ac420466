// Wide whole numbers as doubles, for cards that have as many units for doubles as for integers: an addition,
// a product or a rounded shift is one or two instructions then, and not up to ten for the units that all else
// waits for.
//
// A double holds every whole number up to 2^53. Added to 3·2^51 (kWhole), one up to 2^51 stands in the lower
// bits as it would in a register of 64; `raw` is such a sum. A product of two doubles is rounded once,
// downwards, when it is added to something of that size: so what a shift leaves is exact however long the
// product was.
//
// A loose value is what it should be up to 2^49, and beyond that only beyond that too: right where it is
// clamped to less, and read by nothing else.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "cuda/work/ptx/map_ptx.hpp"

namespace assay::cuda {

using namespace work;

namespace {

constexpr uint64_t kExact = uint64_t{1} << 50, kTight = uint64_t{1} << 49, kMostClamped = uint64_t{1} << 48;
constexpr double kWhole = 6755399441055744.0, kHalves = kWhole / 2;  // their last bits count 1 and 1/2

std::string text_of(double x) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  const auto bits = std::bit_cast<uint64_t>(x);
  std::string text = "0d";
  for (int i = 60; i >= 0; i -= 4) text += kDigits[bits >> i & 15];
  return text;
}

bool is_constant(const Interval& x) { return x.lo == x.hi; }
double power(int32_t bits) { return std::bit_cast<double>(static_cast<uint64_t>(1023 + bits) << 52); }
bool is_shift(Code code) { return code == Code::shr || code == Code::rsh || code == Code::rshv; }

}  // namespace

// ---- from and to integers
Value MapEmitter::integer_of(bool is_wide, const Value& x) {
  if (x.is_loose) throw std::logic_error("a loose value is read as a whole number");
  std::string raw = x.raw;
  if (raw.empty()) {
    raw = f();
    line("add.f64 ", raw, ", ", x.real, ", ", text_of(kWhole));
  }
  const std::string low = r(), high = r();
  line("mov.b64 {", low, ", ", high, "}, ", raw);
  if (!is_wide) return {low, false, x.real, raw};
  const std::string top = r(), out = d();
  line("sub.s32 ", top, ", ", high, ", 0x43380000");
  line("mov.b64 ", out, ", {", low, ", ", top, "}");
  return {out, true, x.real, raw};
}

namespace {
// What the bytes above a packed lower word count more than they are worth.
double packed_more(uint32_t packed) { return power(packed == 1 ? 39 : 47); }
}  // namespace

// `bytes` has those of the element from byte `at` on.
Value MapEmitter::unpacked(const std::string& low, const std::string& bytes, uint32_t packed, size_t at) {
  const std::string top = r();
  const size_t selector = packed == 1 ? 0x40 + at : 16 * (at + 1) + at;
  if (uses_reals_) {
    const std::string raw = f(), out = f();
    line("prmt.b32 ", top, ", ", bytes, ", 0x43380000, ", std::to_string(0x7600 + selector));
    line("mov.b64 ", raw, ", {", low, ", ", top, "}");
    line("sub.f64 ", out, ", ", raw, ", ", text_of(kWhole + packed_more(packed)));
    return {"", true, out};
  }
  line("prmt.b32 ", top, ", ", bytes, ", 0, ", std::to_string(0x4400 + selector));
  const Value high = two("sub", ".s32 ", false, {top, false}, packed == 1 ? "128" : "32768"), out = fresh(true);
  line("mov.b64 ", out.name, ", {", low, ", ", high.name, "}");
  return out;
}

std::pair<std::string, std::string> MapEmitter::packed_parts(const Value& x, uint32_t packed) {
  const std::string low = r(), high = r();
  if (x.name.empty()) {
    const std::string raw = f();
    line("add.f64 ", raw, ", ", x.real, ", ", text_of(kWhole + packed_more(packed)));
    line("mov.b64 {", low, ", ", high, "}, ", raw);
    return {low, high};
  }
  line("mov.b64 {", low, ", ", high, "}, ", as(true, x).name);
  return {low, two("add", ".s32 ", false, {high, false}, packed == 1 ? "128" : "32768").name};
}

void MapEmitter::want_integers(const Instruction& one) {
  each_operand(one, [&](uint8_t reg) {
    Value& x = frame().values[reg];
    if (x.name.empty() && !x.real.empty()) x = integer_of(true, x);
  });
}

bool MapEmitter::can_be_real(uint8_t reg) const { return has_real(reg) || size_of(map_->intervals[reg]) <= kExact; }

std::string MapEmitter::real_of_short(const std::string& x, bool is_signed) {
  const std::string raw = f(), out = f(), moved = is_signed ? r() : x;
  if (is_signed) line("xor.b32 ", moved, ", ", x, ", 0x80000000");
  line("mov.b64 ", raw, ", {", moved, ", 0x43300000}");
  line("sub.f64 ", out, ", ", raw, ", ", text_of(is_signed ? power(52) + power(31) : power(52)));
  return out;
}

std::string MapEmitter::real_of(uint8_t reg) {
  Value& x = frame().values[reg];
  const Interval& of = map_->intervals[reg];
  if (is_constant(of)) return text_of(static_cast<double>(of.lo));
  if (!x.real.empty()) return x.real;
  if (!x.is_wide) return x.real = real_of_short(x.name, of.lo < 0);
  const std::string raw = f(), out = f(), low = r(), high = r(), top = r();
  line("mov.b64 {", low, ", ", high, "}, ", x.name);
  line("add.s32 ", top, ", ", high, ", 0x43380000");
  line("mov.b64 ", raw, ", {", low, ", ", top, "}");
  line("sub.f64 ", out, ", ", raw, ", ", text_of(kWhole));
  x.raw = raw;
  return x.real = out;
}

// ---- shifts
// What its value is the product of: two registers, or itself.
std::vector<uint8_t> MapEmitter::factors_of(uint8_t reg) const {
  const auto& code = map_->op.code.before;
  if (reg < code.size() && code[reg].code == Code::mul && can_be_real(code[reg].a) && can_be_real(code[reg].b)) return {code[reg].a, code[reg].b};
  if (can_be_real(reg)) return {reg};
  return {};
}

bool MapEmitter::can_shift(const Instruction& one, uint32_t number) const {
  if (!is_shift(one.code) || fits_32(map_->intervals[one.a])) return false;
  const std::vector<uint8_t> factors = factors_of(one.a);
  if (factors.empty()) return false;
  // By a constant a short product's integers are as soon shifted.
  if (one.code != Code::rshv && std::ranges::none_of(factors, [&](uint8_t reg) { return has_real(reg); })) return false;
  return size_of(map_->intervals[number]) <= kTight || may_be_loose(number, 0);
}

// The product alone is never made.
bool MapEmitter::waits_for_shift(uint32_t number) const {
  const auto& code = map_->op.code.before;
  bool is_read = false;
  for (uint32_t n = number + 1; n < code.size(); ++n) {
    bool reads = false;
    each_operand(code[n], [&](uint8_t reg) { reads |= reg == number; });
    if (!reads) continue;
    is_read = true;
    if (code[n].a != number || (code[n].code == Code::rshv && code[n].b == number) || !can_shift(code[n], n)) return false;
  }
  return is_read && number + 1 < code.size();
}

// x·2^−bits
std::string MapEmitter::scaled(uint8_t reg, uint32_t bits) {
  const Interval& of = map_->intervals[reg];
  if (is_constant(of)) return text_of(static_cast<double>(of.lo) * power(-static_cast<int32_t>(bits)));
  const std::string x = real_of(reg), out = f();
  line("mul.f64 ", out, ", ", x, ", ", text_of(power(-static_cast<int32_t>(bits))));
  return out;
}

// What is shifted is their product.
std::pair<std::string, std::string> MapEmitter::shifted_factors(const Instruction& one) {
  const std::vector<uint8_t> factors = factors_of(one.a);
  std::string second;
  if (one.code == Code::rshv) {
    const std::string by = as(false, frame().values[one.b]).name, top = r(), scale = f();
    line("mad.lo.s32 ", top, ", ", by, ", -1048576, 0x3FF00000");
    line("mov.b64 ", scale, ", {0, ", top, "}");
    second = scale;
    if (factors.size() == 2) {
      second = f();
      line("mul.f64 ", second, ", ", real_of(factors[1]), ", ", scale);
    }
  } else second = factors.size() == 2 ? scaled(factors[1], one.bits) : text_of(power(-static_cast<int32_t>(one.bits)));
  return {real_of(factors[0]), second};
}

// Rounded downwards it is saturated too: no clamp sees what is beyond 32 bits.
Value MapEmitter::ended_shift(const Instruction& end) {
  const Instruction& one = map_->op.code.before[end.a];
  const auto [first, second] = shifted_factors(one);
  const std::string exact = f(), out = r();
  if (one.code == Code::shr) line("mul.rm.f64 ", exact, ", ", first, ", ", second);
  else line("fma.rm.f64 ", exact, ", ", first, ", ", second, ", ", text_of(0.5));
  line("cvt.rmi.s32.f64 ", out, ", ", exact);
  const Interval of = map_->intervals[end.a];
  const int64_t lo = map_->intervals[end.b].lo, hi = map_->intervals[end.c].lo;
  Value x{out, false};
  if (of.lo < lo) x = two("max", ".s32 ", false, x, std::to_string(lo));
  if (of.hi > hi) x = two("min", ".s32 ", false, x, std::to_string(hi));
  // What follows may want the double; else the compiler drops it.
  x.real = real_of_short(x.name, lo < 0);
  return x;
}

std::optional<Value> MapEmitter::real_shift(const Instruction& one, uint32_t number) {
  if (!can_shift(one, number)) return std::nullopt;
  const auto [first, second] = shifted_factors(one);
  const std::string raw = f(), out = f();
  if (one.code == Code::shr) line("fma.rm.f64 ", raw, ", ", first, ", ", second, ", ", text_of(kWhole));
  else {
    // Down to halves, then half of one more.
    const std::string halves = f();
    line("fma.rm.f64 ", halves, ", ", first, ", ", second, ", ", text_of(kHalves));
    line("add.rm.f64 ", raw, ", ", halves, ", ", text_of(kHalves + 0.5));
  }
  line("sub.f64 ", out, ", ", raw, ", ", text_of(kWhole));
  const bool is_loose = size_of(map_->intervals[number]) > kTight;
  return Value{"", true, out, is_loose ? "" : raw, is_loose};
}

// Whether only sums with small numbers and clamps read it.
bool MapEmitter::may_be_loose(uint32_t number, int depth) const {
  const auto& code = map_->op.code.before;
  const auto& of = map_->intervals;
  bool is_read = false;
  if (depth > 2) return false;
  for (uint32_t n = number + 1; n < code.size(); ++n) {
    const Instruction& one = code[n];
    bool reads = false;
    each_operand(one, [&](uint8_t reg) { reads |= reg == number; });
    if (!reads) continue;
    is_read = true;
    if (one.code == Code::clamp) {
      const bool in_ends = one.b == number || one.c == number || !is_constant(of[one.b]) || !is_constant(of[one.c]);
      if (in_ends || size_of(of[one.b]) > kMostClamped || size_of(of[one.c]) > kMostClamped) return false;
    } else if (one.code == Code::add || one.code == Code::sub) {
      if (one.a == one.b || size_of(of[one.a == number ? one.b : one.a]) > kMostClamped || !may_be_loose(n, depth + 1)) return false;
    } else return false;
  }
  return is_read;
}

// ---- the rest
std::optional<Value> MapEmitter::real_sum(const Instruction& one, uint32_t number) {
  const Value &a = frame().values[one.a], &b = frame().values[one.b];
  const bool is_loose = a.is_loose || b.is_loose;
  if (!is_loose && (!can_be_real(one.a) || !can_be_real(one.b) || size_of(map_->intervals[number]) > kExact)) return std::nullopt;
  const std::string x = real_of(one.a), y = real_of(one.b), out = f();
  line(one.code == Code::add ? "add.f64 " : one.code == Code::sub ? "sub.f64 " : "mul.f64 ", out, ", ", x, ", ", y);
  return Value{"", true, out, "", is_loose};
}

// x, or `end` where x is beyond it.
Value MapEmitter::real_end(const Value& x, const char* beyond, const std::string& end) {
  const std::string is = p(), out = f();
  line(beyond, is, ", ", x.real, ", ", end);
  line("selp.f64 ", out, ", ", end, ", ", x.real, ", ", is);
  return {"", true, out};
}

Value MapEmitter::real_clamp(const Instruction& one) {
  const Interval of = map_->intervals[one.a], lo = map_->intervals[one.b], hi = map_->intervals[one.c];
  Value x = frame().values[one.a];
  const std::string least = real_of(one.b), most = real_of(one.c);
  if (lo.lo == -hi.hi && of.lo < lo.lo && of.hi > hi.hi) {
    const std::string size = f(), is = p(), end = f(), out = f();
    line("abs.f64 ", size, ", ", x.real);
    line("setp.gt.f64 ", is, ", ", size, ", ", most);
    line("copysign.f64 ", end, ", ", x.real, ", ", most);
    line("selp.f64 ", out, ", ", end, ", ", x.real, ", ", is);
    return {"", true, out};
  }
  if (of.lo < lo.lo) x = real_end(x, "setp.lt.f64 ", least);
  if (of.hi > hi.hi) x = real_end(x, "setp.gt.f64 ", most);
  x.name.clear();
  return x;
}

std::optional<Value> MapEmitter::real_choice(const Instruction& one) {
  const uint8_t yes = one.code == Code::select ? one.b : one.a, no = one.code == Code::select ? one.c : one.b;
  if (!can_be_real(yes) || !can_be_real(no)) return std::nullopt;
  const std::string x = real_of(yes), y = real_of(no), is = p(), out = f();
  if (one.code == Code::select) {
    const Value asked = as(!fits_32(map_->intervals[one.a]), frame().values[one.a]);
    line("setp.ne", s(asked.is_wide), is, ", ", asked.name, ", 0");
  } else line(one.code == Code::min ? "setp.lt.f64 " : "setp.gt.f64 ", is, ", ", x, ", ", y);
  line("selp.f64 ", out, ", ", x, ", ", y, ", ", is);
  return Value{"", true, out};
}

// By its exponent.
Value MapEmitter::real_digits(const Value& x) {
  const std::string low = r(), high = r(), size = r(), exponent = r();
  line("mov.b64 {", low, ", ", high, "}, ", x.real);
  line("and.b32 ", size, ", ", high, ", 0x7FFFFFFF");
  line("shr.u32 ", exponent, ", ", size, ", 20");
  return two("max", ".s32 ", false, two("sub", ".s32 ", false, {exponent, false}, "1022"), "0");
}

// Where an operand is a double already, or a shift takes many instructions otherwise; nothing: in integers.
std::optional<Value> MapEmitter::real_arithmetic(const Instruction& one, uint32_t number) {
  if (map_->op.code.turns > 0) return std::nullopt;
  if (one.code == Code::mul && waits_for_shift(number)) return Value{"", true};
  if (is_shift(one.code)) return real_shift(one, number);
  bool any = false, all_short = true;
  each_operand(one, [&](uint8_t reg) { any |= has_real(reg), all_short &= !frame().values[reg].is_wide; });
  if (!any || (all_short && fits_32(map_->intervals[number]))) return std::nullopt;
  const Value& a = frame().values[one.a];
  if (one.code == Code::add || one.code == Code::sub) return real_sum(one, number);
  if (one.code == Code::bitlen) return real_digits(a);
  if (size_of(map_->intervals[number]) > kExact) return std::nullopt;
  switch (one.code) {
    case Code::mul: return real_sum(one, number);
    case Code::neg:
    case Code::abs: {
      const std::string out = f();
      line(one.code == Code::neg ? "neg.f64 " : "abs.f64 ", out, ", ", a.real);
      return Value{"", true, out};
    }
    case Code::min:
    case Code::max:
    case Code::select: return real_choice(one);
    case Code::clamp:
      if (a.real.empty() || !is_constant(map_->intervals[one.b]) || !is_constant(map_->intervals[one.c])) return std::nullopt;
      return real_clamp(one);
    default: return std::nullopt;
  }
}

}  // namespace assay::cuda
