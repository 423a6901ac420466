// See cuda_work.hpp.
#include "cuda/work/cuda_work.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "cuda/work/limb_shape.hpp"
#include "cuda/work/map_ptx.hpp"
#include "cuda/tree.hpp"
#include "cuda/work/work_shape.hpp"
#include "work/plan.hpp"

namespace assay::cuda {
namespace {

using namespace work;

uint32_t code_of(Type type) { return static_cast<uint32_t>(type); }
uint64_t bytes_of_output(const Op& op) { return element_count(op.dims) * bytes_of(op.type); }
uint64_t leaves_of(uint64_t bytes) { return (bytes + 1023) / 1024; }

// Bytes that hold every value of an interval.
uint32_t planes_of(const Interval& x) {
  for (uint32_t planes = 1; planes < 4; ++planes)
    if (x.lo >= -(int64_t{1} << (8 * planes - 1)) && x.hi < int64_t{1} << (8 * planes - 1)) return planes;
  return 4;
}

// ---- products on tensor cores
struct LimbPlan {
  uint32_t a_planes, b_planes;
  uint64_t a_rows, b_rows, pitch;
  uint64_t a_bytes() const { return a_rows * pitch; }
  uint64_t b_bytes() const { return b_rows * pitch; }
  uint64_t bytes() const { return a_planes * a_bytes() + b_planes * b_bytes(); }
};

LimbPlan limb_plan(const Op& op, const Interval& a, const Interval& b) {
  const Dims &x = op.operands[0].dims, &y = op.operands[1].dims;
  return {planes_of(a), planes_of(b), uint64_t{x[0]} * x[1], uint64_t{y[0]} * y[1], (uint64_t{x[2]} + 127) / 128 * 128};
}

// Of a product of few multiplications the split costs more than it saves.
bool wants_tensor_cores(const Op& op) {
  return op.op == Operator::matmul && element_count(op.dims) * op.operands[0].dims[2] >= (1u << 21);
}

// One or two planes of an operand that one launch multiplies.
struct Group {
  uint32_t first, count;  // plane numbers, the lowest byte is 0
  bool is_signed;
};
std::vector<Group> groups_of(uint32_t planes) {
  if (planes <= 2) return {{0, planes, true}};
  return {{2, planes - 2, true}, {0, 2, false}};
}

TensorMap plane_map(CUdeviceptr at, uint64_t k, uint64_t rows, uint64_t batch, uint64_t pitch, uint32_t box_rows) {
  TensorMap map{};
  const uint64_t dims[3] = {k, rows, batch}, strides[2] = {pitch, rows * pitch};
  const uint32_t box[3] = {kLimbTileK, box_rows, 1}, steps[3] = {1, 1, 1};
  ASSAY_CUDA_CALL(cuTensorMapEncodeTiled, &map, /* bytes */ 0, 3u, reinterpret_cast<void*>(at), dims, strides, box, steps, 0,
                  /* 128-byte swizzle */ 3, /* promotion to 256 bytes */ 3, 0);
  return map;
}

const char* limb_kernel(const Group& a, const Group& b) {
  static const std::map<std::array<uint32_t, 4>, const char*> kernels = {
      {{1, 1, 1, 1}, "limb_1s_1s"}, {{1, 1, 2, 1}, "limb_1s_2s"}, {{2, 1, 1, 1}, "limb_2s_1s"},
      {{2, 1, 2, 1}, "limb_2s_2s"}, {{1, 1, 2, 0}, "limb_1s_2u"}, {{2, 0, 1, 1}, "limb_2u_1s"},
      {{2, 1, 2, 0}, "limb_2s_2u"}, {{2, 0, 2, 1}, "limb_2u_2s"}, {{2, 0, 2, 0}, "limb_2u_2u"}};
  return kernels.at({a.count, a.is_signed, b.count, b.is_signed});
}

// ---- one op made ready
struct Ready {
  const Op* op;
  CUfunction map = nullptr;
  uint32_t map_blocks = 0;
  bool is_limbs = false;
  LimbPlan limbs{};
};

class CudaWorkMemory : public WorkMemory {
 public:
  CudaWorkMemory(std::shared_ptr<const Context> context, bool tensor_cores, const CheckedProgram& checked, uint64_t bytes, uint64_t extra)
      : context_(std::move(context)) {
    context_->enter();
    memory_ = Buffer(context_, std::max<uint64_t>(bytes, 1024));
    extra_ = Buffer(context_, std::max<uint64_t>(extra, 1024));
    clear(0, bytes);
    for (const Phase phase : {Phase::init, Phase::step})
      for (size_t i = 0; i < checked.program.ops(phase).size(); ++i) make_ready(checked, phase, i, tensor_cores);
    compile();
  }
  ~CudaWorkMemory() override {
    driver().cuCtxSetCurrent(context_->handle());
    if (module_ != nullptr) driver().cuModuleUnload(module_);
  }

