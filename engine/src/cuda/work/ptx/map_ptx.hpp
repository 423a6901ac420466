// The code of `map`s (docs/work.md §3) as PTX, which the driver compiles for its card: no toolkit is needed
// on the host. Registers whose interval fits 32 bits are 32 bits wide. For checked programs only. Not here:
// which threads make which elements, and where they are stored (kernel_ptx.cpp).
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "work/program.hpp"

namespace assay::cuda {

inline uint64_t size_of(const work::Interval& x) {
  const auto size = [](int64_t end) { return end < 0 ? 0 - static_cast<uint64_t>(end) : static_cast<uint64_t>(end); };
  return std::max(size(x.lo), size(x.hi));
}
inline bool fits_32(const work::Interval& x) { return x.lo >= -(int64_t{1} << 31) && x.hi < (int64_t{1} << 31); }

// A value in a PTX register: %r… (32 bits) or %d… (64 bits), both signed; or a whole number as a double, %f…
// (real_arithmetic.cpp), then perhaps without a name. `is_loose`: see there.
struct Value {
  std::string name{};
  bool is_wide = false;
  std::string real{}, raw{};
  bool is_loose = false;
};

// Nothing was written for it yet: what reads it writes both.
inline bool is_waiting(const Value& x) { return x.name.empty() && x.real.empty(); }

// One element of a map that is being made. A thread makes several at once.
struct Frame {
  Value index;  // in the output
  Value row;    // of the output, where it is known: all axes but the last
  std::array<Value, work::kMostRank> coordinates;
  std::vector<Value> values;
  Value turn;
};

// Where an operand comes from.
struct Input {
  std::string base;                           // a register with its address
  const std::vector<Frame>* made = nullptr;   // or made by the same thread: the last value of the frame
  // Bytes of an element above its lower word, which lie behind all of these (kernel_ptx.hpp); 0: none.
  uint32_t packed = 0;
};

struct MapToEmit {
  const work::Op& op;
  const std::vector<work::Interval>& intervals;
  std::vector<Input> inputs;
  // The frames, 2, 4 or 16, are neighbours along the last axis, the first at a multiple of their number; else
  // each is anywhere.
  bool neighbours = false;
};

class MapEmitter {
 public:
  // ---- text and fresh registers
  template <typename... Parts>
  void line(const Parts&... parts) {
    text_ += '\t';
    ((text_ += parts), ...);
    text_ += ";\n";
  }
  void place_label(const std::string& name) { text_ += name + ":\n"; }
  std::string r() { return "%r" + std::to_string(r_++); }
  std::string d() { return "%d" + std::to_string(d_++); }
  std::string f() { return "%f" + std::to_string(f_++); }
  std::string p() { return "%p" + std::to_string(p_++); }
  // Not "L" + …: GCC 12 sees an overflow there that cannot be (its bug 105651).
  std::string label() { return std::string("L").append(std::to_string(labels_++)); }
  Value fresh(bool is_wide) { return {is_wide ? d() : r(), is_wide}; }
  Value number(int64_t value, bool is_wide);
  static const char* s(bool is_wide) { return is_wide ? ".s64 " : ".s32 "; }
  static const char* b(bool is_wide) { return is_wide ? ".b64 " : ".b32 "; }
  // As a whole number of so many bits.
  Value as(bool is_wide, const Value& x);
  Value two(const char* op, const char* type, bool is_wide, const Value& a, const std::string& b);
  Value signed_two(const char* op, bool is_wide, const Value& a, const Value& b) {
    return two(op, s(is_wide), is_wide, as(is_wide, a), as(is_wide, b).name);
  }
  // base + index·size
  std::string address(const std::string& base, const Value& index, uint32_t size);
  std::string declarations() const;
  const std::string& text() const { return text_; }

  // A wide value as its lower word, and one whose lower bytes are those above it, as they are packed.
  std::pair<std::string, std::string> packed_parts(const Value& x, uint32_t packed);

  // What was loaded is loaded again: another way leads here.
  void forget_loads() { loaded_.clear(); }
  // All elements of `frames`; the last value of each is the output's.
  void run(const MapToEmit& map, std::vector<Frame>& frames);

 protected:
  bool uses_reals_ = false, has_doubles_ = false;
  // In a loop: what it holds may come from an earlier turn's min or max.
  void may_be_end(const Value& x) { ends_[x.name] = End::either; }

 private:
  void run_section(const std::vector<work::Instruction>& section, std::vector<Frame>& frames);
  void run_body(std::vector<Frame>& frames);
  void run_turns(std::vector<Frame>& frames);
  bool varies(const work::Instruction& one, const std::vector<bool>& known) const;
  Value run(const work::Instruction& one, uint32_t number);
  Value arithmetic(const work::Instruction& one, bool is_wide);
  Value random(const work::Instruction& one);
  Value shifted(const Value& x, uint32_t k, bool is_wide);
  Value rounded_shift(const Value& x, const work::Interval& of, uint32_t k, bool is_wide);
  Value shift_by_register(const Value& x, const work::Interval& of, const Value& by, const work::Interval& by_of);
  Value divide(const Value& a, const work::Interval& of_a, const Value& b, const work::Interval& of_b, bool rounds);
  Value quotient(const Value& x, const Value& y);
  Value root(const Value& x);
  Value digits(const Value& x);
  Value at_most(const Value& a, const work::Interval& of_a, const Value& b, const work::Interval& of_b);
  Value at_least(const Value& a, const work::Interval& of_a, const Value& b, const work::Interval& of_b);
  Value clamp_to_power(const Value& x, int64_t power);
  Value clamp(const Value& x, const Value& lo, const Value& hi, bool is_wide);
  bool is_ended_short(uint32_t number) const;
  bool waits_for_end(const work::Instruction& one, uint32_t number) const;
  Value ended_difference(const work::Instruction& end);
  Value carry(const work::Carried& one, uint32_t from);
  std::string changed(const std::vector<Value>& carried, const std::vector<Value>& next);

