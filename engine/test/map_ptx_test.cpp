// What the PTX of maps computes, without a card: random maps by PtxMachine and by the host's own way
// (cpu/work/map_run.cpp, which work_test compares with the page), bit for bit. Neighbours with all edges,
// loops that come to rest, long arms of selects are among them. That a driver's compiler does the same is
// programs_equal_cuda's. Usage: map_ptx_test [cases]
#include "kit/check.hpp"
#include "cuda/work/ptx/kernel_ptx.hpp"
#include "kit/ptx_machine.hpp"
#include "kit/random_programs.hpp"
#include "cpu/work/map_run.hpp"

using namespace assay::cuda;
using namespace assay_test;

namespace {

constexpr uint32_t kGap = 256;  // before and after each tensor, which no kernel may touch

struct Room {
  std::vector<uint8_t> bytes;
  uint64_t size;
  explicit Room(uint64_t size_) : bytes(size_ + 2 * kGap, 0xcd), size(size_) {}
  uint8_t* at() { return reinterpret_cast<uint8_t*>((reinterpret_cast<uint64_t>(bytes.data()) + kGap - 1) / kGap * kGap); }
};

// On the host.
void run_map(const CheckedProgram& checked, const std::vector<const void*>& operands, void* out, const Moment& moment) {
  const Op& op = checked.program.step[0];
  const assay::MapPlan plan = assay::plan_map(op, checked.step_registers[0], Phase::step, checked.program.k);
  assay::run_planned_map(plan, assay_kernels::best_kernels().lanes, op, operands.data(), out, moment, {0, element_count(op.dims)});
}

KernelPlan plan_of(const Op& op, const std::vector<Interval>& intervals, bool uses_reals = false) {
  const auto count = static_cast<uint32_t>(op.operands.size());
  KernelOp one{&op, &intervals, false, {}, static_cast<int>(count), -1, {}};
  for (uint32_t i = 0; i < count; ++i) one.from.push_back({-1, i});
  return {{one}, count + 1, element_count(op.dims), 0, std::nullopt, uses_reals};
}

// Elements of 64 bits as packed_bytes says.
std::vector<uint8_t> packed(const uint8_t* elements, uint64_t count, uint32_t above) {
  std::vector<uint8_t> out(count * (4 + above));
  for (uint64_t i = 0; i < count; ++i) {
    int64_t x;
    std::memcpy(&x, elements + 8 * i, 8);
    const int64_t high = (x >> 32) + (above == 1 ? 128 : 32768);
    std::memcpy(&out[4 * i], &x, 4);
    std::memcpy(&out[4 * count + above * i], &high, above);
  }
  return out;
}

struct Seen {
  int packed = 0, lines = 0, outside = 0, rests = 0, arms = 0, reals = 0, wide = 0;
};

void compare(RandomPrograms& random, const Program& given_program, bool uses_reals, bool packs, const std::string& name, Seen& seen) {
  const CheckedProgram checked = check_program(given_program);
  const Program& program = checked.program;
  const Op& op = program.step[0];
  const Moment moment{3, program.k - 1, program.k, {7, 11}};
  std::vector<Room> rooms;
  for (const Operand& operand : op.operands) {
    const std::vector<uint8_t> given = random.elements(program.tensors[operand.index]);
    std::memcpy(rooms.emplace_back(given.size()).at(), given.data(), given.size());
  }
  Room right(element_count(op.dims) * bytes_of(op.type));
  rooms.emplace_back(right.size);
  std::vector<const void*> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) operands.push_back(rooms[i].at());
  run_map(checked, operands, right.at(), moment);

