#include "cuda/work/ptx/kernel_emitter.hpp"

#include <algorithm>

namespace assay::cuda {

using namespace work;

namespace {

bool uses_coordinates(const KernelOp& one) {
  const auto asks = [&](const Instruction& each) {
    if (each.code == Code::iota) return true;
    return each.code == Code::load && one.from[each.operand].op < 0 && !is_own_place(*one.op, each);
  };
  return std::ranges::any_of(one.op->code.before, asks);
}

}  // namespace

bool KernelEmitter::can_take_fours() const {
  if (plan_.count % 4 != 0 || (plan_.width != 0 && plan_.width % 4 != 0)) return false;
  return std::ranges::all_of(plan_.ops, [](const KernelOp& one) {
    if (one.is_row) return true;
    if (one.op->code.turns > 0 || (one.planes >= 0 && one.layout.k % 4 != 0)) return false;
    return one.op->dims.back() % 4 == 0 || !uses_coordinates(one);
  });
}

// ---- parts
KernelEmitter::Frames KernelEmitter::frames_at(const Value& first, uint32_t count, bool neighbours, uint32_t distance) {
  Frames frames(count);
  frames[0].index = first;
  for (uint32_t i = 1; i < count; ++i)
    frames[i].index = two("add", s(is_wide_), is_wide_, first, std::to_string(neighbours ? i : i * distance));
  return frames;
}

void KernelEmitter::run_op(size_t number, Frames& frames, size_t chunk, bool neighbours) {
  const KernelOp& one = plan_.ops[number];
  MapToEmit map{*one.op, *one.intervals, {}, neighbours};
  for (const KernelOp::From& from : one.from) {
    if (from.op < 0) map.inputs.push_back({"%o" + std::to_string(from.pointer), nullptr, from.packed});
    else map.inputs.push_back({"", &frames_of_[from.op][plan_.ops[from.op].is_row ? 0 : chunk]});
  }
  run(map, frames);
  store(number, frames, neighbours);
}

// Ops that are not by row, one after the other on the same elements.
void KernelEmitter::run_all(Frames start, bool neighbours) {
  forget_loads();
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    frames_of_[i] = {start};
    run_op(i, frames_of_[i][0], 0, neighbours);
  }
}

void KernelEmitter::run_row_op(size_t number) {
  Frames frames(1);
  frames[0].index = {"%row", false};
  frames_of_[number] = {frames};
  const std::string skip = label(), other = p();
  const KernelOp& one = plan_.ops[number];
  MapToEmit map{*one.op, *one.intervals, {}, false};
  for (const KernelOp::From& from : one.from) {
    if (from.op < 0) map.inputs.push_back({"%o" + std::to_string(from.pointer), nullptr, from.packed});
    else map.inputs.push_back({"", &frames_of_[from.op][0]});
  }
  run(map, frames_of_[number][0]);
  if (one.elements < 0) return;
  line("setp.ne.u32 ", other, ", %lane, 0");
  line("@", other, " bra ", skip);
  store(number, frames_of_[number][0], false);
  place_label(skip);
}

Value KernelEmitter::plane_index(const KernelOp& one, const Value& index) {
  const auto& [count, k, pitch, bytes] = one.layout;
  if (pitch == k) return index;
  const bool w = index.is_wide;
  const char* type = w ? ".u64 " : ".u32 ";
  const Value row = two("div", type, w, index, std::to_string(k)), column = two("rem", type, w, index, std::to_string(k));
  const Value wide_row = w ? row : fresh(true), wide_column = w ? column : fresh(true), out = fresh(true);
  if (!w) {
    line("cvt.u64.u32 ", wide_row.name, ", ", row.name);
    line("cvt.u64.u32 ", wide_column.name, ", ", column.name);
  }
  line("mad.lo.u64 ", out.name, ", ", wide_row.name, ", ", std::to_string(pitch), ", ", wide_column.name);
  return out;
}

