#include "program_times.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "core/philox.hpp"
#include "cuda/work/cuda_work_memory.hpp"
#include "work/runner.hpp"

namespace assay {
namespace {

using namespace work;
using cuda::GroupTime;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Keeps hold of the memory that a runner gets.
class Watched : public WorkKernels {
 public:
  explicit Watched(std::shared_ptr<const cuda::Context> context) : kernels_(std::move(context)) {}
  std::unique_ptr<WorkMemory> prepare(const CheckedProgram& checked, const MemoryPlan& plan) override {
    auto made = kernels_.prepare(checked, plan);
    memory = static_cast<cuda::CudaWorkMemory*>(made.get());
    return made;
  }
  uint64_t extra_bytes(const CheckedProgram& checked, const MemoryPlan& plan) override { return kernels_.extra_bytes(checked, plan); }
  cuda::CudaWorkMemory* memory = nullptr;

 private:
  cuda::CudaWork kernels_;
};

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Elements of a constant or input, drawn from its interval.
std::vector<uint8_t> drawn(const Tensor& tensor, uint32_t number) {
  const uint32_t size = bytes_of(tensor.type);
  std::vector<uint8_t> bytes(element_count(tensor.dims) * size);
  const uint64_t span = static_cast<uint64_t>(tensor.interval.hi) - static_cast<uint64_t>(tensor.interval.lo) + 1;
  for (uint64_t i = 0; i < bytes.size() / size; ++i) {
    const uint64_t word = fmix32(static_cast<uint32_t>(i) * 2 + number) | uint64_t{fmix32(static_cast<uint32_t>(i) * 2 + 1 + number)} << 32;
    const uint64_t value = static_cast<uint64_t>(tensor.interval.lo) + (span == 0 ? word : word % span);
    for (uint32_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<uint8_t>(value >> (8 * b));
  }
  return bytes;
}

// FILE.given, where it is there, holds all constants and inputs one after the other; else they are drawn.
void give(Runner& runner, const std::string& file) {
  const auto& tensors = runner.checked().program.tensors;
  const std::vector<uint8_t> given = read_file(file + ".given");
  size_t at = 0;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].kind != TensorKind::constant && tensors[i].kind != TensorKind::input) continue;
    const size_t bytes = element_count(tensors[i].dims) * bytes_of(tensors[i].type);
    runner.write(i, 0, at + bytes <= given.size() ? std::vector<uint8_t>(given.begin() + at, given.begin() + at + bytes) : drawn(tensors[i], i));
    at += bytes;
  }
}

std::vector<uint32_t> committed(const Program& program) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].kind == TensorKind::state || program.tensors[i].kind == TensorKind::result) all.push_back(i);
  return all;
}

std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

// What a kernel does, for a table: alike kernels of other layers are added up.
std::string name_of(const cuda::Group& group, const Program& program) {
  static constexpr const char* kNames[] = {"matmul", "map", "reduce", "scatter_add"};
  std::string name;
  for (const uint32_t n : group.ops) {
    const Op& op = program.step[n];
    name += (name.empty() ? "" : " + ") + std::string(kNames[static_cast<size_t>(op.op)]) + text_of(op.dims) + "i" + std::to_string(8 * bytes_of(op.type));
  }
  if (program.step[group.ops[0]].op == Operator::matmul) name += " K=" + std::to_string(program.step[group.ops[0]].operands[0].dims[2]);
  return name;
}