  uint32_t words[5] = {static_cast<uint32_t>(moment.segment), moment.step, global_step(moment.segment, moment.step, moment.k), moment.key.k0, moment.key.k1};
  std::vector<uint64_t> parameters{reinterpret_cast<uint64_t>(words)};
  std::vector<PtxMachine::Stretch> memory{{reinterpret_cast<uint8_t*>(words), sizeof words}};
  for (Room& room : rooms) parameters.push_back(reinterpret_cast<uint64_t>(room.at())), memory.push_back({room.at(), room.size});
  KernelPlan plan = plan_of(op, checked.step_registers[0], uses_reals);
  for (size_t i = 0; i <= op.operands.size(); ++i) {
    const bool is_out = i == op.operands.size();
    const uint32_t above = packed_bytes(is_out ? op.interval : program.tensors[op.operands[i].index].interval);
    if (!packs || above == 0 || (is_out ? op.type : op.operands[i].type) != Type::i64) continue;
    ++seen.packed;
    (is_out ? plan.ops[0].packed : plan.ops[0].from[i].packed) = above;
    Room& room = is_out ? right : rooms[i];
    const std::vector<uint8_t> bytes = packed(room.at(), room.size / 8, above);
    std::memcpy(room.at(), bytes.data(), bytes.size());
    if (is_out) std::memcpy(rooms[i].at() + bytes.size(), room.at() + bytes.size(), room.size - bytes.size());
  }
  const KernelText kernel = kernel_ptx(plan, "NAME");
  seen.reals += kernel.ptx.find("fma.rm") != std::string::npos;
  try {
    PtxMachine(kernel.ptx).run(kernel.blocks, kernel.threads, parameters, memory);
    check(std::memcmp(rooms.back().at(), right.at(), right.size) == 0, name + " gives the same bits");
  } catch (const std::runtime_error& error) {
    check(false, name + ": " + error.what());
  }
  seen.lines += kernel.ptx.find("ld.global.v") != std::string::npos;
  seen.outside += kernel.ptx.find("ld.global", kernel.ptx.find("@!%p")) != std::string::npos;
  seen.rests += kernel.ptx.find("setp.lt.and") != std::string::npos;
  seen.arms += !lazy_arms(op.code, checked.step_registers[0]).empty();
}

// Code on wide numbers as models have it: products brought to scale, sums, ends, sizes; whatever the checker
// takes.
Program wide_map(RandomPrograms& random) {
  Program program;
  const auto elements = static_cast<uint32_t>(4 * (1 + random.below(12)));
  Op op{Operator::map, Type::i64, {elements}, RandomPrograms::full(Type::i64), std::nullopt, {}, Reduction::sum, {}};
  for (uint16_t i = 0; i < 4; ++i) {
    const Type type = i < 2 ? Type::i64 : Type::i32;
    const int64_t end = int64_t{1} << (i < 2 ? 30 + random.below(24) : 3 + random.below(28));
    program.tensors.push_back({TensorKind::input, type, {elements}, {random.chance(4) ? 0 : -end, end}, "in" + std::to_string(i), {}});
    op.operands.push_back({Source::input, i, type, {elements}});
    Instruction& load = op.code.before.emplace_back();
    load.code = Code::load, load.operand = static_cast<uint8_t>(i);
    load.place = {{Edge::inside, std::nullopt, 0, {{0, 1}}}};
  }
  if (program.tensors[2].interval.hi > int64_t{1} << 30) program.tensors[2].interval.hi = int64_t{1} << 30;
  if (program.tensors[3].interval.hi > int64_t{1} << 30) program.tensors[3].interval.hi = int64_t{1} << 30;
  auto& code = op.code.before;
  const auto reg = [&] { return static_cast<uint8_t>(random.chance(2) ? code.size() - 1 - random.below(std::min<size_t>(3, code.size())) : random.below(code.size())); };
  const auto put = [&](Code what, uint8_t a, uint8_t b = 0, uint8_t c = 0, uint8_t bits = 0, int64_t value = 0) {
    code.push_back({what, a, b, c, 0, 0, bits, 0, value, {}});
    return static_cast<uint8_t>(code.size() - 1);
  };
  const auto grown = [&] {
    static constexpr Code kCodes[] = {Code::mul, Code::mul, Code::rshv, Code::rshv, Code::rshv, Code::rsh, Code::shr, Code::add, Code::sub, Code::neg,
                                      Code::abs, Code::min, Code::max, Code::clamp, Code::clamp, Code::clamp, Code::bitlen, Code::select, Code::lt, Code::shl};
    const Code what = kCodes[random.below(std::size(kCodes))];
    uint8_t a = reg(), b = reg(), c = reg();
    const int64_t end = int64_t{1} << random.below(50), low = -static_cast<int64_t>(random.below(31)), high = static_cast<int64_t>(random.below(63));
    if (what == Code::rshv) b = put(Code::clamp, reg(), put(Code::constant, 0, 0, 0, 0, low), put(Code::constant, 0, 0, 0, 0, high));
    if (what == Code::clamp && !random.chance(8)) b = put(Code::constant, 0, 0, 0, 0, random.chance(3) ? -5 : -end + (random.chance(2) ? 1 : 0)), c = put(Code::constant, 0, 0, 0, 0, end - (random.chance(2) ? 1 : 0));
    if (what == Code::mul && random.chance(3)) b = put(Code::constant, 0, 0, 0, 0, 1 + static_cast<int64_t>(random.below(1 << 24)));
    put(what, a, b, c, static_cast<uint8_t>(1 + random.below(40)));
  };
  // A product brought to scale and ended, which is most of what models do; then it is what the map gives.
  const auto scaled = [&] {
    const int64_t low = -static_cast<int64_t>(random.below(20)), high = static_cast<int64_t>(random.below(63)), end = int64_t{1} << (8 + random.below(50));
    const uint8_t factor = static_cast<uint8_t>(2 + random.below(2)), product = random.chance(4) ? static_cast<uint8_t>(random.below(2)) : put(Code::mul, static_cast<uint8_t>(random.below(4)), factor);
    const uint8_t by = put(Code::clamp, factor, put(Code::constant, 0, 0, 0, 0, low), put(Code::constant, 0, 0, 0, 0, high));
    uint8_t x = random.chance(4) ? put(Code::rsh, product, 0, 0, static_cast<uint8_t>(1 + random.below(40))) : put(Code::rshv, product, by);
    if (random.chance(2)) x = put(random.chance(2) ? Code::add : Code::sub, x, static_cast<uint8_t>(random.below(4)));
    if (random.chance(8)) x = put(Code::add, x, x);
    if (!random.chance(8)) put(Code::clamp, x, put(Code::constant, 0, 0, 0, 0, -end + (random.chance(3) ? 1 : 0)), put(Code::constant, 0, 0, 0, 0, end));
  };
  const auto number = [&](int64_t value) { return put(Code::constant, 0, 0, 0, 0, value); };
  // As of softmaxes and norms: a difference of two that fit 32 bits and itself does not; a quotient, often
  // without a rest.
  const auto ended = [&] {
    const uint8_t most = number(INT32_MAX), least = number(-INT32_MAX);
    const uint8_t x = put(Code::sub, put(Code::clamp, static_cast<uint8_t>(random.below(2)), least, most), put(Code::clamp, static_cast<uint8_t>(random.below(4)), least, most));
    put(Code::clamp, x, number(random.chance(2) ? 0 : 77), number((int64_t{1} << (8 + random.below(23))) - 1));
  };
  const auto divided = [&] {
    const auto bits = [&](uint64_t count) { return put(Code::and_, static_cast<uint8_t>(random.below(4)), number((int64_t{1} << count) - 1)); };
    const uint8_t y = put(Code::add, bits(4 + random.below(24)), number(1)), whole = put(Code::mul, y, put(Code::sub, bits(20), number(1 << 19)));
    const uint8_t x = random.chance(2) ? whole : put(Code::add, whole, put(Code::sub, bits(2), number(1)));
    put(random.chance(2) ? Code::div : Code::rdiv, x, y);
  };
  const bool is_scaled = random.chance(2);
  if (random.chance(8)) ended();
  else if (random.chance(8)) divided();
  else for (int tries = 0; tries < (is_scaled ? 4 : 40) && code.size() < 60; ++tries) {
    const size_t before = code.size();
    if (is_scaled) scaled();
    else grown();
    program.step = {op};
    try {
      check_program(program);
    } catch (const Fault&) {
      code.resize(before);
    }
  }
  program.step = {op};
  const Interval found = check_program(program).step_registers[0].back();
  program.step[0].interval = found;
  program.step[0].target = 4;
  program.tensors.push_back({TensorKind::result, Type::i64, {elements}, found, "result", {}});
  return program;
}

