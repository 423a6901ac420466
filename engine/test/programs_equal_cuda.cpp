// Programs on the CPU and on every GPU, compared bit for bit: random ops of every kind, on tensor cores and
// on plain ALUs; the CPU is the reference (work_test.cpp). Then exact products beside what they are measured
// against. Programs of many ops are run fused and recorded, fused, op by op, and on plain ALUs. FILE: bytes
// of programs, on random inputs; small ones on the CPU too.
// Usage: programs_equal_cuda [cases [FILE…] | --tiny]     Exit code 0: all passed; 1: not; 77: no GPU.
//   --tiny  every kernel on the smallest shapes, for compute-sanitizer
#include <fstream>
#include <iterator>
#include <thread>

#include "kit/check.hpp"
#include "cpu/cpu_work.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/work/cuda_work.hpp"
#include "cuda/work/fuse.hpp"
#include "devices.hpp"
#include "kit/random_chains.hpp"
#include "work/runner.hpp"

using namespace assay;
using namespace assay_test;

namespace {

struct Outcome {
  std::vector<uint8_t> bytes;
  work::Root root;
};

Outcome run_on(WorkKernels& kernels, const Program& program, const std::vector<std::vector<uint8_t>>& inputs) {
  Runner runner(kernels, check_program(program), PhiloxKey{7, 11});
  for (uint32_t i = 0; i < inputs.size(); ++i) runner.write(i, 0, inputs[i]);
  runner.run_init();
  for (int i = 0; i < 2; ++i) runner.run_segment();
  const auto result = static_cast<uint32_t>(program.tensors.size()) - 1;
  const Tensor& tensor = program.tensors[result];
  Outcome found{std::vector<uint8_t>(element_count(tensor.dims) * bytes_of(tensor.type)), runner.root(result)};
  runner.read(result, 0, found.bytes);
  return found;
}

void compare(RandomPrograms& random, WorkKernels& cpu, std::span<WorkKernels* const> gpus, Program program, const std::string& what) {
  std::vector<std::vector<uint8_t>> inputs;
  for (const Tensor& tensor : program.tensors)
    if (tensor.kind == TensorKind::input) inputs.push_back(random.elements(tensor));
  const Outcome right = run_on(cpu, program, inputs);
  for (size_t i = 0; i < gpus.size(); ++i) {
    const Outcome found = run_on(*gpus[i], program, inputs);
    const char* how[] = {"", " on plain ALUs", " by mma.sync"};
    check(found.bytes == right.bytes && found.root == right.root, what + how[i]);
  }
}

// ---- programs of many ops: fused, recorded, op by op, traced
std::vector<work::Root> roots_after(Runner& runner, int segments, bool traced) {
  const auto& tensors = runner.checked().program.tensors;
  std::vector<uint32_t> kept;
  for (uint32_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].kind == TensorKind::state || tensors[i].kind == TensorKind::result || tensors[i].kind == TensorKind::metric) kept.push_back(i);
  runner.run_init();
  for (int i = 0; i < segments; ++i) {
    if (traced) runner.trace_segment([](uint32_t, uint32_t, const work::Root&) {});
    else runner.run_segment();
  }
  std::vector<work::Root> roots = runner.roots(kept);
  for (size_t i = 0; i < kept.size(); ++i) check(roots[i] == runner.root(kept[i]), "roots of many tensors are those of each");
  return roots;
}

template <typename Elements>
void compare_chains(const Program& program, WorkKernels* reference, std::span<WorkKernels* const> gpus, Elements elements, const std::string& what) {
  std::vector<std::pair<uint32_t, std::vector<uint8_t>>> given;
  for (uint32_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].kind == TensorKind::input || program.tensors[i].kind == TensorKind::constant)
      given.push_back({i, elements(program.tensors[i])});
  std::vector<work::Root> right;
  const auto run = [&](WorkKernels& kernels, bool traced) {
    Runner runner(kernels, check_program(program), PhiloxKey{3, 5});
    for (const auto& [tensor, bytes] : given) runner.write(tensor, 0, bytes);
    return roots_after(runner, 2, traced);
  };
  if (reference != nullptr) right = run(*reference, false);
  for (size_t i = 0; i < gpus.size(); ++i) {
    const auto found = run(*gpus[i], false);
    if (right.empty()) right = found;
    check(found == right, what + ", way " + std::to_string(i));
  }
  check(run(*gpus[0], true) == right, what + ", traced");
}

// Few enough multiplications for the CPU.
bool is_small(const Program& program) {
  double products = 0;
  for (const Op& op : program.step)
    if (op.op == Operator::matmul) products += static_cast<double>(element_count(op.dims)) * op.operands[0].dims[2];
  return products * program.k < 1e9;
}

