// Times programs (docs/work.md) on this host's cores: exact products in 10⁹ multiply-adds a second by pairs
// of types, typical maps, reductions and sums in ns an element. One JSON object a line. Times are those of
// the clock, and of the processor over all threads: the second is true on a busy host too. Usage: work_bench
// [threads]
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "core/philox.hpp"
#include "cpu/cpu_work.hpp"
#include "work/plan.hpp"

using namespace assay;
using namespace assay::work;

namespace {

constexpr const char* kNames[] = {"i8", "i16", "i32", "i64"};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double used_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
struct Times {
  double clock_s = 1e9, core_s = 1e9;
};

Interval all_of(Type type) {
  const auto high = static_cast<int64_t>((uint64_t{1} << (8 * bytes_of(type) - 1)) - 1);
  return {-high - 1, high};
}

// The least of several times a call: other processes of the host only ever add.
Times times_of(CpuWork& kernels, Program program) {
  const CheckedProgram checked = check_program(std::move(program));
  const MemoryPlan plan = plan_memory(checked.program);
  const auto memory = kernels.prepare(checked, plan);
  for (size_t i = 0; i < checked.program.tensors.size(); ++i) {
    const Tensor& tensor = checked.program.tensors[i];
    if (tensor.kind != TensorKind::input) continue;
    const uint32_t size = bytes_of(tensor.type);
    std::vector<uint8_t> bytes(element_count(tensor.dims) * size);
    const uint64_t span = static_cast<uint64_t>(tensor.interval.hi) - static_cast<uint64_t>(tensor.interval.lo) + 1;
    for (uint64_t e = 0; e * size < bytes.size(); ++e) {
      const Philox4 block = philox4x32_10(PhiloxKey{1, 2}, static_cast<uint32_t>(e), 0, static_cast<uint32_t>(i), 0);
      const uint64_t word = block.w[0] | uint64_t{block.w[1]} << 32;
      const uint64_t value = static_cast<uint64_t>(tensor.interval.lo) + (span == 0 ? word : word % span);
      for (uint32_t b = 0; b < size; ++b) bytes[e * size + b] = static_cast<uint8_t>(value >> (8 * b));
    }
    memory->write(plan.tensors[i], bytes);
  }
  const Op& op = checked.program.step[0];
  Address operands[kMostOperands];
  for (size_t i = 0; i < op.operands.size(); ++i) operands[i] = plan.tensors[op.operands[i].index];
  Times best;
  const double start = now_s();
  for (int calls = 0; calls < 3 || now_s() - start < 0.3; ++calls) {
    const double from = now_s(), used = used_s();
    memory->run(0, {operands, op.operands.size()}, plan.step[0].out, {1, 0, 1, {}});
    best = {std::min(best.clock_s, now_s() - from), std::min(best.core_s, used_s() - used)};
  }
  return best;
}

Operand input(Program& program, Type type, Dims dims, Interval interval) {
  const auto index = static_cast<uint16_t>(program.tensors.size());
  program.tensors.push_back({TensorKind::input, type, dims, interval, "in" + std::to_string(index), {}});
  return {Source::input, index, type, std::move(dims)};
}

void time_product(CpuWork& kernels, Type a, Type b, uint32_t batch, uint32_t m, uint32_t n, uint32_t k) {
  Program program;
  Op op{Operator::matmul, Type::i64, {batch, m, n}, all_of(Type::i64), std::nullopt, {}, {}, {}};
  Interval x = all_of(a), y = all_of(b);
  // The whole of both leaves no room for a sum.
  if (a == Type::i32 && b == Type::i32) x = y = {-(1 << 24), 1 << 24};
  op.operands.push_back(input(program, a, {batch, m, k}, x));
  op.operands.push_back(input(program, b, {batch, n, k}, y));
  program.step.push_back(std::move(op));
  const Times times = times_of(kernels, std::move(program));
  const double macs = 1e-9 * batch * m * n * k;
  std::printf("{\"figure\":\"product\",\"types\":\"%s*%s\",\"shape\":[%u,%u,%u,%u],\"ms\":%.3f,\"gmac_per_s\":%.2f,\"gmac_per_core_s\":%.2f}\n",
              kNames[size_t(a)], kNames[size_t(b)], batch, m, n, k, 1e3 * times.clock_s, macs / times.clock_s, macs / times.core_s);
  std::fflush(stdout);
}

// Code as the page writes it; places as the output's own coordinates unless said otherwise.
Instruction one(Code code, uint8_t a = 0, uint8_t b = 0, uint8_t c = 0) { return {code, a, b, c, 0, 0, 0, 0, 0, {}}; }
Instruction constant(int64_t value) { return {Code::constant, 0, 0, 0, 0, 0, 0, 0, value, {}}; }
Instruction shift(Code code, uint8_t a, uint8_t bits) { return {code, a, 0, 0, 0, 0, bits, 0, 0, {}}; }
Instruction load(uint8_t operand, std::vector<work::Place> place) { return {Code::load, 0, 0, 0, operand, 0, 0, 0, 0, std::move(place)}; }
work::Place at(uint8_t axis) { return {Edge::inside, std::nullopt, 0, {{axis, 1}}}; }
work::Place at_register(uint8_t reg) { return {Edge::inside, reg, 0, {}}; }

struct Map {
  const char* name;
  Type out;
  Interval interval;
  std::vector<std::pair<Type, Interval>> operands;  // all of the output's dims, but those named below
  std::vector<Instruction> code;
  int row_operand = -1, table_operand = -1;
};

void time_map(CpuWork& kernels, const Map& map, const Dims& dims) {
  Program program;
  Op op{Operator::map, map.out, dims, map.interval, std::nullopt, {}, {}, {}};
  for (size_t i = 0; i < map.operands.size(); ++i) {
    const bool is_row = static_cast<int>(i) == map.row_operand, is_table = static_cast<int>(i) == map.table_operand;
    op.operands.push_back(input(program, map.operands[i].first, is_row ? Dims{dims[0]} : is_table ? Dims{256} : dims, map.operands[i].second));
  }
  op.code.before = map.code;
  program.step.push_back(std::move(op));
  const Times times = times_of(kernels, std::move(program));
  const double count = static_cast<double>(element_count(dims));
  std::printf("{\"figure\":\"map\",\"name\":\"%s\",\"instructions\":%zu,\"ns_per_element\":%.3f,\"core_ns_per_element\":%.3f}\n", map.name,
              map.code.size(), 1e9 * times.clock_s / count, 1e9 * times.core_s / count);
  std::fflush(stdout);
}

void time_maps(CpuWork& kernels) {
  const Interval i16 = all_of(Type::i16), i32 = all_of(Type::i32), product = {-(int64_t{1} << 40), int64_t{1} << 40}, unit = {-1, 1};
  const std::vector<Map> maps = {
      {"rescale: i64 to i16", Type::i16, i16, {{Type::i64, product}},
       {load(0, {at(0), at(1)}), shift(Code::rsh, 0, 14), constant(-32768), constant(32767), one(Code::clamp, 1, 2, 3)}},
      {"residual and bias: i32 + i16 by column", Type::i32, i32, {{Type::i32, {-(1 << 28), 1 << 28}}, {Type::i16, i16}},
       {load(0, {at(0), at(1)}), load(1, {at(0), at(1)}), shift(Code::shl, 1, 5), one(Code::add, 0, 2)}},
      {"rows: (x - max) * factor", Type::i32, i32, {{Type::i16, i16}, {Type::i16, i16}},
       {load(0, {at(0), at(1)}), load(1, {at(0)}), one(Code::sub, 0, 1), constant(20001), one(Code::mul, 2, 3)}, 1},
      {"transpose: i16", Type::i16, i16, {{Type::i16, i16}}, {load(0, {at(1), at(0)})}},
      {"exp: two tables", Type::i32, {-(1 << 30), 1 << 30}, {{Type::i16, {0, 32767}}, {Type::i16, {0, 32767}}},
       {load(0, {at(0), at(1)}), shift(Code::shr, 0, 8), constant(255), one(Code::and_, 0, 2), load(1, {at_register(1)}), load(1, {at_register(3)}),
        one(Code::mul, 4, 5)}, -1, 1},
      {"adamw", Type::i32, i32, {{Type::i32, {-(1 << 30), 1 << 30}}, {Type::i32, {-(1 << 30), 1 << 30}}, {Type::i64, {0, int64_t{1} << 60}}},
       {load(0, {at(0), at(1)}), load(1, {at(0), at(1)}), load(2, {at(0), at(1)}), one(Code::isqrt, 2), constant(1000), one(Code::add, 3, 4),
        constant(65536), one(Code::mul, 1, 6), one(Code::rdiv, 7, 5), one(Code::sub, 0, 8), constant(-(1 << 30)), constant(1 << 30),
        one(Code::clamp, 9, 10, 11)}},
      {"rand: keep one of two", Type::i8, {0, 1}, {{Type::i8, unit}},
       {{Code::iota, 0, 0, 0, 0, 0, 0, 0, 0, {}}, constant(1024), one(Code::mul, 0, 1), {Code::iota, 0, 0, 0, 0, 1, 0, 0, 0, {}}, one(Code::add, 2, 3),
        {Code::rand, 4, 0, 0, 0, 0, 0, 7, 0, {}}, shift(Code::shr, 5, 31)}},
  };
  for (const Map& map : maps) time_map(kernels, map, {1024, 1024});
}

void time_sums(CpuWork& kernels) {
  const auto finish = [&](const char* name, Program program, Op op, uint64_t count) {
    program.step.push_back(std::move(op));
    const Times times = times_of(kernels, std::move(program));
    std::printf("{\"figure\":\"sums\",\"name\":\"%s\",\"ns_per_element\":%.3f,\"core_ns_per_element\":%.3f}\n", name,
                1e9 * times.clock_s / static_cast<double>(count), 1e9 * times.core_s / static_cast<double>(count));
    std::fflush(stdout);
  };
  for (const Reduction which : {Reduction::sum, Reduction::max, Reduction::argmax}) {
    static constexpr const char* kReductions[] = {"sum", "max", "min", "argmax", "argmin"};
    Program program;
    Op op{Operator::reduce, Type::i64, {1024}, all_of(Type::i64), std::nullopt, {}, which, {}};
    op.operands.push_back(input(program, Type::i32, {1024, 1024}, all_of(Type::i32)));
    finish(kReductions[static_cast<size_t>(which)], std::move(program), std::move(op), 1 << 20);
  }
  Program program;
  Op op{Operator::scatter_add, Type::i64, {256, 256}, all_of(Type::i64), std::nullopt, {}, {}, {}};
  op.operands.push_back(input(program, Type::i32, {256, 1024}, all_of(Type::i32)));
  op.operands.push_back(input(program, Type::i32, {1024}, {0, 255}));
  finish("scatter_add", std::move(program), std::move(op), 1 << 18);
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? static_cast<unsigned>(std::stoul(argv[1])) : std::thread::hardware_concurrency());
  CpuWork kernels(pool);
  const std::pair<Type, Type> pairs[] = {
      {Type::i8, Type::i8}, {Type::i8, Type::i16}, {Type::i16, Type::i16}, {Type::i16, Type::i32}, {Type::i32, Type::i32}};
  for (const auto& [a, b] : pairs) time_product(kernels, a, b, 1, 1024, 1024, 256);
  time_product(kernels, Type::i16, Type::i16, 1, 256, 1024, 1024);
  time_product(kernels, Type::i16, Type::i16, 32, 128, 128, 64);
  time_product(kernels, Type::i16, Type::i16, 1, 1, 1024, 1024);
  time_maps(kernels);
  time_sums(kernels);
  return 0;
}
