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

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  RandomPrograms random(5);
  Seen seen;
  for (int i = 0; i < cases; ++i) compare(random, "map " + std::to_string(i), seen);
  check(seen.lines > cases / 20 && seen.outside > cases / 20 && seen.rests > cases / 40 && seen.arms > cases / 40, "all kinds of code were among them");
  return assay_test::report();
}