// A product of each pair of types, just large enough for tensor cores, so that each kernel runs.
void compare_tiny(RandomPrograms& random, WorkKernels& cpu, std::span<WorkKernels* const> gpus) {
  for (const Type a : {Type::i8, Type::i16, Type::i32})
    for (const Type b : {Type::i8, Type::i16, Type::i32}) {
      Program program = random.matmul(200, 200, a, b);
      while (!cuda::wants_tensor_cores(program.step[0]) || cuda::is_thin(program.step[0])) program = random.matmul(200, 200, a, b);
      compare(random, cpu, gpus, program, "tiny matmul");
    }
  for (int i = 0; i < 3; ++i) {
    compare(random, cpu, gpus, random.map(200), "tiny map");
    compare(random, cpu, gpus, random.reduce(i == 0 ? 1500 : 60), "tiny reduce");
    compare(random, cpu, gpus, random.scatter(20), "tiny scatter_add");
  }
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_tiny = argc > 1 && std::string(argv[1]) == "--tiny";
  const uint64_t cases = is_tiny ? 0 : argc > 1 ? std::stoull(argv[1]) : 500, chained = is_tiny ? 3 : cases / 2;
  FoundDevices found = find_cuda_devices();
  if (found.devices.empty()) {
    printf("no GPU: %s\n", found.driver.why_none.c_str());
    return 77;
  }
  ThreadPool pool(std::max(2u, std::thread::hardware_concurrency()));
  CpuWork cpu(pool);
  for (const auto& device : found.devices) {
    const auto context = static_cast<cuda::CudaDevice&>(*device).shared_context();
    cuda::CudaWork fast(context), launched(context, {.graphs = false}), single(context, {.fuses = false}), on_sums(context, {.few_tiles = true}), thick(context, {.thin = false}), plain(context, {.tensor_cores = false}), integers(context, {.reals = false}),
        by_warps(context, {.warpgroups = false});
    WorkKernels *const gpus[] = {&fast, &plain, &by_warps}, *const ways[] = {&fast, &launched, &single, &on_sums, &thick, &plain, &integers, &by_warps};
    RandomPrograms random(2);
    try {
      if (is_tiny) compare_tiny(random, cpu, gpus);
      for (uint64_t i = 0; i < cases; ++i) {
        const std::string number = std::to_string(i);
        compare(random, cpu, gpus, random.map(4000), "map " + number);
        compare(random, cpu, gpus, random.reduce(3000), "reduce " + number);
        compare(random, cpu, gpus, random.scatter(200), "scatter_add " + number);
        compare(random, cpu, gpus, random.matmul(i % 8 == 0 ? 700 : 90, i % 16 == 0 ? 5000 : 700), "matmul " + number);
      }
      // Sums that no 32 bits hold: K beyond a chunk.
      for (const uint32_t depth : {16384u, 16500u, 33000u, 70000u}) {
        if (is_tiny) break;
        Program program = random.matmul(40, 2);
        for (size_t i = 0; i < 2; ++i) {
          program.step[0].operands[i].dims[2] = depth;
          program.step[0].operands[i].type = Type::i16;
          program.tensors[i].dims[2] = depth;
          program.tensors[i].type = Type::i16;
          program.tensors[i].interval = RandomPrograms::full(Type::i16);
        }
        program.step[0].type = program.tensors[2].type = Type::i64;
        program.step[0].interval = program.tensors[2].interval = RandomPrograms::full(Type::i64);
        compare(random, cpu, gpus, program, "matmul of depth " + std::to_string(depth));
      }
      // Few rows: read as they lie (thin_product.cu), with rows, columns and depth that fill no tile.
      for (uint64_t i = 0; i < (is_tiny ? 4 : std::max<uint64_t>(40, cases / 4)); ++i) {
        const bool is_large = i % 4 == 0 && !is_tiny;
        Program program = random.matmul(is_large ? 700 : 64, 2);
        const uint32_t depth = static_cast<uint32_t>(16 * (1 + random.below(is_large ? 100 : 20)));
        for (size_t j = 0; j < 2; ++j) {
          const Type type = j == 1 && i % 2 == 0 ? Type::i8 : Type::i16;
          program.step[0].operands[j].dims[2] = program.tensors[j].dims[2] = depth;
          program.step[0].operands[j].type = program.tensors[j].type = type;
          program.tensors[j].interval = RandomPrograms::full(type);
          if (j == 0) program.step[0].operands[j].dims[1] = program.tensors[j].dims[1] = program.step[0].dims[1] = program.tensors[2].dims[1] = static_cast<uint32_t>(1 + random.below(64));
        }
        program.step[0].type = program.tensors[2].type = Type::i64;
        program.step[0].interval = program.tensors[2].interval = RandomPrograms::full(Type::i64);
        check(cuda::is_thin(program.step[0]), "a thin product");
        compare(random, cpu, gpus, program, "thin matmul " + std::to_string(i));
      }
      RandomChains chains(3);
      for (uint64_t i = 0; i < chained; ++i)
        compare_chains(chains.next(), &cpu, ways, [&](const Tensor& tensor) { return chains.elements(tensor); }, "chain " + std::to_string(i));
      for (int i = 2; i < argc; ++i) {
        const Program program = read_program(read_file(argv[i]));
        compare_chains(program, is_small(program) ? &cpu : nullptr, std::span(ways).first(5),
                       [&](const Tensor& tensor) { return random.elements(tensor); }, argv[i]);
      }
    } catch (const EngineError& error) {
      check(false, std::string("no error: ") + error.what());
    }
  }
  return report();
}