  void write(Address at, std::span<const uint8_t> bytes) override {
    context_->enter();
    ASSAY_CUDA_CALL(cuMemcpyHtoD, memory_.at(at), bytes.data(), bytes.size());
  }
  void read(Address at, std::span<uint8_t> bytes) override {
    context_->enter();
    ASSAY_CUDA_CALL(cuMemcpyDtoH, bytes.data(), memory_.at(at), bytes.size());
  }
  void clear(Address at, uint64_t bytes) override {
    context_->enter();
    if (bytes > 0) ASSAY_CUDA_CALL(cuMemsetD8Async, memory_.at(at), uint8_t{0}, bytes, nullptr);
  }
  void copy(Address from, Address to, uint64_t bytes) override {
    context_->enter();
    ASSAY_CUDA_CALL(cuMemcpyDtoDAsync, memory_.at(to), memory_.at(from), bytes, nullptr);
  }
  void finish() override {
    context_->enter();
    context_->synchronize();
  }

  void run(uint32_t number, std::span<const Address> operands, Address out, const Moment& moment) override {
    context_->enter();
    const Ready& ready = ready_[number];
    const Op& op = *ready.op;
    switch (op.op) {
      case Operator::map: return run_map(ready, operands, out, moment);
      case Operator::matmul: return ready.is_limbs ? multiply_limbs(ready, operands, out) : multiply_plain(op, operands, out);
      case Operator::reduce: return reduce(op, operands, out);
      case Operator::scatter_add: return scatter(op, operands, out);
    }
  }

  Root hash(Address at, uint64_t bytes) override {
    context_->enter();
    // What a place has beyond its tensor is its own up to the next 1 KiB.
    clear(at + bytes, leaves_of(bytes) * 1024 - bytes);
    const Tree tree{extra_.at(), static_cast<uint32_t>(leaves_of(bytes))};
    hash_leaves(*context_, tree, 0, memory_.at(at), tree.count);
    hash_levels(*context_, tree);
    const Hash root = read_root(*context_, tree);
    Root found;
    std::memcpy(found.data(), &root, sizeof found);
    return found;
  }

 private:
  void make_ready(const CheckedProgram& checked, Phase phase, size_t number, bool tensor_cores);
  void compile();
  void run_map(const Ready& ready, std::span<const Address> operands, Address out, const Moment& moment);
  void multiply_limbs(const Ready& ready, std::span<const Address> operands, Address out);
  void multiply_plain(const Op& op, std::span<const Address> operands, Address out);
  void reduce(const Op& op, std::span<const Address> operands, Address out);
  void scatter(const Op& op, std::span<const Address> operands, Address out);