// Several parts of a table's row, as a polynomial's, beside neighbours.
Program table_map(bool is_reg) {
  Program program;
  program.tensors = {{TensorKind::input, Type::i32, {24}, {0, 15}, "at", {}}, {TensorKind::input, Type::i32, {24, 4}, {-1000, 1000}, "table", {}},
                     {TensorKind::result, Type::i32, {24}, {-40000, 40000}, "result", {}}};
  Op op{Operator::map, Type::i32, {24}, {-40000, 40000}, 2, {{Source::input, 0, Type::i32, {24}}, {Source::input, 1, Type::i32, {24, 4}}}, Reduction::sum, {}};
  auto& code = op.code.before;
  const Place own{Edge::inside, std::nullopt, 0, {{0, 1}}};
  const auto load = [&](uint8_t operand, std::vector<Place> place) {
    code.emplace_back();
    code.back().code = Code::load, code.back().operand = operand, code.back().place = std::move(place);
  };
  load(0, {own});
  for (const int32_t part : {3, 0, 2}) load(1, {is_reg ? Place{Edge::inside, uint8_t{0}, 0, {}} : own, {Edge::inside, std::nullopt, part, {}}});
  code.push_back({Code::constant, 0, 0, 0, 0, 0, 0, 0, 17, {}});
  code.push_back({Code::mul, 1, 4, 0, 0, 0, 0, 0, 0, {}});
  code.push_back({Code::sub, 5, 2, 0, 0, 0, 0, 0, 0, {}});
  code.push_back({Code::constant, 0, 0, 0, 0, 0, 0, 0, 5, {}});
  code.push_back({Code::mul, 3, 7, 0, 0, 0, 0, 0, 0, {}});
  code.push_back({Code::add, 6, 8, 0, 0, 0, 0, 0, 0, {}});
  program.step = {op};
  return program;
}

