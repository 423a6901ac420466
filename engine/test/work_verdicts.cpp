// What this engine says of programs, for tests/work/both-checkers.test.ts, which compares it with the other
// implementation.
// Usage: work_verdicts SEED < records     A record: u32 length, little-endian, of what follows; u8 what; a
//                                         program's bytes.
// One line a record. what 0: "right", or the fault's code, tensor, phase, op and instruction (-1: none). what
// 1, a program that may run: the roots of all op outputs of segments 1 and 2, in order, then those of state,
// result and metric tensors; its elements come from the seed (vectors/README.md). Instruction sets take
// turns.
#include <cstdio>

#include "kit/check.hpp"
#include "cpu/cpu_work.hpp"
#include "kit/given_elements.hpp"
#include "work/runner.hpp"

using namespace assay;
using namespace assay::work;
using namespace assay_test;

namespace {

void say_verdict(std::span<const uint8_t> bytes) {
  try {
    check_program(read_program(bytes));
    std::printf("right\n");
  } catch (const Fault& fault) {
    std::printf("%s %d %d %d %d\n", fault.code, fault.tensor, fault.phase, fault.op, fault.instruction);
  }
}

void say_roots(WorkKernels& kernels, std::span<const uint8_t> bytes, const PhiloxKey& key) {
  Runner runner(kernels, check_program(read_program(bytes)), key);
  const Program& program = runner.checked().program;
  for (uint32_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].kind <= TensorKind::input) runner.write(i, 0, given_elements(program.tensors[i], i, key));
  runner.run_init();
  const auto say = [](const Root& root) { std::printf("%s", to_hex(root.data(), root.size()).c_str()); };
  for (int segment = 1; segment <= 2; ++segment) runner.trace_segment([&](uint32_t, uint32_t, const Root& root) { say(root); });
  for (uint32_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].kind == TensorKind::state || program.tensors[i].kind >= TensorKind::result) say(runner.root(i));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const std::vector<uint8_t> seed = from_hex(argv[1]);
  if (seed.size() != 32) return 64;
  const PhiloxKey key = philox_key(seed.data());
  ThreadPool pool(2);
  const assay_kernels::Kernels* sets[assay_kernels::kMaxSets];
  const size_t count = assay_kernels::usable_kernels(sets);
  uint8_t head[4];
  for (size_t record = 0; std::fread(head, 1, 4, stdin) == 4; ++record) {
    // Of its own, so that reading past the end is seen.
    std::vector<uint8_t> bytes(load_le32(head));
    if (bytes.empty() || std::fread(bytes.data(), 1, bytes.size(), stdin) != bytes.size()) return 65;
    const std::vector<uint8_t> program(bytes.begin() + 1, bytes.end());
    CpuWork kernels(pool, *sets[record % count]);
    if (bytes[0] == 0) say_verdict(program);
    else say_roots(kernels, program, key);
  }
  return 0;
}