double bytes_moved(const cuda::Group& group, const Program& program) {
  double bytes = 0;
  std::map<uint32_t, double> pointers;
  const auto each = [](Type type, uint32_t packed) { return packed != 0 ? 4 + packed : bytes_of(type); };
  for (const cuda::KernelOp& one : group.kernel.ops) {
    for (size_t i = 0; i < one.from.size(); ++i)
      if (one.from[i].op < 0)
        pointers[one.from[i].pointer] = static_cast<double>(element_count(one.op->operands[i].dims)) * each(one.op->operands[i].type, one.from[i].packed);
    const auto count = static_cast<double>(element_count(one.op->dims));
    if (one.elements >= 0) bytes += count * each(one.op->type, one.packed);
    if (one.planes >= 0) bytes += count * one.layout.count;
  }
  for (const auto& [pointer, size] : pointers) bytes += size;
  if (group.is_kernel) return bytes;
  const double maps = bytes;  // on a product's sums
  const Op& op = program.step[group.ops[0]];
  bytes = group.ops.size() > 1 ? maps : static_cast<double>(element_count(op.dims)) * each(op.type, group.packs ? 1 : 0);
  for (const Operand& operand : op.operands) bytes += static_cast<double>(element_count(operand.dims)) * bytes_of(operand.type);
  for (const cuda::Split& split : group.splits) bytes += static_cast<double>(split.count) * (bytes_of(split.type) + split.to.layout.count);
  return bytes;
}

void print_kernels(const std::vector<GroupTime>& times, const Program& program) {
  struct Row {
    double seconds = 0, bytes = 0;
    int count = 0;
  };
  std::map<std::string, Row> rows;
  double all = 0;
  for (const GroupTime& one : times) {
    Row& row = rows[name_of(*one.group, program)];
    row.seconds += one.seconds, row.bytes += bytes_moved(*one.group, program), ++row.count;
    all += one.seconds;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  std::printf("{\"figure\":\"program_kernels\",\"kernels\":%zu,\"ms\":%.3f}\n", times.size(), 1e3 * all);
  for (const auto& [name, row] : sorted)
    if (row.seconds > 0.002 * all)
      std::printf("  %8.3f ms %4d x %8.3f GB %7.0f GB/s  %s\n", 1e3 * row.seconds, row.count, 1e-9 * row.bytes, 1e-9 * row.bytes / row.seconds,
                  name.c_str());
}

}  // namespace

void time_program(cuda::CudaDevice& device, const std::string& file, uint32_t segments, bool traces) {
  Watched kernels(device.shared_context());
  CheckedProgram checked = check_program(read_program(read_file(file)));
  const uint64_t free_before = device.context().free_bytes();
  double start = now_s();
  Runner runner(kernels, std::move(checked), PhiloxKey{1, 2});
  const Program& program = runner.checked().program;
  const uint64_t planned = runner.plan().bytes + kernels.extra_bytes(runner.checked(), runner.plan());
  give(runner, file);
  std::printf("{\"figure\":\"program\",\"file\":\"%s\",\"ops\":%zu,\"planned_gbytes\":%.3f,\"ready_s\":%.2f}\n", file.c_str(), program.step.size(),
              1e-9 * static_cast<double>(planned), now_s() - start);
  runner.run_init();
  const auto all = committed(program);
  const auto timed = [&](auto act) {
    const double begin = now_s();
    for (uint32_t i = 0; i < segments; ++i) act();
    return (now_s() - begin) / segments / program.k;
  };
  runner.run_segment();
  runner.roots(all);
  const double plain = timed([&] { runner.run_segment(); }), with_roots = timed([&] {
    runner.run_segment();
    runner.roots(all);
  });
  const double used = static_cast<double>(free_before) - static_cast<double>(device.context().free_bytes());
  std::printf("{\"figure\":\"program_step\",\"file\":\"%s\",\"ms\":%.3f,\"with_roots_ms\":%.3f,\"ratio\":%.4f,\"used_gbytes\":%.3f}\n", file.c_str(),
              1e3 * plain, 1e3 * with_roots, with_roots / plain, 1e-9 * used);
  print_kernels(kernels.memory->time_phase(Phase::step, {runner.segment(), 0, program.k, PhiloxKey{1, 2}}), program);
  std::fflush(stdout);
  if (!traces) return;
  runner.trace_segment([](uint32_t, uint32_t, const Root&) {});  // makes what it needs
  start = now_s();
  runner.trace_segment([](uint32_t, uint32_t, const Root&) {});
  std::printf("{\"figure\":\"program_trace\",\"file\":\"%s\",\"s\":%.3f,\"steps\":%u}\n", file.c_str(), now_s() - start, program.k);
  std::fflush(stdout);
}

}  // namespace assay