// A state that changes at the step's own place along `axis`: made there alone and in place, it is what the
// whole map gives.
void compare_at_step(RandomPrograms& random, uint8_t axis, uint32_t step) {
  const Dims dims{3, 8, axis == 2 ? 8u : 4u};
  Program program;
  program.k = 8;
  program.tensors = {{TensorKind::state, Type::i16, dims, {-300, 300}, "kept", {}}, {TensorKind::input, Type::i16, dims, {-300, 300}, "new", {}}};
  Op op{Operator::map, Type::i16, dims, {-300, 300}, 0, {{Source::input, 1, Type::i16, dims}, {Source::state, 0, Type::i16, dims}}, Reduction::sum, {}};
  const auto put = [&](Code code, uint8_t a = 0, uint8_t b = 0, uint8_t c = 0) -> Instruction& {
    Instruction& one = op.code.before.emplace_back();
    one.code = code, one.a = a, one.b = b, one.c = c;
    return one;
  };
  put(Code::iota).axis = axis;
  put(Code::step);
  put(Code::eq, 0, 1);
  for (uint8_t operand = 0; operand < 2; ++operand) {
    Instruction& one = put(Code::load);
    one.operand = operand;
    for (uint8_t i = 0; i < 3; ++i) one.place.push_back({Edge::inside, std::nullopt, 0, {{i, 1}}});
  }
  put(Code::select, 2, 3, 4);
  program.step.push_back(op);
  const CheckedProgram checked = check_program(program);
  const Op& made = checked.program.step[0];
  const std::string name = "axis " + std::to_string(axis) + " at step " + std::to_string(step);
  check(step_axis(made, 8) == axis && !step_axis(made, 9), name + ": it is such a map, unless steps go beyond the axis");
  Room fresh(element_count(dims) * 2), kept(fresh.size), right(fresh.size);
  for (auto& [room, tensor] : {std::pair{&kept, 0}, std::pair{&fresh, 1}})
    std::memcpy(room->at(), random.elements(checked.program.tensors[tensor]).data(), fresh.size);
  const Moment moment{1, step, 8, {7, 11}};
  run_map(checked, {fresh.at(), kept.at()}, right.at(), moment);
  KernelPlan plan = plan_of(made, checked.step_registers[0]);
  plan.step_axis = axis;
  const KernelText kernel = kernel_ptx(plan, "NAME");
  uint32_t words[5] = {1, step, step, 7, 11};
  const auto address = [](const void* at) { return reinterpret_cast<uint64_t>(at); };
  try {
    PtxMachine(kernel.ptx).run(kernel.blocks, kernel.threads, {address(words), address(fresh.at()), address(kept.at()), address(kept.at())},
                               {{reinterpret_cast<uint8_t*>(words), sizeof words}, {fresh.at(), fresh.size}, {kept.at(), kept.size}});
    check(std::memcmp(kept.at(), right.at(), right.size) == 0, name + " gives the same bits");
  } catch (const std::runtime_error& error) {
    check(false, name + ": " + error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  RandomPrograms random(5);
  Seen seen;
  for (int i = 0; i < cases; ++i) {
    const Program program = random.map(40);
    for (const bool uses_reals : {false, true}) compare(random, program, uses_reals, i % 2 == 0, "map " + std::to_string(i), seen);
    const Program wide = wide_map(random);
    const int before = seen.reals;
    for (const bool uses_reals : {true, false}) compare(random, wide, uses_reals, i % 2 == 0, "wide map " + std::to_string(i), seen);
    seen.wide += seen.reals > before;
  }
  for (const bool is_reg : {false, true}) compare(random, table_map(is_reg), false, false, "a table's rows", seen);
  for (uint8_t axis = 1; axis < 3; ++axis)
    for (uint32_t step = 0; step < 8; ++step) compare_at_step(random, axis, step);
  check(seen.lines > cases / 20 && seen.outside > cases / 20 && seen.rests > cases / 40 && seen.arms > cases / 40 && seen.wide > cases / 3 && seen.packed > cases, "all kinds of code were among them");
  return assay_test::report();
}
