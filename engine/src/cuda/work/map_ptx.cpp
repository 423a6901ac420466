#include "cuda/work/map_ptx.hpp"

#include <algorithm>
#include <array>

namespace assay::cuda {
namespace {

using namespace work;

bool fits_32(const Interval& x) { return x.lo >= -(int64_t{1} << 31) && x.hi < (int64_t{1} << 31); }

// A value in a PTX register: %r… (32 bits) or %d… (64 bits), both signed.
struct Value {
  std::string name;
  bool is_wide = false;
};

class Emitter {
 public:
  Emitter(const Op& op, const std::vector<Interval>& intervals) : op_(op), intervals_(intervals), count_(element_count(op.dims)) {}
  std::string entry(const std::string& name);

 private:
  // ---- text and fresh registers
  template <typename... Parts>
  void line(const Parts&... parts) {
    text_ += '\t';
    ((text_ += parts), ...);
    text_ += ";\n";
  }
  std::string r() { return "%r" + std::to_string(r_++); }
  std::string d() { return "%d" + std::to_string(d_++); }
  std::string p() { return "%p" + std::to_string(p_++); }
  std::string label() { return "L" + std::to_string(labels_++); }
  Value fresh(bool is_wide) { return {is_wide ? d() : r(), is_wide}; }
  static std::string num(int64_t value) {
    // -2^63 has no decimal spelling of its own.
    if (value == INT64_MIN) return "0x8000000000000000";
    return std::to_string(value);
  }
  static const char* s(bool is_wide) { return is_wide ? ".s64 " : ".s32 "; }
  static const char* b(bool is_wide) { return is_wide ? ".b64 " : ".b32 "; }

  Value widened(const Value& x) {
    if (x.is_wide) return x;
    const Value out = fresh(true);
    line("cvt.s64.s32 ", out.name, ", ", x.name);
    return out;
  }
  Value narrowed(const Value& x) {
    if (!x.is_wide) return x;
    const Value out = fresh(false);
    line("cvt.u32.u64 ", out.name, ", ", x.name);
    return out;
  }
  Value as(bool is_wide, const Value& x) { return is_wide ? widened(x) : narrowed(x); }

  Value two(const char* op, const char* type, bool is_wide, const Value& a, const std::string& b) {
    const Value out = fresh(is_wide);
    line(op, type, out.name, ", ", a.name, ", ", b);
    return out;
  }
  Value signed_two(const char* op, bool is_wide, const Value& a, const Value& b) {
    return two(op, s(is_wide), is_wide, as(is_wide, a), as(is_wide, b).name);
  }

  // ---- instructions
  Value run(const Instruction& one, uint32_t number);
  Value arithmetic(const Instruction& one, bool is_wide);
  Value load(const Instruction& one, bool is_wide);
  Value random(const Instruction& one);
  Value rounded_shift(const Value& x, const std::string& k, const std::string& k_less_one);
  Value shift_by_register(const Value& x, const Value& k);
  Value divide(const Value& a, const Value& b, bool rounds);
  Value root(const Value& x);
  Value digits(const Value& x);
  Value clamp(const Value& x, const Value& lo, const Value& hi, bool is_wide);
  void run_section(const std::vector<Instruction>& section);
  void run_turns();
  void element(const std::string& index);

  // ---- places
  Value variable(uint8_t of);
  Value coordinate(uint32_t axis);
  Value place(const Place& place, bool is_wide);
  Value affine_index(const Instruction& one, const Operand& operand);
  Value edged_index(const Instruction& one, const Operand& operand, std::string& outside);
  bool is_own_place(const Instruction& one, const Operand& operand) const;