  std::shared_ptr<const Context> context_;
  Buffer memory_, extra_;
  CUmodule module_ = nullptr;
  std::vector<Ready> ready_;
  // Maps that are alike share a kernel.
  std::map<std::string, std::vector<size_t>> maps_;
};

Interval operand_interval(const Program& program, Phase phase, const Operand& operand) {
  return operand.source == Source::op ? program.ops(phase)[operand.index].interval : program.tensors[operand.index].interval;
}

void CudaWorkMemory::make_ready(const CheckedProgram& checked, Phase phase, size_t number, bool tensor_cores) {
  const Op& op = checked.program.ops(phase)[number];
  Ready ready{&op};
  if (op.op == Operator::map) {
    maps_[map_ptx(op, checked.registers(phase, number), "NAME")].push_back(ready_.size());
    const uint64_t per_block = map_elements_per_block(op), blocks = (element_count(op.dims) + per_block - 1) / per_block;
    if (blocks > INT32_MAX) throw EngineError(ErrorCode::unsupported, "a map of too many elements for this card");
    ready.map_blocks = static_cast<uint32_t>(blocks);
  }
  if (tensor_cores && wants_tensor_cores(op)) {
    ready.is_limbs = true;
    ready.limbs = limb_plan(op, operand_interval(checked.program, phase, op.operands[0]),
                            operand_interval(checked.program, phase, op.operands[1]));
  }
  ready_.push_back(ready);
}

void CudaWorkMemory::compile() {
  if (maps_.empty()) return;
  std::string text = ptx_head();
  std::vector<const std::vector<size_t>*> users;
  for (const auto& [ptx, ops] : maps_) {
    std::string one = ptx;
    one.replace(one.find("NAME"), 4, "map" + std::to_string(users.size()));
    text += one;
    users.push_back(&ops);
  }
  ASSAY_CUDA_CALL(cuModuleLoadData, &module_, text.c_str());
  for (size_t i = 0; i < users.size(); ++i) {
    CUfunction function = nullptr;
    ASSAY_CUDA_CALL(cuModuleGetFunction, &function, module_, ("map" + std::to_string(i)).c_str());
    for (const size_t op : *users[i]) ready_[op].map = function;
  }
  maps_.clear();
}

void CudaWorkMemory::run_map(const Ready& ready, std::span<const Address> operands, Address out, const Moment& moment) {
  CUdeviceptr addresses[1 + kMostOperands] = {memory_.at(out)};
  uint32_t words[5] = {static_cast<uint32_t>(moment.segment), moment.step, global_step(moment.segment, moment.step, moment.k),
                       moment.key.k0, moment.key.k1};
  std::vector<void*> arguments{&addresses[0]};
  for (size_t i = 0; i < operands.size(); ++i) {
    addresses[i + 1] = memory_.at(operands[i]);
    arguments.push_back(&addresses[i + 1]);
  }
  for (uint32_t& word : words) arguments.push_back(&word);
  ASSAY_CUDA_CALL(cuLaunchKernel, ready.map, ready.map_blocks, 1u, 1u, kMapThreads, 1u, 1u, 0u, nullptr, arguments.data(), nullptr);
}

void CudaWorkMemory::multiply_limbs(const Ready& ready, std::span<const Address> operands, Address out) {
  const Op& op = *ready.op;
  const LimbPlan& limbs = ready.limbs;
  const Dims &a_dims = op.operands[0].dims, &b_dims = op.operands[1].dims;
  const uint32_t k = a_dims[2];
  const CUdeviceptr planes_a = extra_.at(), planes_b = extra_.at(limbs.a_planes * limbs.a_bytes());
  const auto split = [&](size_t operand, uint64_t rows, uint32_t planes, CUdeviceptr to) {
    PlaneSplit into{{}, planes, limbs.pitch};
    for (uint32_t p = 0; p < planes; ++p) into.planes[p] = reinterpret_cast<uint8_t*>(to + p * rows * limbs.pitch);
    const auto down = static_cast<uint32_t>(std::min<uint64_t>(rows, 65535));
    context_->launch_2d("split_planes", (k + 511) / 512, down, 128, memory_.at(operands[operand]), code_of(op.operands[operand].type), rows, k,
                        into);
  };
  split(0, limbs.a_rows, limbs.a_planes, planes_a);
  split(1, limbs.b_rows, limbs.b_planes, planes_b);
  bool adds = false;
  for (const Group& a : groups_of(limbs.a_planes))
    for (const Group& b : groups_of(limbs.b_planes)) {
      const uint32_t chunk = a.is_signed && b.is_signed ? kLimbChunk : kLimbChunkUnsigned;
      const uint32_t tile_n = limb_tile_n(a.count, b.count);
      LimbMaps maps{};
      for (uint32_t p = 0; p < 2; ++p) {
        // The higher plane first.
        const uint32_t in_a = a.first + (p < a.count ? a.count - 1 - p : 0), in_b = b.first + (p < b.count ? b.count - 1 - p : 0);
        maps.a[p] = plane_map(planes_a + in_a * limbs.a_bytes(), k, a_dims[1], a_dims[0], limbs.pitch, kLimbTileM);
        maps.b[p] = plane_map(planes_b + in_b * limbs.b_bytes(), k, b_dims[1], b_dims[0], limbs.pitch, tile_n / 2);
      }
      for (uint32_t first = 0; first < k; first += chunk, adds = true) {
        const LimbProduct what{op.dims[0], op.dims[1], op.dims[2], first, std::min(k, first + chunk), op.dims[0] / a_dims[0],
                               op.dims[0] / b_dims[0], 8 * (a.first + b.first), adds, op.type == Type::i64};
        const uint64_t tiles = uint64_t{what.batch} * ((what.m + 2 * kLimbTileM - 1) / (2 * kLimbTileM)) * ((what.n + tile_n - 1) / tile_n);
        const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(2 * tiles, context_->units() & ~1u));
        context_->launch({limb_kernel(a, b), blocks, kLimbThreads, limb_shared_bytes(a.count, b.count), Where::main_in_pairs}, maps, what,
                         memory_.at(out));
      }
    }
}

void CudaWorkMemory::multiply_plain(const Op& op, std::span<const Address> operands, Address out) {
  const Dims &a = op.operands[0].dims, &b = op.operands[1].dims, &c = op.dims;
  const PlainProduct what{c[0], c[1], c[2], a[2], c[0] / a[0], c[0] / b[0], code_of(op.operands[0].type), code_of(op.operands[1].type),
                          code_of(op.type)};
  const uint64_t tiles = uint64_t{(c[1] + 63) / 64} * ((c[2] + 63) / 64);
  if (tiles > INT32_MAX) throw EngineError(ErrorCode::unsupported, "a product too large for this card");
  context_->launch_2d("multiply_plain", static_cast<uint32_t>(tiles), std::min(c[0], 65535u), 256, memory_.at(operands[0]),
                      memory_.at(operands[1]), memory_.at(out), what);
}

void CudaWorkMemory::reduce(const Op& op, std::span<const Address> operands, Address out) {
  const Operand& from = op.operands[0];
  const uint32_t threads = from.dims[1] > 1024 ? 256 : 32;
  const RowReduction what{from.dims[0], from.dims[1], static_cast<uint32_t>(op.reduction), code_of(from.type), code_of(op.type), threads};
  const uint64_t blocks = (what.rows * threads + 255) / 256;
  context_->launch({"reduce_rows", static_cast<uint32_t>(std::min<uint64_t>(blocks, 1u << 20)), 256}, memory_.at(operands[0]),
                   memory_.at(out), what);
}

void CudaWorkMemory::scatter(const Op& op, std::span<const Address> operands, Address out) {
  const Operand &x = op.operands[0], &index = op.operands[1];
  const bool is_wide = op.type == Type::i64, is_narrow = op.type == Type::i8 || op.type == Type::i16;
  const uint64_t count = element_count(op.dims);
  const CUdeviceptr sums = is_narrow ? extra_.at() : memory_.at(out);
  ASSAY_CUDA_CALL(cuMemsetD8Async, sums, uint8_t{0}, count * (is_wide ? 8 : 4), nullptr);
  const ScatteredSum what{x.dims[0], x.dims[1], code_of(x.type), code_of(index.type), is_wide};
  const uint64_t blocks = (element_count(x.dims) + 255) / 256;
  context_->launch({"scatter_rows", static_cast<uint32_t>(std::min<uint64_t>(blocks, 1u << 16)), 256}, memory_.at(operands[0]),
                   memory_.at(operands[1]), sums, what);
  if (is_narrow)
    context_->launch({"narrow_sums", static_cast<uint32_t>((count + 255) / 256), 256}, sums, memory_.at(out), code_of(op.type), count);
}

}  // namespace

uint64_t CudaWork::extra_bytes(const CheckedProgram& checked, const MemoryPlan&) {
  const Program& program = checked.program;
  uint64_t most = 1024;
  for (const Tensor& tensor : program.tensors)
    most = std::max(most, tree_bytes(leaves_of(element_count(tensor.dims) * bytes_of(tensor.type))));
  for (const Phase phase : {Phase::init, Phase::step})
    for (const Op& op : program.ops(phase)) {
      most = std::max(most, tree_bytes(leaves_of(bytes_of_output(op))));
      if (op.op == Operator::scatter_add) most = std::max(most, element_count(op.dims) * 4);
      if (tensor_cores_ && wants_tensor_cores(op))
        most = std::max(most, limb_plan(op, operand_interval(program, phase, op.operands[0]), operand_interval(program, phase, op.operands[1]))
                                  .bytes());
    }
  return most;
}

std::unique_ptr<WorkMemory> CudaWork::prepare(const CheckedProgram& checked, const MemoryPlan& plan) {
  return std::make_unique<CudaWorkMemory>(context_, tensor_cores_, checked, plan.bytes, extra_bytes(checked, plan));
}

}  // namespace assay::cuda