void KernelEmitter::store_planes(const KernelOp& one, const Frames& frames, bool neighbours) {
  const std::string base = "%o" + std::to_string(one.planes);
  const bool together = neighbours && frames.size() > 1;
  std::vector<std::string> words;
  for (const Frame& frame : frames) words.push_back(as(false, frame.values.back()).name);
  // Byte p of two words.
  const auto two_bytes = [&](size_t i, uint32_t p) {
    const std::string out = r();
    line("prmt.b32 ", out, ", ", words[i], ", ", words[i + 1], ", ", std::to_string((4 + p) * 16 + p));
    return out;
  };
  const auto four_bytes = [&](size_t i, uint32_t p) {
    const std::string low = two_bytes(i, p), high = two_bytes(i + 2, p), out = r();
    line("prmt.b32 ", out, ", ", low, ", ", high, ", 0x5410");
    return out;
  };
  for (size_t i = 0; i < (together ? 1 : frames.size()); ++i) {
    const std::string to = address(base, plane_index(one, frames[i].index), 1);
    for (uint32_t p = 0; p < one.layout.count; ++p) {
      const std::string at = "[" + to + "+" + std::to_string(p * one.layout.plane_bytes) + "]";
      if (!together) {
        const std::string out = r();
        line("shr.u32 ", out, ", ", words[i], ", ", std::to_string(8 * p));
        line("st.global.b8 ", at, ", ", out);
      } else if (frames.size() == 2) line("st.global.b16 ", at, ", ", two_bytes(0, p));
      else if (frames.size() == 4) line("st.global.b32 ", at, ", ", four_bytes(0, p));
      else {
        const std::string a = four_bytes(0, p), b = four_bytes(4, p), c = four_bytes(8, p), d = four_bytes(12, p);
        line("st.global.v4.b32 ", at, ", {", a, ", ", b, ", ", c, ", ", d, "}");
      }
    }
  }
}

void KernelEmitter::store_packed(const KernelOp& one, const std::string& base, const Frames& frames, bool together) {
  const uint32_t packed = one.packed;
  const std::string above = std::to_string(4 * element_count(one.op->dims));
  std::vector<std::string> low, high;
  for (const Frame& frame : frames) {
    const auto parts = packed_parts(frame.values.back(), packed);
    low.push_back(parts.first), high.push_back(parts.second);
  }
  const auto joined = [&](size_t i, const char* how) {
    const std::string out = r();
    line("prmt.b32 ", out, ", ", high[i], ", ", high[i + 1], ", ", how);
    return out;
  };
  const size_t each = together ? 4 : 1;
  for (size_t i = 0; i < frames.size(); i += each) {
    const std::string to = address(base, frames[i].index, 4), top = address(base, frames[i].index, packed) + "+" + above;
    if (!together) {
      line("st.global.b32 [", to, "], ", low[i]);
      line(packed == 1 ? "st.global.b8 [" : "st.global.b16 [", top, "], ", high[i]);
      continue;
    }
    line("st.global.v4.b32 [", to, "+0], {", low[i], ", ", low[i + 1], ", ", low[i + 2], ", ", low[i + 3], "}");
    const std::string a = joined(i, packed == 1 ? "0x0040" : "0x5410"), b = joined(i + 2, packed == 1 ? "0x0040" : "0x5410");
    if (packed == 2) line("st.global.v2.b32 [", top, "], {", a, ", ", b, "}");
    else {
      const std::string all = r();
      line("prmt.b32 ", all, ", ", a, ", ", b, ", 0x5410");
      line("st.global.b32 [", top, "], ", all);
    }
  }
}