  const Op& op_;
  const std::vector<Interval>& intervals_;
  const uint64_t count_;
  std::string text_;
  uint32_t r_ = 0, d_ = 0, p_ = 0, labels_ = 0;
  // Of the element that is being made.
  Value index_;
  std::array<Value, kMostRank> coordinates_;
  std::vector<Value> values_;
  Value turn_;
};

Value Emitter::coordinate(uint32_t axis) {
  Value& found = coordinates_[axis];
  if (!found.name.empty()) return found;
  // index / (dims after it) % dim; ptxas turns constants into products.
  uint64_t after = 1;
  for (size_t i = axis + 1; i < op_.dims.size(); ++i) after *= op_.dims[i];
  const bool is_wide = index_.is_wide;
  const char* type = is_wide ? ".u64 " : ".u32 ";
  Value at = index_;
  if (after > 1) at = two("div", type, is_wide, at, std::to_string(after));
  if (axis > 0) at = two("rem", type, is_wide, at, std::to_string(op_.dims[axis]));
  return found = narrowed(at);
}

Value Emitter::variable(uint8_t of) {
  if (of == kSegment) return {"%segment", false};
  if (of == kStep) return {"%step", false};
  return of == kTurn ? turn_ : coordinate(of);
}

// Along one axis, before its edge. Sums of a place fit 64 bits; in 32 they may wrap on the way to a result that fits.
Value Emitter::place(const Place& place, bool is_wide) {
  Value sum = fresh(is_wide);
  line("mov", b(is_wide), sum.name, ", ", num(place.constant));
  if (place.reg) sum = two("add", s(is_wide), is_wide, sum, as(is_wide, values_[*place.reg]).name);
  for (const Term& term : place.terms) {
    const Value factor = as(is_wide, variable(term.of));
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", factor.name, ", ", num(term.times), ", ", sum.name);
    sum = out;
  }
  return sum;
}

bool Emitter::is_own_place(const Instruction& one, const Operand& operand) const {
  if (operand.dims != op_.dims) return false;
  for (size_t axis = 0; axis < one.place.size(); ++axis) {
    const Place& place = one.place[axis];
    if (place.reg || place.constant != 0 || place.terms.size() != 1 || place.terms[0].of != axis || place.terms[0].times != 1) return false;
  }
  return true;
}

Value Emitter::affine_index(const Instruction& one, const Operand& operand) {
  const bool is_wide = element_count(operand.dims) > INT32_MAX;
  Value index = fresh(is_wide);
  line("mov", b(is_wide), index.name, ", 0");
  for (size_t axis = 0; axis < operand.dims.size(); ++axis) {
    const Value at = as(is_wide, place(one.place[axis], false));
    const Value out = fresh(is_wide);
    line("mad.lo", s(is_wide), out.name, ", ", index.name, ", ", std::to_string(operand.dims[axis]), ", ", at.name);
    index = out;
  }
  return index;
}

// `outside`: a predicate that is true where an edge says zero; empty where none does.
Value Emitter::edged_index(const Instruction& one, const Operand& operand, std::string& outside) {
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

Value Emitter::load(const Instruction& one, bool is_wide) {
  const Operand& operand = op_.operands[one.operand];
  const bool has_edge = std::ranges::any_of(one.place, [](const Place& place) { return place.edge != Edge::inside; });
  std::string outside;
  const Value index = is_own_place(one, operand) ? index_ : has_edge ? edged_index(one, operand, outside) : affine_index(one, operand);
  const uint32_t size = bytes_of(operand.type);
  const std::string address = d(), base = "%o" + std::to_string(one.operand);
  line(index.is_wide ? "mad.lo.u64 " : "mad.wide.u32 ", address, ", ", index.name, ", ", std::to_string(size), ", ", base);
  static constexpr const char* kLoads[] = {"ld.global.s8 ", "ld.global.s16 ", "ld.global.s32 ", "ld.global.s64 "};
  Value out = fresh(operand.type == Type::i64);
  line(kLoads[static_cast<uint8_t>(operand.type)], out.name, ", [", address, "]");
  if (!outside.empty()) {
    const Value kept = fresh(out.is_wide);
    line("selp", b(out.is_wide), kept.name, ", 0, ", out.name, ", ", outside);
    out = kept;
  }
  return as(is_wide, out);
}

// Philox4x32-10, the first word: core/philox.hpp.
Value Emitter::random(const Instruction& one) {
  const Value x = widened(values_[one.a]);
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

// (x >> k) + (x >> (k − 1) & 1): to the nearest, halves upwards.
Value Emitter::rounded_shift(const Value& x, const std::string& k, const std::string& k_less_one) {
  const bool w = x.is_wide;
  const Value whole = two("shr", s(w), w, x, k), half = two("shr", s(w), w, x, k_less_one);
  const Value bit = two("and", b(w), w, half, "1");
  return two("add", s(w), w, whole, bit.name);
}

Value Emitter::shift_by_register(const Value& x, const Value& k) {
  const Value wide = widened(x), by = narrowed(k);
  const Value right = two("max", ".s32 ", false, by, "1"), less = two("sub", ".s32 ", false, right, "1");
  const Value shifted = rounded_shift(wide, right.name, less.name);
  const Value negative = fresh(false);
  line("neg.s32 ", negative.name, ", ", by.name);
  const Value left = two("max", ".s32 ", false, negative, "0");
  const Value raised = two("shl", ".b64 ", true, wide, left.name);
  const std::string is_right = p();
  line("setp.gt.s32 ", is_right, ", ", by.name, ", 0");
  const Value out = fresh(true);
  line("selp.b64 ", out.name, ", ", shifted.name, ", ", raised.name, ", ", is_right);
  return out;
}

// ⌊a / b⌋, or to the nearest with halves upwards; b ≥ 1.
Value Emitter::divide(const Value& a, const Value& b, bool rounds) {
  const bool w = a.is_wide || b.is_wide;
  const Value x = as(w, a), y = as(w, b);
  const Value q = two("div", s(w), w, x, y.name);
  Value rest = fresh(w), product = two("mul.lo", s(w), w, q, y.name);
  line("sub", s(w), rest.name, ", ", x.name, ", ", product.name);
  const std::string below = p();
  line("setp.lt", s(w), below, ", ", rest.name, ", 0");
  line("@", below, " add", s(w), q.name, ", ", q.name, ", -1");
  if (rounds) {
    line("@", below, " add", s(w), rest.name, ", ", rest.name, ", ", y.name);
    const Value left = fresh(w);
    line("sub", s(w), left.name, ", ", y.name, ", ", rest.name);
    const std::string up = p();
    line("setp.ge", s(w), up, ", ", rest.name, ", ", left.name);
    line("@", up, " add", s(w), q.name, ", ", q.name, ", 1");
  }
  return q;
}

// ⌊√x⌋: the nearest double is off by one at most.
Value Emitter::root(const Value& x) {
  const Value wide = widened(x), out = fresh(true), square = fresh(true), next = fresh(true);
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

Value Emitter::digits(const Value& x) {
  const Value size = fresh(x.is_wide), zeros = fresh(false), out = fresh(false);
  line("abs", s(x.is_wide), size.name, ", ", x.name);
  line("clz", b(x.is_wide), zeros.name, ", ", size.name);
  line("sub.s32 ", out.name, ", ", x.is_wide ? "64" : "32", ", ", zeros.name);
  return out;
}

Value Emitter::clamp(const Value& x, const Value& lo, const Value& hi, bool is_wide) {
  return signed_two("min", is_wide, signed_two("max", is_wide, x, lo), hi);
}

Value Emitter::arithmetic(const Instruction& one, bool is_wide) {
  const Value &a = values_[one.a], &b = values_[one.b], &c = values_[one.c];
  // Wide enough for what goes in and what comes out.
  const bool w = is_wide || a.is_wide, w2 = w || b.is_wide;
  const std::string bits = std::to_string(one.bits);
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
    case Code::min: return signed_two("min", w2, a, b);
    case Code::max: return signed_two("max", w2, a, b);
    case Code::shl: return two("shl", Emitter::b(w), w, as(w, a), bits);
    case Code::shr: return two("shr", s(a.is_wide), a.is_wide, a, bits);
    case Code::rsh: return rounded_shift(a, bits, std::to_string(one.bits - 1));
    case Code::rshv: return shift_by_register(a, b);
    case Code::div: return divide(a, b, false);
    case Code::rdiv: return divide(a, b, true);
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
    case Code::and_: return two("and", Emitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::or_: return two("or", Emitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::xor_: return two("xor", Emitter::b(w2), w2, as(w2, a), as(w2, b).name);
    case Code::select: {
      const std::string is = p();
      line("setp.ne", s(a.is_wide), is, ", ", a.name, ", 0");
      const Value out = fresh(is_wide);
      const Value yes = as(is_wide, b), no = as(is_wide, c);
      line("selp", Emitter::b(is_wide), out.name, ", ", yes.name, ", ", no.name, ", ", is);
      return out;
    }
    default: return clamp(a, b, c, w2 || c.is_wide);
  }
}

Value Emitter::run(const Instruction& one, uint32_t number) {
  const bool is_wide = !fits_32(intervals_[number]);
  const auto constant = [&](int64_t value) {
    const Value out = fresh(is_wide);
    line("mov", b(is_wide), out.name, ", ", num(value));
    return out;
  };
  switch (one.code) {
    case Code::load: return load(one, is_wide);
    case Code::constant: return constant(one.value);
    case Code::iota: return as(is_wide, coordinate(one.axis));
    case Code::segment: return as(is_wide, {"%segment", false});
    case Code::step: return as(is_wide, {"%step", false});
    case Code::turn: return as(is_wide, turn_);
    case Code::rand: return as(is_wide, random(one));
    default: return as(is_wide, arithmetic(one, is_wide));
  }
}

void Emitter::run_section(const std::vector<Instruction>& section) {
  for (const Instruction& one : section) values_.push_back(run(one, static_cast<uint32_t>(values_.size())));
}

void Emitter::run_turns() {
  const MapCode& code = op_.code;
  const auto bound = [&](int64_t value) {
    const Value out = fresh(true);
    line("mov.b64 ", out.name, ", ", num(value));
    return out;
  };
  const auto carry = [&](const Carried& one, const Value& from) {
    return as(!fits_32(one.interval), clamp(from, bound(one.interval.lo), bound(one.interval.hi), true));
  };
  std::vector<Value> carried;
  for (const Carried& one : code.carried) {
    const Value start = carry(one, values_[one.from]), kept = fresh(start.is_wide);
    line("mov", b(kept.is_wide), kept.name, ", ", start.name);
    carried.push_back(kept);
  }
  // Coordinates that only the body needs are found before it: not again in every turn.
  for (uint32_t axis = 0; axis < op_.dims.size(); ++axis) coordinate(axis);
  values_.insert(values_.end(), carried.begin(), carried.end());
  turn_ = fresh(false);
  const std::string top = label(), more = p();
  line("mov.b32 ", turn_.name, ", 0");
  text_ += top + ":\n";
  run_section(code.body);
  std::vector<Value> next;
  for (const Carried& one : code.carried) next.push_back(carry(one, values_[one.next]));
  for (size_t i = 0; i < carried.size(); ++i) line("mov", b(carried[i].is_wide), carried[i].name, ", ", next[i].name);
  line("add.s32 ", turn_.name, ", ", turn_.name, ", 1");
  line("setp.lt.s32 ", more, ", ", turn_.name, ", ", std::to_string(code.turns));
  line("@", more, " bra ", top);
}

void Emitter::element(const std::string& index) {
  index_ = {index, count_ > INT32_MAX};
  coordinates_ = {};
  values_.clear();
  run_section(op_.code.before);
  if (op_.code.turns > 0) {
    run_turns();
    run_section(op_.code.after);
  }
  const std::string address = d();
  line(index_.is_wide ? "mad.lo.u64 " : "mad.wide.u32 ", address, ", ", index, ", ", std::to_string(bytes_of(op_.type)), ", %out");
  static constexpr const char* kStores[] = {"st.global.b8 [", "st.global.b16 [", "st.global.b32 [", "st.global.b64 ["};
  line(kStores[static_cast<uint8_t>(op_.type)], address, "], ", as(op_.type == Type::i64, values_.back()).name);
}

// Several elements a thread, a block apart: their loads are under way together.
uint32_t elements_per_thread(const Op& op) { return op.code.turns == 0 && op.code.registers() <= 64 ? 4 : 1; }

std::string Emitter::entry(const std::string& name) {
  const bool is_wide = count_ > INT32_MAX;
  const std::string first = is_wide ? "%first64" : "%first";
  line("mov.u32 %block, %ctaid.x");
  line("mov.u32 %thread, %tid.x");
  const std::string per_block = std::to_string(map_elements_per_block(op_));
  if (is_wide) {
    line("cvt.u64.u32 %first64, %thread");
    line("mad.wide.u32 %first64, %block, ", per_block, ", %first64");
  } else line("mad.lo.u32 %first, %block, ", per_block, ", %thread");
  for (uint32_t i = 0; i < elements_per_thread(op_); ++i) {
    const std::string index = is_wide ? d() : r(), done = p();
    line("add", s(is_wide), index, ", ", first, ", ", std::to_string(i * kMapThreads));
    line(is_wide ? "setp.ge.u64 " : "setp.ge.u32 ", done, ", ", index, ", ", std::to_string(count_));
    line("@", done, " bra DONE");
    element(index);
  }
  std::string head = ".visible .entry " + name + "(\n\t.param .u64 out";
  for (size_t i = 0; i < op_.operands.size(); ++i) head += ",\n\t.param .u64 o" + std::to_string(i);
  for (const char* word : {"segment", "step", "when", "key0", "key1"}) head += std::string(",\n\t.param .u32 ") + word;
  head += "\n) {\n\t.reg .b32 %r<" + std::to_string(r_ + 1) + ">, %segment, %step, %when, %key0, %key1, %block, %thread, %first;\n";
  head += "\t.reg .b64 %d<" + std::to_string(d_ + 1) + ">, %out, %first64";
  for (size_t i = 0; i < op_.operands.size(); ++i) head += ", %o" + std::to_string(i);
  head += ";\n\t.reg .f64 %f<1>;\n\t.reg .pred %p<" + std::to_string(p_ + 1) + ">;\n\tld.param.u64 %out, [out];\n";
  for (size_t i = 0; i < op_.operands.size(); ++i) head += "\tld.param.u64 %o" + std::to_string(i) + ", [o" + std::to_string(i) + "];\n";
  for (const char* word : {"segment", "step", "when", "key0", "key1"})
    head += std::string("\tld.param.u32 %") + word + ", [" + word + "];\n";
  return head + text_ + "DONE:\n\tret;\n}\n";
}

}  // namespace

uint32_t map_elements_per_block(const Op& op) { return kMapThreads * elements_per_thread(op); }

std::string map_ptx(const Op& op, const std::vector<Interval>& registers, const std::string& name) {
  return Emitter(op, registers).entry(name);
}

std::string ptx_head() { return ".version 7.0\n.target sm_75\n.address_size 64\n"; }

}  // namespace assay::cuda
