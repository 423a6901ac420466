// What the PTX of maps computes, without a card: random maps by PtxMachine and by the plain way of work/run_op.cpp, bit for bit. Neighbours with
// all edges, loops that come to rest, long arms of selects are among them. That a driver's compiler does the same is programs_equal_cuda's.
// Usage: map_ptx_test [cases]
#include "check.hpp"
#include "cuda/work/ptx/kernel_ptx.hpp"
#include "ptx_machine.hpp"
#include "random_programs.hpp"
#include "work/run_op.hpp"

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

KernelPlan plan_of(const Op& op, const std::vector<Interval>& intervals) {
  const auto count = static_cast<uint32_t>(op.operands.size());
  KernelOp one{&op, &intervals, false, {}, static_cast<int>(count), -1, {}};
  for (uint32_t i = 0; i < count; ++i) one.from.push_back({-1, i});
  return {{one}, count + 1, element_count(op.dims), 0};
}

struct Seen {
  int lines = 0, outside = 0, rests = 0, arms = 0;
};

void compare(RandomPrograms& random, const std::string& name, Seen& seen) {
  const CheckedProgram checked = check_program(random.map(40));
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
  run_op(op, operands.data(), right.at(), moment, {0, element_count(op.dims)});

  uint32_t words[5] = {static_cast<uint32_t>(moment.segment), moment.step, global_step(moment.segment, moment.step, moment.k), moment.key.k0, moment.key.k1};
  std::vector<uint64_t> parameters{reinterpret_cast<uint64_t>(words)};
  std::vector<PtxMachine::Stretch> memory{{reinterpret_cast<uint8_t*>(words), sizeof words}};
  for (Room& room : rooms) parameters.push_back(reinterpret_cast<uint64_t>(room.at())), memory.push_back({room.at(), room.size});
  const KernelText kernel = kernel_ptx(plan_of(op, checked.step_registers[0]), "NAME");
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

// A state that changes at the step's own place along `axis`: made there alone and in place, it is what the whole map gives.
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
  const void* operands[] = {fresh.at(), kept.at()};
  const Moment moment{1, step, 8, {7, 11}};
  run_op(made, operands, right.at(), moment, {0, element_count(dims)});
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
  for (int i = 0; i < cases; ++i) compare(random, "map " + std::to_string(i), seen);
  for (uint8_t axis = 1; axis < 3; ++axis)
    for (uint32_t step = 0; step < 8; ++step) compare_at_step(random, axis, step);
  check(seen.lines > cases / 20 && seen.outside > cases / 20 && seen.rests > cases / 40 && seen.arms > cases / 40, "all kinds of code were among them");
  return assay_test::report();
}