void KernelEmitter::store(size_t number, const Frames& frames, bool neighbours) {
  static constexpr const char* kStores[] = {"st.global.b8 [", "st.global.b16 [", "st.global.b32 [", "st.global.b64 ["};
  const KernelOp& one = plan_.ops[number];
  if (one.planes >= 0) store_planes(one, frames, neighbours);
  if (one.elements < 0) return;
  const std::string base = "%o" + std::to_string(one.elements);
  const Type type = one.op->type;
  if (one.packed != 0) return store_packed(one, base, frames, neighbours && frames.size() > 1);
  std::vector<std::string> values;
  for (const Frame& frame : frames) values.push_back(as(type == Type::i64, frame.values.back()).name);
  if (!neighbours || frames.size() == 1) {
    for (size_t i = 0; i < frames.size(); ++i)
      line(kStores[static_cast<uint8_t>(type)], address(base, frames[i].index, bytes_of(type)), "], ", values[i]);
    return;
  }
  const std::string to = address(base, frames[0].index, bytes_of(type));
  const size_t size = bytes_of(type), each = size == 8 ? 2 : std::min<size_t>(frames.size(), 4);
  for (size_t i = 0; i < frames.size(); i += each) {
    std::string all = values[i];
    for (size_t j = 1; j < each; ++j) all += ", " + values[i + j];
    line("st.global.v", std::to_string(each), ".b", std::to_string(8 * size), " [", to, "+", std::to_string(i * size), "], {", all, "}");
  }
}

// ---- without rows
void KernelEmitter::flat_fours() {
  const std::string done = p();
  if (is_wide_) {
    line("cvt.u64.u32 %first64, %thread");
    line("mad.wide.u32 %first64, %block, 256, %first64");
    line("shl.b64 %first64, %first64, 2");
  } else {
    line("mad.lo.u32 %first, %block, 256, %thread");
    line("shl.b32 %first, %first, 2");
  }
  const Value first{is_wide_ ? "%first64" : "%first", is_wide_};
  line(is_wide_ ? "setp.ge.u64 " : "setp.ge.u32 ", done, ", ", first.name, ", ", std::to_string(plan_.count));
  line("@", done, " bra DONE");
  run_all(frames_at(first, 4, true, 1), true);
  blocks_ = (plan_.count / 4 + 255) / 256;
}

// Four elements a thread, a block apart: their loads are under way together. At the end, and with turns, one
// at a time.
void KernelEmitter::flat_apart() {
  const bool has_turns = plan_.ops[0].op->code.turns > 0;
  const uint32_t each = has_turns ? 1 : 4, per_block = each * kMapThreads;
  const char* type = is_wide_ ? ".u64 " : ".u32 ";
  if (is_wide_) {
    line("cvt.u64.u32 %first64, %thread");
    line("mad.wide.u32 %first64, %block, ", std::to_string(per_block), ", %first64");
  } else line("mad.lo.u32 %first, %block, ", std::to_string(per_block), ", %thread");
  const Value first{is_wide_ ? "%first64" : "%first", is_wide_};
  const std::string count = std::to_string(plan_.count), done = p(), one = label();
  if (each == 4) {
    const Value last = two("add", s(is_wide_), is_wide_, first, std::to_string(3 * kMapThreads));
    const std::string beyond = p();
    line("setp.ge", type, beyond, ", ", last.name, ", ", count);
    line("@", beyond, " bra ", one);
    run_all(frames_at(first, 4, false, kMapThreads), false);
    line("bra DONE");
  }
  place_label(one);
  line("setp.ge", type, done, ", ", first.name, ", ", count);
  line("@", done, " bra DONE");
  run_all(frames_at(first, 1, false, 1), false);
  if (each == 4) {
    line("add", s(is_wide_), first.name, ", ", first.name, ", ", std::to_string(kMapThreads));
    line("bra ", one);
  }
  blocks_ = (plan_.count + per_block - 1) / per_block;
}