  // ---- whole numbers as doubles: real_arithmetic.cpp
  Value kept_as(bool is_wide, const Value& x) { return is_wide && x.name.empty() ? x : as(is_wide, x); }
  Value integer_of(bool is_wide, const Value& x);
  void want_integers(const work::Instruction& one);
  std::optional<Value> real_arithmetic(const work::Instruction& one, uint32_t number);
  std::optional<Value> real_shift(const work::Instruction& one, uint32_t number);
  std::pair<std::string, std::string> shifted_factors(const work::Instruction& one);
  Value ended_shift(const work::Instruction& end);
  std::optional<Value> real_sum(const work::Instruction& one, uint32_t number);
  std::optional<Value> real_choice(const work::Instruction& one);
  Value real_clamp(const work::Instruction& one);
  Value real_end(const Value& x, const char* beyond, const std::string& end);
  Value real_digits(const Value& x);
  bool has_real(uint32_t reg) const { return reg < frame().values.size() && !frame().values[reg].real.empty(); }
  bool can_be_real(uint8_t reg) const;
  bool can_shift(const work::Instruction& one, uint32_t number) const;
  bool may_be_loose(uint32_t number, int depth) const;
  bool waits_for_shift(uint32_t number) const;
  std::vector<uint8_t> factors_of(uint8_t reg) const;
  std::string real_of(uint8_t reg);
  std::string real_of_short(const std::string& x, bool is_signed);
  std::string scaled(uint8_t reg, uint32_t bits);

  // ---- loads: map_loads.cpp
  using Wide = __int128;
  struct Range {
    Wide lo, hi;
  };
  Value load(const work::Instruction& one, bool is_wide);
  std::vector<Value> load_line(const work::Instruction& one, const std::string& base);
  bool has_row_mates(const work::Instruction& one) const;
  void load_row(const work::Instruction& one, const std::string& base);
  std::optional<work::Instruction> line_of(const work::Instruction& one, uint32_t& at) const;
  std::string load_key(const work::Instruction& one) const;
  Range range_of(const work::Place& place) const;
  bool stays_inside(const work::Place& place, uint32_t dim) const;
  Value variable(uint8_t of);
  Value coordinate(uint32_t axis);
  Value place(const work::Place& place, bool is_wide);
  Value edged(const work::Place& place, uint32_t dim, std::string& outside);
  struct Address {
    std::string base;  // a register
    int64_t offset;    // in bytes
  };
  Address address_of(const work::Instruction& one, const std::string& base, uint32_t size, std::string& outside);
  Address place_of(const work::Instruction& one, const std::string& base, uint32_t size, std::string& outside);
  std::vector<Value> load_packed(const work::Instruction& one, const Input& input, size_t count);
  Value unpacked(const std::string& low, const std::string& bytes, uint32_t packed, size_t at);

  std::string text_;
  uint32_t r_ = 0, d_ = 0, f_ = 1, p_ = 0, labels_ = 0;  // %f0 is root's
  // What is being made.
  const MapToEmit* map_ = nullptr;
  std::vector<Frame>* frames_ = nullptr;
  size_t at_ = 0;  // the frame
  Frame& frame() { return (*frames_)[at_]; }
  const Frame& frame() const { return (*frames_)[at_]; }
  std::vector<bool> varying_;  // by register: differs between frames
  // By load_key: an element that several loads of a kernel want is read once.
  std::map<std::string, Value> loaded_;

  // Registers that min or max made.
  enum class End : uint8_t { min, max, either };
  std::map<std::string, End> ends_;
  std::string apart(const std::string& name, End from);
};

// Instructions of a body that only one arm of one select needs, in their order.
struct LazyArm {
  uint32_t select;  // its number in the body
  bool is_yes;      // the arm that is taken where the select's first register is not 0
  std::vector<uint32_t> waiting;
};
std::vector<LazyArm> lazy_arms(const work::MapCode& code, const std::vector<work::Interval>& intervals);

// The flat index that a load reads, where it moves evenly: constant + Σ steps[variable]·variable.
struct FlatPlace {
  int64_t constant = 0;
  std::array<int64_t, 9> steps{};
};
std::optional<FlatPlace> flat_place(const work::Op& op, const work::Instruction& one);
// It reads the output's own place; or the place of its row, in an operand of one element a row.
bool is_own_place(const work::Op& op, const work::Instruction& one);
bool is_row_place(const work::Op& op, const work::Instruction& one);
// An axis before the last along which neighbours of the output are neighbours of an operand, although along
// the last they are not.
std::optional<uint32_t> turned_axis(const work::Op& op);

}  // namespace assay::cuda
