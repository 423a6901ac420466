// Programs on the host (docs/work.md): reader, checker and every operator against vectors/work-*.json, which
// come from the page alone; and random ops against sums and instructions worked out element by element in 128
// bits.
// Usage: work_test VECTORS [cases]     so many of each operator and type; from 100 on what is large and at
//                                      the ends
// as well, from 1,000 on that for every instruction set
#include <algorithm>
#include <cstring>

#include "kit/check.hpp"
#include "cpu/cpu_work.hpp"
#include "kit/given_elements.hpp"
#include "kit/naive_ops.hpp"
#include "kit/vector_file.hpp"
#include "kit/work_extremes.hpp"

using namespace assay;
using namespace assay_test;

namespace {

// Products beyond one chunk of k and one filling of the packing room, against plain sums.
void check_large_products(WorkKernels& kernels, RandomPrograms& random, const std::string& set) {
  struct Shape {
    uint32_t batch, a, b, m, n, k;
    Type x, y;
  };
  const Shape shapes[] = {{1, 1, 1, 3, 3, 1025, Type::i16, Type::i16},       {2, 1, 2, 9, 17, 3001, Type::i32, Type::i8},
                          {1, 1, 1, 4100, 5, 1030, Type::i16, Type::i8},     {1, 1, 1, 5, 4200, 1030, Type::i8, Type::i16},
                          {12, 4, 6, 130, 70, 33, Type::i32, Type::i32},     {6, 3, 2, 1500, 3, 1024, Type::i16, Type::i16},
                          {4, 2, 1, 3, 2200, 1024, Type::i8, Type::i32},     {140000, 70000, 140000, 3, 3, 2, Type::i8, Type::i16}};
  for (const Shape& shape : shapes) {
    Program program;
    Op op{Operator::matmul, Type::i64, {shape.batch, shape.m, shape.n}, RandomPrograms::full(Type::i64), 2, {}, {}, {}};
    const auto add = [&](Type type, Dims dims) {
      const Interval interval = type == Type::i32 && shape.x == shape.y ? Interval{0, 1 << 26} : RandomPrograms::full(type);
      program.tensors.push_back({TensorKind::input, type, dims, interval, "in" + std::to_string(program.tensors.size()), {}});
      op.operands.push_back({Source::input, static_cast<uint16_t>(op.operands.size()), type, std::move(dims)});
    };
    add(shape.x, {shape.a, shape.m, shape.k});
    add(shape.y, {shape.b, shape.n, shape.k});
    program.tensors.push_back({TensorKind::result, op.type, op.dims, op.interval, "result", {}});
    program.step = {op};
    const Case one = make_case(random, std::move(program));
    const std::vector<int64_t> right = plain_products(one);
    const std::vector<uint8_t> found = run_on(kernels, one);
    check(std::memcmp(found.data(), right.data(), found.size()) == 0,
          "product of " + std::to_string(shape.m) + " by " + std::to_string(shape.n) + " over " + std::to_string(shape.k) + ", " + set);
  }
}

// What a program is refused for; empty: it may run.
Fault verdict_on(std::span<const uint8_t> bytes) {
  try {
    check_program(read_program(bytes));
    return {"", "", -1, -1, -1, -1};
  } catch (const Fault& fault) {
    return fault;
  }
}

void check_refused(const std::string& folder) {
  for (const Row& row : read_vectors(folder, "work-refused")) {
    const Fault found = verdict_on(from_hex(row.text("program")));
    check(found.code == row.text("code") && found.tensor == row.number("tensor") && found.phase == row.number("phase") &&
              found.op == row.number("op") && found.instruction == row.number("instruction"),
          "verdict " + row.text("code") + ", found " + found.code + " " + std::to_string(found.op) + " " +
              std::to_string(found.instruction));
  }
}

// One instruction on three numbers of these intervals.
Program instruction_program(const Row& row, const Interval (&intervals)[3]) {
  static constexpr const char* kNames[] = {"load", "const", "iota", "segment", "step", "turn", "rand",   "add",    "sub", "mul",
                                           "neg",  "abs",   "min",  "max",     "shl",  "shr",  "rsh",    "rshv",   "div", "rdiv",
                                           "isqrt", "bitlen", "eq", "lt",      "and",  "or",   "xor",    "select", "clamp"};
  const auto* name = std::find(std::begin(kNames), std::end(kNames), row.text("instruction"));
  Program program;
  Op op{Operator::map, Type::i64, {1}, RandomPrograms::full(Type::i64), 3, {}, {}, {}};
  for (uint8_t i = 0; i < 3; ++i) {
    program.tensors.push_back({TensorKind::input, Type::i64, {1}, intervals[i], "in" + std::to_string(i), {}});
    op.operands.push_back({Source::input, i, Type::i64, {1}});
    op.code.before.push_back({Code::load, 0, 0, 0, i, 0, 0, 0, 0, {{Edge::inside, std::nullopt, 0, {}}}});
  }
  const auto b = static_cast<uint8_t>(row.has("square") && row.number("square") == 1 ? 0 : 1);
  op.code.before.push_back({static_cast<Code>(name - kNames), 0, b, 2, 0, 0, static_cast<uint8_t>(row.number("bits")), 0, 0, {}});
  program.tensors.push_back({TensorKind::result, op.type, op.dims, op.interval, "result", {}});
  program.step = {std::move(op)};
  return program;
}

// Values and intervals of every instruction, as vectors/ has them.
void check_instructions(WorkKernels& kernels, const std::string& folder) {
  for (const Row& row : read_vectors(folder, "work-instructions")) {
    Interval points[3];
    std::vector<std::vector<uint8_t>> inputs;
    for (int i = 0; i < 3; ++i) {
      const std::string field(1, static_cast<char>('a' + i));
      points[i].lo = points[i].hi = row.number(field);
      inputs.push_back(bytes_of_numbers(Type::i64, {points[i].lo}));
    }
    const std::vector<uint8_t> found = run_on(kernels, {instruction_program(row, points), std::move(inputs)});
    check(element(found, Type::i64, 0) == row.number("value"), "value of " + row.text("instruction"));
  }
  for (const Row& row : read_vectors(folder, "work-intervals")) {
    Interval intervals[3];
    for (int i = 0; i < 3; ++i) {
      std::string field(1, static_cast<char>('a' + i));
      if (!row.has(field + "1")) field = "a";
      intervals[i] = {row.number(field + "1"), row.number(field + "2")};
    }
    const std::string what = "interval of " + row.text("instruction");
    try {
      const Interval found = check_program(instruction_program(row, intervals)).step_registers[0].back();
      check(row.has("lo") && found.lo == row.number("lo") && found.hi == row.number("hi"), what);
    } catch (const Fault& fault) {
      check(row.has("refused") && fault.code == row.text("refused"), what + ", refused");
    }
  }
}

void check_programs(WorkKernels& kernels, const std::string& folder) {
  for (const Row& row : read_vectors(folder, "work-programs")) {
    const std::vector<uint8_t> bytes = from_hex(row.text("program")), seed = from_hex(row.text("seed"));
    const PhiloxKey key = philox_key(seed.data());
    Runner runner(kernels, check_program(read_program(bytes)), key);
    const Program& program = runner.checked().program;
    for (uint32_t i = 0; i < program.tensors.size(); ++i)
      if (program.tensors[i].kind <= TensorKind::input) runner.write(i, 0, given_elements(program.tensors[i], i, key));
    runner.run_init();
    runner.run_segment();
    std::string outputs;
    runner.trace_segment([&](uint32_t step, uint32_t, const Root& root) {
      if (step == program.k - 1) outputs += to_hex(root.data(), root.size());
    });
    check(outputs == row.text("outputs"), "outputs of " + row.text("name"));
    // The same without a trace, and again from what the state was.
    Runner second(kernels, check_program(read_program(bytes)), key);
    for (uint32_t i = 0; i < program.tensors.size(); ++i)
      if (program.tensors[i].kind <= TensorKind::input) second.write(i, 0, given_elements(program.tensors[i], i, key));
    second.run_init();
    for (int segment = 0; segment < 2; ++segment) second.run_segment();
    for (uint32_t i = 0; i < program.tensors.size(); ++i)
      if (program.tensors[i].kind != TensorKind::scratch) check(runner.root(i) == second.root(i), "tensors of " + row.text("name"));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const uint64_t cases = argc > 2 ? std::stoull(argv[2]) : 150;
  ThreadPool pool(3);
  check_refused(argv[1]);
  RandomPrograms random(1);
  const assay_kernels::Kernels* sets[assay_kernels::kMaxSets];
  const size_t count = assay_kernels::usable_kernels(sets);
  for (size_t set = 0; set < count; ++set) {
    CpuWork kernels(pool, *sets[set]);
    check_programs(kernels, argv[1]);
    check_instructions(kernels, argv[1]);
    if (cases < 100) continue;
    check_large_products(kernels, random, sets[set]->name);
    if (cases >= 1000 || set == count - 1) Extremes(kernels, sets[set]->name).run();
  }
  // So many of every operator and type.
  constexpr Type kTypes[] = {Type::i8, Type::i16, Type::i32, Type::i64};
  for (uint64_t i = 0; i < cases; ++i) {
    CpuWork kernels(pool, *sets[i % count]);
    const std::string number = std::to_string(i);
    for (const Type a : kTypes) {
      for (const Type b : kTypes)
        if (a != Type::i64 && b != Type::i64) check_case(kernels, make_case(random, random.matmul(20, 70, a, b)), "matmul " + number);
      check_case(kernels, make_case(random, random.reduce(60, a)), "reduce " + number);
      check_case(kernels, make_case(random, random.scatter(30, a)), "scatter_add " + number);
      check_case(kernels, make_case(random, random.map(60, a)), "map " + number);
    }
  }
  return report();
}