// A block makes a patch of `axis` by the last: what lies apart for one thread is side by side for its
// neighbours. Short code takes 16 places of the last for a thread, so that few accesses are narrow; else 4.
void KernelEmitter::turned(const Op& op, uint32_t axis) {
  const Dims& dims = op.dims;
  const size_t last = dims.size() - 1;
  Frame frame;
  Value rest{"%block", false};
  const auto next = [&](uint32_t count) {
    const Value at = two("rem", ".u32 ", false, rest, std::to_string(count));
    rest = two("div", ".u32 ", false, rest, std::to_string(count));
    return at;
  };
  size_t code = 0;
  bool has_gaps = false;
  for (const KernelOp& one : plan_.ops) code += one.op->code.before.size(), has_gaps |= one.planes >= 0 && one.layout.pitch != one.layout.k;
  const bool many = code <= 12 && dims[last] % 16 == 0 && !has_gaps;
  const uint32_t height = many ? 128 : 32, across = (dims[last] + 31) / 32, down = (dims[axis] + height - 1) / height;
  const Value patch_last = next(across), patch_axis = next(down);
  const Value low = two("and", ".b32 ", false, {"%thread", false}, "7"), warp = two("shr", ".u32 ", false, {"%thread", false}, "5");
  const Value in_axis = two("and", ".b32 ", false, warp, "3"), four = two("shr", ".u32 ", false, {"%thread", false}, "3");
  const Value in_four = two("and", ".b32 ", false, four, "3"), high = two("shr", ".u32 ", false, {"%thread", false}, "7");
  const auto mad = [&](const Value& a, const char* times, const Value& b) {
    const Value out = fresh(false);
    line("mad.lo.u32 ", out.name, ", ", a.name, ", ", times, ", ", b.name);
    return out;
  };
  if (many) {
    const Value lane = two("and", ".b32 ", false, {"%thread", false}, "15"), half = two("and", ".b32 ", false, two("shr", ".u32 ", false, {"%thread", false}, "4"), "1");
    frame.coordinates[axis] = mad(patch_axis, "128", mad(warp, "16", lane));
    frame.coordinates[last] = two("shl", ".b32 ", false, mad(patch_last, "2", half), "4");
  } else {
    frame.coordinates[axis] = mad(patch_axis, "32", mad(in_axis, "8", low));
    frame.coordinates[last] = two("shl", ".b32 ", false, mad(patch_last, "8", mad(high, "4", in_four)), "2");
  }
  for (const size_t i : {size_t{axis}, last}) {
    if (dims[i] % (i == last ? 32 : height) == 0) continue;
    const std::string done = p();
    line("setp.ge.u32 ", done, ", ", frame.coordinates[i].name, ", ", std::to_string(dims[i]));
    line("@", done, " bra DONE");
  }
  for (size_t i = last; i-- > 0;)
    if (i != axis) frame.coordinates[i] = next(dims[i]);
  Value index = frame.coordinates[0];
  if (is_wide_) index = as(true, index);
  for (size_t i = 1; i <= last; ++i) {
    const Value out = fresh(is_wide_), at = as(is_wide_, frame.coordinates[i]);
    line("mad.lo", s(is_wide_), out.name, ", ", index.name, ", ", std::to_string(dims[i]), ", ", at.name);
    index = out;
  }
  Frames frames = frames_at(index, many ? 16 : 4, true, 1);
  frames[0].coordinates = frame.coordinates;
  run_all(frames, true);
  blocks_ = plan_.count / dims[last] / dims[axis] * across * down;
}

// Only the elements at the step's own place along `axis`.
void KernelEmitter::at_step(const Op& op, uint32_t axis) {
  const Dims& dims = op.dims;
  const size_t last = dims.size() - 1;
  const bool fours = axis != last && dims[last] % 4 == 0;
  const uint64_t count = plan_.count / dims[axis] / (fours ? 4 : 1);
  const Value first{"%first", false};
  const std::string done = p();
  line("mad.lo.u32 %first, %block, 256, %thread");
  line("setp.ge.u32 ", done, ", %first, ", std::to_string(count));
  line("@", done, " bra DONE");
  Frame frame;
  Value rest = fours ? two("shl", ".b32 ", false, first, "2") : first;
  for (size_t i = last + 1; i-- > 0;) {
    if (i == axis) {
      frame.coordinates[i] = {"%step", false};
      continue;
    }
    frame.coordinates[i] = two("rem", ".u32 ", false, rest, std::to_string(dims[i]));
    rest = two("div", ".u32 ", false, rest, std::to_string(dims[i]));
  }
  Value index = as(is_wide_, frame.coordinates[0]);
  for (size_t i = 1; i <= last; ++i) {
    const Value out = fresh(is_wide_), at = as(is_wide_, frame.coordinates[i]);
    line("mad.lo", s(is_wide_), out.name, ", ", index.name, ", ", std::to_string(dims[i]), ", ", at.name);
    index = out;
  }
  Frames frames = frames_at(index, fours ? 4 : 1, fours, 1);
  frames[0].coordinates = frame.coordinates;
  run_all(frames, fours);
  blocks_ = (count + 255) / 256;
}

