// Times programs (docs/work.md) on this host's cores: exact products in 10⁹ multiply-adds a second by pairs of types, typical maps,
// reductions and sums in ns an element. One JSON object a line. Times are those of the clock, and of the processor over all threads: the
// second is true on a busy host too.
// Usage: work_bench [threads]
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
  if (a == Type::i32 && b == Type::i32) x = y = {-(1 << 24), 1 << 24};  // the whole of both leaves no room for a sum
  op.operands.push_back(input(program, a, {batch, m, k}, x));
  op.operands.push_back(input(program, b, {batch, n, k}, y));
  program.step.push_back(std::move(op));
  const Times times = times_of(kernels, std::move(program));
  const double macs = 1e-9 * batch * m * n * k;
  std::printf("{\"figure\":\"product\",\"types\":\"%s*%s\",\"shape\":[%u,%u,%u,%u],\"ms\":%.3f,\"gmac_per_s\":%.2f,\"gmac_per_core_s\":%.2f}\n",
              kNames[size_t(a)], kNames[size_t(b)], batch, m, n, k, 1e3 * times.clock_s, macs / times.clock_s, macs / times.core_s);
  std::fflush(stdout);
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
  return 0;
}
