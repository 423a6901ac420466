// Runs PTX that the engine makes for maps on the host, one thread after the other: what such kernels compute
// is known without a card. Only what kernel_ptx.cpp writes, and no threads that wait for each other (sums
// over rows).
#pragma once
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay_test {

class PtxMachine {
 public:
  // The text of one entry.
  explicit PtxMachine(const std::string& text) {
    size_t at = 0, end;
    for (; (end = text.find('\n', at)) != std::string::npos; at = end + 1) read_line(text.substr(at, end - at));
    for (Instruction& one : code_)
      if (one.kind == Kind::bra) one.to = labels_.at(one.text);
  }

  // `parameters`: addresses on the host. Every access lies inside one of the stretches, or it is an error.
  struct Stretch {
    const uint8_t* at;
    uint64_t bytes;
  };
  void run(uint64_t blocks, uint32_t threads, const std::vector<uint64_t>& parameters, const std::vector<Stretch>& memory) {
    memory_ = &memory;
    for (uint64_t block = 0; block < blocks; ++block)
      for (uint32_t thread = 0; thread < threads; ++thread) run_thread(block, thread, parameters);
  }

 private:
  struct Argument {
    int reg = -1;  // else a number
    uint64_t value = 0;
    double real = 0;
  };
  struct Type {
    char kind = 'b';
    uint32_t bits = 64;
    bool is_signed() const { return kind == 's'; }
  };
  enum class Kind : uint8_t {
    ld, st, mov, cvt, sqrt, bra, ret, add, sub, mul, mad, div, rem, min, max, neg, abs, and_, or_, xor_, shl, shr, shf, clz, prmt, selp, setp, fma, copysign, rcp
  };
  enum class How : uint8_t { none, wide, hi, param, eq, ne, lt, le, gt, ge, rm, rmi };
  struct Instruction {
    Kind kind{};
    How how{};
    std::string text;          // a label, a parameter, a special register
    bool ands = false, ors = false;  // setp with a third operand
    Type type, from;
    int predicate = -1;
    bool negated = false;
    std::vector<Argument> out, in;
    int64_t offset = 0;
    size_t to = 0;
  };

  static std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts{""};
    for (const char c : text)
      if (c == by) parts.emplace_back();
      else if (c != ' ' && c != '\t') parts.back() += c;
    return parts;
  }
  static Kind kind_of(const std::string& text) {
    static const std::vector<std::string> names{"ld",  "st",  "mov", "cvt", "sqrt", "bra", "ret", "add", "sub", "mul", "mad",  "div",  "rem", "min",
                                                "max", "neg", "abs", "and", "or",   "xor", "shl", "shr", "shf", "clz", "prmt", "selp", "setp",
                                                "fma", "copysign", "rcp"};
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) throw std::runtime_error("no such instruction: " + text);
    return static_cast<Kind>(found - names.begin());
  }
  static How how_of(const std::string& text) {
    static const std::vector<std::string> names{"", "wide", "hi", "param", "eq", "ne", "lt", "le", "gt", "ge", "rm", "rmi"};
    const auto found = std::ranges::find(names, text);
    return found == names.end() ? How::none : static_cast<How>(found - names.begin());
  }
  static Type type_of(const std::string& text) {
    if (text == "pred") return {'b', 1};
    return {text[0], static_cast<uint32_t>(std::stoul(text.substr(1)))};
  }
  Argument argument(const std::string& text) {
    if (text[0] == '%') return {registers_.insert({text, static_cast<int>(registers_.size())}).first->second, 0, 0};
    if (text.starts_with("0d")) return {-1, std::stoull(text.substr(2), nullptr, 16), 0};
    if (text[0] == '-') return {-1, static_cast<uint64_t>(-static_cast<int64_t>(std::stoull(text.substr(1), nullptr, 0))), 0};
    if (text.empty()) throw std::runtime_error("an operand without a name");
    return {-1, std::stoull(text, nullptr, 0), 0};
  }
  static std::string without(std::string text, const std::string& what) {
    std::erase_if(text, [&](char c) { return what.find(c) != std::string::npos; });
    return text;
  }

  void read_line(std::string line) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty() || line[0] == '.' || line[0] == ')' || line[0] == '}') return;
    if (line.back() == ':') {
      labels_[line.substr(0, line.size() - 1)] = code_.size();
      return;
    }
    line.pop_back();
    Instruction one;
    if (line[0] == '@') {
      const size_t end = line.find(' ');
      one.negated = line[1] == '!';
      one.predicate = argument(line.substr(one.negated ? 2 : 1, end - (one.negated ? 2 : 1))).reg;
      line.erase(0, end + 1);
    }
    const size_t space = line.find(' ');
    const auto parts = split(line.substr(0, space), '.');
    one.kind = kind_of(parts[0]);
    one.how = how_of(parts.size() > 1 ? parts[1] : "");
    if (parts.size() > 1 && one.kind != Kind::bra) one.type = type_of(parts.back());
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (one.kind == Kind::bra) one.text = without(rest, " ");
    else if (one.kind == Kind::ld && one.how == How::param) {
      one.out = {argument(split(rest, ',')[0])};
      one.text = without(split(rest, ',')[1], "[]");
    } else if (one.kind == Kind::ld || one.kind == Kind::st) read_access(one, rest);
    else if (one.kind != Kind::ret) read_operands(one, parts, rest);
    code_.push_back(std::move(one));
  }
  void read_access(Instruction& one, const std::string& rest) {
    const size_t open = rest.find('['), close = rest.find(']');
    const std::string place = rest.substr(open + 1, close - open - 1);
    const size_t plus = place.find('+');
    one.in = {argument(place.substr(0, plus))};
    if (plus != std::string::npos) one.offset = std::stoll(place.substr(plus + 1));
    const std::string values = without(one.kind == Kind::ld ? rest.substr(0, open) : rest.substr(close + 1), "{} ");
    for (const std::string& each : split(values, ','))
      if (!each.empty()) one.out.push_back(argument(each));
  }
  void read_operands(Instruction& one, const std::vector<std::string>& parts, const std::string& rest) {
    const auto all = split(rest, ',');
    const bool is_pair = rest[0] == '{';
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string name = without(all[i], "{}");
      if (name == "%ctaid.x" || name == "%ctaid.z" || name == "%tid.x") one.text = name;
      else (i == 0 || (is_pair && i == 1) ? one.out : one.in).push_back(argument(name));
    }
    one.ands = one.kind == Kind::setp && parts.size() == 4 && parts[2] == "and";
    one.ors = one.kind == Kind::setp && parts.size() == 4 && parts[2] == "or";
    if (one.kind == Kind::cvt) one.from = type_of(parts.back()), one.type = type_of(parts[parts.size() - 2]);
    if ((one.kind == Kind::mul || one.kind == Kind::mad) && one.how == How::wide) one.from = one.type, one.type = {one.type.kind, 64};
  }

  // ---- running
  static uint64_t narrowed(uint64_t x, const Type& type) {
    if (type.bits >= 64) return x;
    const uint64_t low = x & ((uint64_t{1} << type.bits) - 1);
    return type.is_signed() && (low >> (type.bits - 1)) ? low | ~((uint64_t{1} << type.bits) - 1) : low;
  }
  uint64_t get(const Argument& of, const Type& type) const { return narrowed(of.reg < 0 ? of.value : values_[of.reg], type); }
  double real(const Argument& of) const {
    double x;
    std::memcpy(&x, of.reg < 0 ? &of.value : &values_[of.reg], 8);
    return x;
  }
  void set(const Argument& of, uint64_t value) { values_[of.reg] = value; }
  void set(const Argument& of, double value) { std::memcpy(&values_[of.reg], &value, 8); }

  void touch(uint64_t at, uint32_t bytes) const {
    for (const Stretch& one : *memory_)
      if (at >= reinterpret_cast<uint64_t>(one.at) && at + bytes <= reinterpret_cast<uint64_t>(one.at) + one.bytes) return;
    throw std::runtime_error("a kernel's access outside its memory");
  }
  void access(const Instruction& one) {
    const uint32_t bytes = one.type.bits / 8;
    const uint64_t first = get(one.in[0], {}) + static_cast<uint64_t>(one.offset);
    if (first % (bytes * one.out.size()) != 0) throw std::runtime_error("a kernel's access that is not aligned");
    for (size_t i = 0; i < one.out.size(); ++i) {
      const uint64_t at = first + i * bytes;
      touch(at, bytes);
      uint64_t value = 0;
      if (one.kind == Kind::ld) {
        std::memcpy(&value, reinterpret_cast<const void*>(at), bytes);
        set(one.out[i], narrowed(value, one.type));
      } else {
        value = get(one.out[i], {});
        std::memcpy(reinterpret_cast<void*>(at), &value, bytes);
      }
    }
  }

  static bool compare(How how, uint64_t a, uint64_t b, bool is_signed) {
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    if (how == How::eq) return a == b;
    if (how == How::ne) return a != b;
    if (how == How::lt) return is_signed ? x < y : a < b;
    if (how == How::le) return is_signed ? x <= y : a <= b;
    if (how == How::gt) return is_signed ? x > y : a > b;
    return is_signed ? x >= y : a >= b;
  }
  uint64_t divided(const Instruction& one, uint64_t a, uint64_t b) const {
    if (b == 0) throw std::runtime_error("a kernel divides by 0");
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    if (one.kind == Kind::div) return one.type.is_signed() ? static_cast<uint64_t>(x / y) : a / b;
    return one.type.is_signed() ? static_cast<uint64_t>(x % y) : a % b;
  }
  static uint64_t shifted(const Instruction& one, uint64_t a, uint64_t by) {
    if (one.kind == Kind::shl) return by >= one.type.bits ? 0 : a << by;
    if (one.type.is_signed()) return static_cast<uint64_t>(static_cast<int64_t>(a) >> std::min<uint64_t>(by, 63));
    return by >= one.type.bits ? 0 : a >> by;
  }
  static uint64_t permuted(uint64_t both, uint64_t how) {
    uint64_t out = 0;
    for (int i = 0; i < 4; ++i) out |= (both >> (8 * (how >> (4 * i) & 7)) & 255) << (8 * i);
    return out;
  }

  void convert(const Instruction& one) {
    if (one.type.kind == 'f') set(one.out[0], static_cast<double>(static_cast<int64_t>(get(one.in[0], one.from))));
    else if (one.from.kind == 'f') {
      const double x = real(one.in[0]), whole = one.how == How::rmi ? std::floor(x) : x, least = -std::ldexp(1, static_cast<int>(one.type.bits) - 1);
      const int64_t ends[] = {INT64_MIN >> (64 - one.type.bits), INT64_MAX >> (64 - one.type.bits)};
      set(one.out[0], narrowed(static_cast<uint64_t>(whole < least ? ends[0] : whole >= -least ? ends[1] : static_cast<int64_t>(whole)), {'u', one.type.bits}));
    }
    else set(one.out[0], narrowed(get(one.in[0], one.from), one.type));
  }
  // Doubles, to the nearest or downwards.
  void compute_real(const Instruction& one) {
    const volatile double a = real(one.in[0]), b = one.in.size() > 1 ? real(one.in[1]) : 0, c = one.kind == Kind::fma ? real(one.in[2]) : 0;
    if (one.kind == Kind::setp)
      return set(one.out[0], uint64_t{one.how == How::gt ? a > b : one.how == How::lt ? a < b : throw std::runtime_error("no such comparison")});
    if (one.kind == Kind::selp) return set(one.out[0], get(one.in[2], {}) != 0 ? a : b);
    if (one.kind == Kind::neg) return set(one.out[0], -a);
    if (one.kind == Kind::abs) return set(one.out[0], std::fabs(a));
    if (one.kind == Kind::rcp) {
      // A driver's is right in some 20 bits, and so is this.
      double near = 1 / a;
      uint64_t bits;
      std::memcpy(&bits, &near, 8);
      return set(one.out[0], bits & 0xFFFFFFFF00000000);
    }
    if (one.kind == Kind::copysign) return set(one.out[0], std::copysign(b, a));
    std::fesetround(one.how == How::rm ? FE_DOWNWARD : FE_TONEAREST);
    volatile double out = 0;
    if (one.kind == Kind::fma) out = std::fma(a, b, c);
    else if (one.kind == Kind::add) out = a + b;
    else if (one.kind == Kind::sub) out = a - b;
    else if (one.kind == Kind::mul) out = a * b;
    std::fesetround(FE_TONEAREST);
    if (std::isnan(out)) throw std::runtime_error("no such instruction on doubles, or no number");
    set(one.out[0], static_cast<double>(out));
  }
  void compute(const Instruction& one) {
    if (one.type.kind == 'f') return compute_real(one);
    const Type& type = one.type;
    const Type& of = one.how == How::wide ? one.from : type;
    const uint64_t a = get(one.in[0], of), b = one.in.size() > 1 ? get(one.in[1], of) : 0, c = one.in.size() > 2 ? get(one.in[2], one.kind == Kind::mad ? type : of) : 0;
    const auto x = static_cast<int64_t>(a);
    uint64_t out = 0;
    if (one.kind == Kind::add) out = a + b;
    else if (one.kind == Kind::sub) out = a - b;
    else if (one.kind == Kind::mul && one.how == How::hi) out = a * b >> 32;
    else if (one.kind == Kind::mul) out = a * b;
    else if (one.kind == Kind::mad) out = a * b + c;
    else if (one.kind == Kind::div || one.kind == Kind::rem) out = divided(one, a, b);
    else if (one.kind == Kind::min || one.kind == Kind::max) out = compare(one.kind == Kind::min ? How::lt : How::gt, a, b, type.is_signed()) ? a : b;
    else if (one.kind == Kind::neg) out = 0 - a;
    else if (one.kind == Kind::abs) out = x < 0 ? 0 - a : a;
    else if (one.kind == Kind::and_) out = a & b;
    else if (one.kind == Kind::or_) out = a | b;
    else if (one.kind == Kind::xor_) out = a ^ b;
    else if (one.kind == Kind::shl || one.kind == Kind::shr) out = shifted(one, a, get(one.in[1], {'u', 32}));
    else if (one.kind == Kind::shf) out = (b << 32 | a) >> (c & 31);
    else if (one.kind == Kind::clz) out = a == 0 ? type.bits : static_cast<uint64_t>(__builtin_clzll(a)) - (64 - type.bits);
    else if (one.kind == Kind::prmt) out = permuted(b << 32 | a, c);
    else if (one.kind == Kind::selp) out = get(one.in[2], {}) != 0 ? a : b;
    else if (one.kind == Kind::setp) {
      out = compare(one.how, a, b, type.is_signed());
      if (one.ors) out |= get(one.in[2], {});
      if (one.ands) out &= get(one.in[2], {});
      return set(one.out[0], out);
    }
    set(one.out[0], narrowed(out, {'u', type.bits}));
  }
  void move(const Instruction& one, uint64_t block, uint32_t thread) {
    if (one.text == "%ctaid.x") set(one.out[0], block);
    else if (one.text == "%ctaid.z") set(one.out[0], uint64_t{0});
    else if (one.text == "%tid.x") set(one.out[0], uint64_t{thread});
    else if (one.out.size() == 2) set(one.out[0], get(one.in[0], {'u', 32})), set(one.out[1], get(one.in[0], {}) >> 32);
    else if (one.in.size() == 2) set(one.out[0], get(one.in[1], {'u', 32}) << 32 | get(one.in[0], {'u', 32}));
    else set(one.out[0], get(one.in[0], {'u', one.type.bits}));
  }

  void run_thread(uint64_t block, uint32_t thread, const std::vector<uint64_t>& parameters) {
    values_.assign(registers_.size(), 0xdddddddddddddddd);
    for (size_t at = 0; at < code_.size(); ++at) {
      const Instruction& one = code_[at];
      if (one.predicate >= 0 && (values_[one.predicate] != 0) == one.negated) continue;
      if (one.kind == Kind::ret) return;
      if (one.kind == Kind::bra) at = one.to - 1;
      else if (one.kind == Kind::ld && one.how == How::param) set(one.out[0], parameters.at(one.text == "moment" ? 0 : 1 + std::stoul(one.text.substr(1))));
      else if (one.kind == Kind::ld || one.kind == Kind::st) access(one);
      else if (one.kind == Kind::mov) move(one, block, thread);
      else if (one.kind == Kind::cvt) convert(one);
      else if (one.kind == Kind::sqrt) set(one.out[0], std::sqrt(real(one.in[0])));
      else compute(one);
    }
  }

  std::vector<Instruction> code_;
  std::map<std::string, size_t> labels_;
  std::map<std::string, int> registers_;
  std::vector<uint64_t> values_;
  const std::vector<Stretch>* memory_ = nullptr;
};

}  // namespace assay_test