KernelText KernelEmitter::entry(const std::string& name) {
  line("mov.u32 %block, %ctaid.x");
  line("mov.u32 %thread, %tid.x");
  if (plan_.step_axis) at_step(*plan_.ops[0].op, *plan_.step_axis);
  else if (plan_.width != 0) {
    if (keeps_rows(plan_.width)) kept_rows();
    else streamed_rows();
  } else if (can_take_fours()) {
    const Op& last = *plan_.ops.back().op;
    const uint32_t none = kMostRank, axis = last.dims.back() >= 32 ? turned_axis(last).value_or(none) : none;
    const bool alike = std::ranges::all_of(plan_.ops, [&](const KernelOp& one) { return one.op->dims == last.dims || !uses_coordinates(one); });
    if (axis != none && last.dims[axis] >= 32 && alike) turned(last, axis);
    else flat_fours();
  } else flat_apart();
  std::string head = ".visible .entry " + name + "(\n\t.param .u64 moment";
  for (uint32_t i = 0; i < plan_.pointers; ++i) head += ",\n\t.param .u64 o" + std::to_string(i);
  // Else the compiler may give each of many threads more registers than there are.
  head += std::string("\n) ") + (threads_ > 512 ? ".maxntid " + std::to_string(threads_) + ", 1, 1 " : "") + "{\n" + declarations() + "\t.reg .b32 %segment, %step, %when, %key0, %key1, %block, %thread, %first, %row, %lane;\n";
  head += "\t.reg .b64 %moment, %first64";
  for (uint32_t i = 0; i < plan_.pointers; ++i) head += ", %o" + std::to_string(i);
  head += ";\n";
  if (reduces_ > 0) head += "\t.shared .align 8 .b8 partial[" + std::to_string(256 * reduces_) + "];\n";
  for (uint32_t i = 0; i < plan_.pointers; ++i) head += "\tld.param.u64 %o" + std::to_string(i) + ", [o" + std::to_string(i) + "];\n";
  head += "\tld.param.u64 %moment, [moment];\n";
  static constexpr const char* kWords[] = {"%segment", "%step", "%when", "%key0", "%key1"};
  for (uint32_t i = 0; i < 5; ++i)
    if (text().find(kWords[i]) != std::string::npos) head += std::string("\tld.global.u32 ") + kWords[i] + ", [%moment+" + std::to_string(4 * i) + "];\n";
  return {head + text() + "DONE:\n\tret;\n}\n", blocks_, threads_};
}

std::optional<uint32_t> step_axis(const Op& op, uint32_t k) {
  if (op.op != Operator::map || op.code.turns > 0 || !op.target || element_count(op.dims) / 4 > INT32_MAX) return std::nullopt;
  const auto& code = op.code.before;
  const Instruction& end = code.back();
  if (end.code != Code::select || code[end.a].code != Code::eq || code[end.c].code != Code::load) return std::nullopt;
  const Instruction &is_now = code[end.a], &before = code[end.c];
  const Operand& from = op.operands[before.operand];
  if (from.source == Source::op || from.index != *op.target || !is_own_place(op, before)) return std::nullopt;
  for (const auto& [axis, now] : {std::pair{is_now.a, is_now.b}, std::pair{is_now.b, is_now.a}})
    if (code[axis].code == Code::iota && code[now].code == Code::step && k <= op.dims[code[axis].axis]) return code[axis].axis;
  return std::nullopt;
}

bool keeps_rows(uint32_t width) { return width % 4 == 0 && width <= kMostKeptWidth; }

KernelText kernel_ptx(const KernelPlan& plan, const std::string& name) { return KernelEmitter(plan).entry(name); }

std::string ptx_head() { return ".version 7.0\n.target sm_75\n.address_size 64\n"; }

}  // namespace assay::cuda
