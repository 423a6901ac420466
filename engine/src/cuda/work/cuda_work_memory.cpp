#include "cuda/work/cuda_work_memory.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/kernels.hpp"
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {

using namespace work;

namespace {

uint32_t code_of(Type type) { return static_cast<uint32_t>(type); }
uint64_t bytes_of_output(const Op& op) { return element_count(op.dims) * bytes_of(op.type); }
size_t index_of(Phase phase) { return phase == Phase::init ? 0 : 1; }

// An op for itself: each operand a pointer, then the output.
KernelPlan single_plan(const Op& op, const std::vector<Interval>& registers) {
  KernelPlan plan{{}, static_cast<uint32_t>(op.operands.size()) + 1, element_count(op.dims), 0};
  KernelOp one{&op, &registers, false, {}, static_cast<int>(op.operands.size()), -1, {}};
  for (uint32_t i = 0; i < op.operands.size(); ++i) one.from.push_back({-1, i});
  plan.ops.push_back(std::move(one));
  return plan;
}

LimbOperand limb_operand(const Program& program, Phase phase, const Operand& operand, CUdeviceptr at) {
  return {at, plane_layout(operand_interval(program, phase, operand), element_count(operand.dims), operand.dims[2])};
}

// Beside the tensors: planes of an op that runs for itself, sums of a narrow type, trees.
uint64_t room_for(const WorkOptions& options, const CheckedProgram& checked) {
  const Program& program = checked.program;
  uint64_t most = 1024, committed = 0;
  for (const Tensor& tensor : program.tensors) {
    const uint64_t bytes = tree_bytes(leaves_of(element_count(tensor.dims) * bytes_of(tensor.type)));
    most = std::max(most, bytes);
    if (tensor.kind == TensorKind::state || tensor.kind == TensorKind::result) committed += bytes;
  }
  most = std::max(most, committed);
  for (const Phase phase : {Phase::init, Phase::step})
    for (const Op& op : program.ops(phase)) {
      most = std::max(most, tree_bytes(leaves_of(bytes_of_output(op))));
      if (op.op == Operator::scatter_add) most = std::max(most, element_count(op.dims) * 4);
      if (!options.tensor_cores || !wants_tensor_cores(op) || (options.thin && is_thin(op))) continue;
      uint64_t planes = 0;
      for (const Operand& operand : op.operands) {
        const PlaneLayout layout = limb_operand(program, phase, operand, 0).layout;
        planes += layout.count * layout.plane_bytes;
      }
      most = std::max(most, planes);
    }
  return most;
}

FuseOptions fuse_options(const Context& context, const WorkOptions& options) {
  const bool on_sums = options.on_sums && options.warpgroups && *limb_text() != 0;
  // Hopper's data-centre cards: as many units for doubles as for integers. Others have a few.
  const bool reals = options.reals && options.fuses && context.compute() == 90;
  return {options.tensor_cores, options.thin, options.fuses, on_sums, options.few_tiles ? 0 : 4 * context.units(), reals, options.warpgroups, options.few_tiles ? 0u : 1u << 19};
}

}  // namespace

uint64_t CudaWorkMemory::extra_bytes_for(const Context& context, const WorkOptions& options, const CheckedProgram& checked, const MemoryPlan& plan) {
  uint64_t peak = plan.bytes;
  FuseOptions fuses = fuse_options(context, options);
  for (const bool on_sums : {fuses.on_sums, false}) {
    fuses.on_sums = on_sums;
    for (const Phase phase : {Phase::init, Phase::step}) peak = std::max(peak, fuse(checked, phase, plan, fuses).peak);
  }
  return peak - plan.bytes + room_for(options, checked);
}

CudaWorkMemory::CudaWorkMemory(std::shared_ptr<const Context> context, const WorkOptions& options, const CheckedProgram& checked,
                               const MemoryPlan& plan, uint64_t extra_bytes)
    : context_(std::move(context)), options_(options), fuses_(fuse_options(*context_, options)), checked_(checked), plan_(plan) {
  context_->enter();
  const uint64_t room = room_for(options_, checked_);
  memory_ = Buffer(context_, std::max<uint64_t>(plan_.bytes + extra_bytes - room, 1024));
  extra_ = Buffer(context_, room);
  moment_ = Buffer(context_, 1024);
  // Waits for copies on the default stream, and they for it.
  ASSAY_CUDA_CALL(cuStreamCreateWithPriority, &stream_, 0u, 0);
  clear(0, plan_.bytes);
  for (const Phase phase : {Phase::init, Phase::step}) make_phase(phase);
}

CudaWorkMemory::~CudaWorkMemory() {
  driver().cuCtxSetCurrent(context_->handle());
  for (PhaseKernels& phase : phases_)
    if (phase.graph != nullptr) driver().cuGraphExecDestroy(phase.graph);
  if (stream_ != nullptr) driver().cuStreamDestroy(stream_);
  for (CUmodule module : modules_) driver().cuModuleUnload(module);
}

const Op& CudaWorkMemory::op(uint32_t number) const {
  const Program& program = checked_.program;
  return number < program.init.size() ? program.init[number] : program.step[number - program.init.size()];
}

// ---- memory
void CudaWorkMemory::write(Address at, std::span<const uint8_t> bytes) {
  context_->enter();
  has_kept_ = false;
  ASSAY_CUDA_CALL(cuMemcpyHtoD, memory_.at(at), bytes.data(), bytes.size());
}
void CudaWorkMemory::read(Address at, std::span<uint8_t> bytes) {
  context_->enter();
  ASSAY_CUDA_CALL(cuMemcpyDtoH, bytes.data(), memory_.at(at), bytes.size());
}
void CudaWorkMemory::clear(Address at, uint64_t bytes) {
  context_->enter();
  if (bytes > 0) ASSAY_CUDA_CALL(cuMemsetD8Async, memory_.at(at), uint8_t{0}, bytes, stream_);
}
void CudaWorkMemory::copy(Address from, Address to, uint64_t bytes) {
  context_->enter();
  ASSAY_CUDA_CALL(cuMemcpyDtoDAsync, memory_.at(to), memory_.at(from), bytes, stream_);
}
void CudaWorkMemory::finish() {
  context_->enter();
  ASSAY_CUDA_CALL(cuStreamSynchronize, stream_);
}

// ---- roots
Root CudaWorkMemory::hash(Address at, uint64_t bytes) {
  const Stretch one[] = {{at, bytes}};
  context_->enter();
  // What a place has beyond its tensor is its own up to the next 1 KiB.
  clear(at + bytes, leaves_of(bytes) * 1024 - bytes);
  finish();
  const Tree tree{extra_.at(), static_cast<uint32_t>(leaves_of(one[0].bytes))};
  hash_leaves(*context_, tree, 0, memory_.at(at), tree.count);
  hash_levels(*context_, tree);
  const Hash root = read_root(*context_, tree);
  Root found;
  std::memcpy(found.data(), &root, sizeof found);
  return found;
}

std::vector<Root> CudaWorkMemory::hash_all(std::span<const Stretch> all) {
  context_->enter();
  const auto same = [](const Stretch& a, const Stretch& b) { return a.at == b.at && a.bytes == b.bytes; };
  if (all.empty()) return {};
  if (HashAll::bytes_for(all) > extra_.bytes()) return WorkMemory::hash_all(all);
  if (!hashes_ || !std::ranges::equal(hashes_->stretches(), all, same))
    hashes_ = std::make_unique<HashAll>(context_, std::vector<Stretch>(all.begin(), all.end()), memory_.at(), extra_.at());
  for (const Stretch& one : all) clear(one.at + one.bytes, leaves_of(one.bytes) * 1024 - one.bytes);
  hashes_->start(stream_);
  return hashes_->roots(stream_);
}

// ---- kernels
// Whether a call failed because the driver compiles no PTX, or not this: no binary for this card, invalid
// PTX, no compiler, its version, compiling switched off (CUresult of cuda.h).
static bool lacks_compiler(CUresult result) {
  static constexpr CUresult kReasons[] = {209, 218, 221, 222, 223};
  return std::ranges::find(kReasons, result) != std::end(kReasons);
}

std::vector<CudaWorkMemory::Kernel> CudaWorkMemory::compile(const std::vector<KernelText>& texts) {
  // Those that are alike share a kernel.
  std::map<std::string, std::vector<size_t>> users;
  for (size_t i = 0; i < texts.size(); ++i)
    if (!texts[i].ptx.empty()) users[texts[i].ptx].push_back(i);
  std::vector<Kernel> kernels(texts.size());
  if (users.empty()) return kernels;
  std::string text = ptx_head();
  size_t number = 0;
  for (const auto& [ptx, of] : users) {
    std::string one = ptx;
    one.replace(one.find("NAME"), 4, "kernel" + std::to_string(number++));
    text += one;
  }
  CUmodule& module = modules_.emplace_back(nullptr);
  const CUresult loaded = driver().cuModuleLoadData(&module, text.c_str());
  if (lacks_compiler(loaded)) {
    modules_.pop_back();
    throw EngineError(ErrorCode::unsupported, "the driver of this card compiles no kernels (PTX) for it, so it runs no programs: install the driver's "
                                              "libnvidia-ptxjitcompiler; a container needs the driver capability `compute`");
  }
  check(loaded, "cuModuleLoadData");
  number = 0;
  for (const auto& [ptx, of] : users) {
    CUfunction function = nullptr;
    ASSAY_CUDA_CALL(cuModuleGetFunction, &function, module, ("kernel" + std::to_string(number++)).c_str());
    for (const size_t i : of) {
      if (texts[i].blocks > INT32_MAX) throw EngineError(ErrorCode::unsupported, "a map of too many elements for this card");
      kernels[i] = {function, static_cast<uint32_t>(texts[i].blocks), texts[i].threads};
    }
  }
  return kernels;
}

void CudaWorkMemory::make_phase(Phase phase) {
  PhaseKernels& made = phases_[index_of(phase)];
  made.fused = fuse(checked_, phase, plan_, fuses_);
  std::vector<KernelText> texts;
  for (const Group& group : made.fused.groups) {
    texts.push_back(group.is_kernel ? kernel_ptx(group.kernel, "NAME") : KernelText{});
    made.products.emplace_back();
    const Op& op = checked_.program.ops(phase)[group.ops[0]];
    if (group.is_kernel || !options_.tensor_cores || !wants_tensor_cores(op) || is_thin(op)) continue;
    const auto at = [&](int i) { return LimbOperand{memory_.at(group.planes[i].at), group.planes[i].layout}; };
    made.products.back() = limb_launches(*context_, options_.warpgroups, op, at(0), at(1), group.packs);
  }
  made.kernels = compile(texts);
  if (make_products(made)) return;
  // The driver is too old for their text.
  fuses_.on_sums = false;
  made = {};
  make_phase(phase);
}

// Products whose sums maps take before they are stored.
bool CudaWorkMemory::make_products(PhaseKernels& made) {
  made.on_sums.resize(made.fused.groups.size());
  for (size_t i = 0; i < made.fused.groups.size(); ++i) {
    const Group& group = made.fused.groups[i];
    if (group.is_kernel || group.ops.size() == 1) continue;
    CUfunction& function = products_[product_ptx(limb_text(), group.kernel, "limb_maps")];
    LimbLaunch& launch = made.products[i].at(0);
    // All of K in one go: there is nothing to add to.
    launch.what.k_part = (launch.what.k_end + kLimbTileK - 1) / kLimbTileK * kLimbTileK;
    launch.blocks = context_->units() & ~1u;
    if (function == nullptr) {
      CUmodule module = nullptr;
      if (driver().cuModuleLoadData(&module, product_ptx(limb_text(), group.kernel, "limb_maps").c_str()) != kCudaSuccess) return false;
      modules_.push_back(module);
      ASSAY_CUDA_CALL(cuModuleGetFunction, &function, module, "limb_maps");
      ASSAY_CUDA_CALL(cuFuncSetAttribute, function, kFunctionMaxDynamicShared, static_cast<int>(launch.shared_bytes));
    }
    made.on_sums[i] = function;
  }
  return true;
}

void CudaWorkMemory::run_on_sums(const PhaseKernels& phase, size_t number) {
  const Group& group = phase.fused.groups[number];
  LimbLaunch launch = phase.products[number][0];
  LimbPointers pointers{{moment_.at()}};
  for (size_t i = 0; i < group.pointers.size(); ++i) pointers.at[i + 1] = memory_.at(group.pointers[i]);
  void* arguments[] = {&launch.maps, &launch.what, &pointers};
  context_->launch_in_pairs(phase.on_sums[number], launch.blocks, kLimbThreads, launch.shared_bytes, stream_, arguments);
}

void CudaWorkMemory::make_singles() {
  if (has_singles_) return;
  std::vector<KernelText> texts;
  for (const Phase phase : {Phase::init, Phase::step})
    for (size_t i = 0; i < checked_.program.ops(phase).size(); ++i) {
      const Op& op = checked_.program.ops(phase)[i];
      texts.push_back(op.op == Operator::map ? kernel_ptx(single_plan(op, checked_.registers(phase, i)), "NAME") : KernelText{});
    }
  singles_ = compile(texts);
  has_singles_ = true;
}

// Kernels read when they run from memory, so that a recorded step serves every step.
void CudaWorkMemory::set_moment(const Moment& moment) {
  const uint32_t words[5] = {static_cast<uint32_t>(moment.segment), moment.step, global_step(moment.segment, moment.step, moment.k),
                             moment.key.k0, moment.key.k1};
  for (uint32_t i = 0; i < 5; ++i) {
    if (has_moment_ && words_[i] == words[i]) continue;
    ASSAY_CUDA_CALL(cuMemsetD32Async, moment_.at(4 * i), words[i], size_t{1}, stream_);
    words_[i] = words[i];
  }
  has_moment_ = true;
}

void CudaWorkMemory::launch(const Kernel& kernel, std::span<const Address> pointers) {
  std::vector<CUdeviceptr> addresses{moment_.at()};
  for (const Address at : pointers) addresses.push_back(memory_.at(at));
  std::vector<void*> arguments;
  for (CUdeviceptr& at : addresses) arguments.push_back(&at);
  ASSAY_CUDA_CALL(cuLaunchKernel, kernel.function, kernel.blocks, 1u, 1u, kernel.threads, 1u, 1u, 0u, stream_, arguments.data(), nullptr);
}

// ---- ops
void CudaWorkMemory::run(uint32_t number, std::span<const Address> operands, Address out, const Moment& moment) {
  context_->enter();
  has_kept_ = false;
  make_singles();
  const Op& one = op(number);
  const Phase phase = number < checked_.program.init.size() ? Phase::init : Phase::step;
  if (one.op == Operator::map) {
    set_moment(moment);
    std::vector<Address> pointers(operands.begin(), operands.end());
    pointers.push_back(out);
    launch(singles_[number], pointers);
  } else if (options_.tensor_cores && wants_tensor_cores(one) && !is_thin(one)) multiply_limbs(one, phase, operands, out);
  else run_plain(one, operands, out);
}

void CudaWorkMemory::split(const Split& one) {
  split_planes(*context_, memory_.at(one.from), one.type, one.count, {memory_.at(one.to.at), one.to.layout}, stream_);
}

void CudaWorkMemory::run_group(const PhaseKernels& phase, size_t number) {
  const Group& group = phase.fused.groups[number];
  if (group.is_kernel) launch(phase.kernels[number], group.pointers);
  else if (!phase.products[number].empty()) {
    for (const Split& one : group.splits) split(one);
    if (phase.on_sums[number] != nullptr) run_on_sums(phase, number);
    else run_limbs(*context_, phase.products[number], memory_.at(group.out), stream_);
  } else {
    const auto& ops = checked_.program.ops(&phase == &phases_[0] ? Phase::init : Phase::step);
    run_plain(ops[group.ops[0]], group.operands, group.out);
  }
  for (const Group::Copy& one : group.copies) copy(one.from, one.to, one.bytes);
}

bool CudaWorkMemory::run_phase(Phase phase, const Moment& moment) {
  context_->enter();
  PhaseKernels& made = phases_[index_of(phase)];
  set_moment(moment);
  // Phases share their room.
  if (!has_kept_ || phase == Phase::init)
    for (const Split& one : made.fused.kept) split(one);
  has_kept_ = phase == Phase::step;
  const auto run_all = [&] {
    for (size_t i = 0; i < made.fused.groups.size(); ++i) run_group(made, i);
  };
  const bool records = options_.graphs && phase == Phase::step && driver().cuGraphLaunch != nullptr && driver().cuGraphInstantiate != nullptr &&
                       driver().cuStreamBeginCapture != nullptr && driver().cuStreamEndCapture != nullptr;
  if (!records) {
    run_all();
    return true;
  }
  if (made.graph == nullptr) {
    CUgraph graph = nullptr;
    ASSAY_CUDA_CALL(cuStreamBeginCapture, stream_, /* this thread's calls */ 1);
    run_all();
    ASSAY_CUDA_CALL(cuStreamEndCapture, stream_, &graph);
    ASSAY_CUDA_CALL(cuGraphInstantiate, &made.graph, graph, 0ull);
    ASSAY_CUDA_CALL(cuGraphDestroy, graph);
  }
  ASSAY_CUDA_CALL(cuGraphLaunch, made.graph, stream_);
  return true;
}

std::vector<GroupTime> CudaWorkMemory::time_phase(Phase phase, const Moment& moment) {
  context_->enter();
  PhaseKernels& made = phases_[index_of(phase)];
  const size_t count = made.fused.groups.size();
  std::vector<CUevent> marks(count + 1);
  for (CUevent& mark : marks) ASSAY_CUDA_CALL(cuEventCreate, &mark, 0u);
  set_moment(moment);
  ASSAY_CUDA_CALL(cuEventRecord, marks[0], stream_);
  for (size_t i = 0; i < count; ++i) {
    run_group(made, i);
    ASSAY_CUDA_CALL(cuEventRecord, marks[i + 1], stream_);
  }
  finish();
  std::vector<GroupTime> times;
  for (size_t i = 0; i < count; ++i) {
    float ms = 0;
    ASSAY_CUDA_CALL(cuEventElapsedTime, &ms, marks[i], marks[i + 1]);
    times.push_back({&made.fused.groups[i], 1e-3 * ms});
  }
  for (CUevent mark : marks) driver().cuEventDestroy(mark);
  return times;
}

void CudaWorkMemory::multiply_limbs(const Op& op, Phase phase, std::span<const Address> operands, Address out) {
  LimbOperand planes[2];
  CUdeviceptr at = extra_.at();
  for (size_t i = 0; i < 2; ++i) {
    const Operand& operand = op.operands[i];
    planes[i] = limb_operand(checked_.program, phase, operand, at);
    if (is_plane_itself(planes[i].layout, operand.type)) {
      planes[i].at = memory_.at(operands[i]);
      continue;
    }
    at += planes[i].layout.count * planes[i].layout.plane_bytes;
    split_planes(*context_, memory_.at(operands[i]), operand.type, element_count(operand.dims), planes[i], stream_);
  }
  run_limbs(*context_, limb_launches(*context_, options_.warpgroups, op, planes[0], planes[1]), memory_.at(out), stream_);
}

void CudaWorkMemory::run_plain(const Op& op, std::span<const Address> operands, Address out) {
  if (is_thin(op)) multiply_thin(op, operands, out);
  else if (op.op == Operator::matmul) multiply_plain(op, operands, out);
  else if (op.op == Operator::reduce) reduce(op, operands, out);
  else scatter(op, operands, out);
}

void CudaWorkMemory::multiply_thin(const Op& op, std::span<const Address> operands, Address out) {
  const Dims &a = op.operands[0].dims, &b = op.operands[1].dims;
  // Batches that read one of B, as heads that share their keys, are rows of one: then it is read once.
  const uint32_t share = op.dims[0] / b[0], joined = a[0] == op.dims[0] && share * op.dims[1] <= kMostThinRows ? share : 1;
  const Dims c{op.dims[0] / joined, op.dims[1] * joined, op.dims[2]};
  const uint32_t tiles = c[1] <= 8 ? 1 : c[1] <= 16 ? 2 : 4, chunks = (c[1] + 8 * tiles - 1) / (8 * tiles), rows = (c[2] + 15) / 16;
  // Warps share K until there are enough of them.
  uint32_t depth = 1;
  while (depth < kThinWarps && 2 * depth * 64 <= a[2] && uint64_t{rows} * c[0] * chunks * depth < 32 * context_->units()) depth *= 2;
  const ThinProduct what{c[0], c[1], c[2], a[2], op.dims[0] / a[0], c[0] / b[0], depth, op.type == Type::i64};
  const std::string kernel = "thin_" + std::to_string(bytes_of(op.operands[1].type)) + "_" + std::to_string(tiles);
  const uint32_t at_once = kThinWarps / depth;
  launch_named(kernel.c_str(), (rows + at_once - 1) / at_once, c[0] * chunks, 32 * kThinWarps, memory_.at(operands[0]), memory_.at(operands[1]),
               memory_.at(out), what);
}

void CudaWorkMemory::multiply_plain(const Op& op, std::span<const Address> operands, Address out) {
  const Dims &a = op.operands[0].dims, &b = op.operands[1].dims, &c = op.dims;
  const PlainProduct what{c[0], c[1], c[2], a[2], c[0] / a[0], c[0] / b[0], code_of(op.operands[0].type), code_of(op.operands[1].type),
                          code_of(op.type)};
  const uint64_t tiles = uint64_t{(c[1] + 63) / 64} * ((c[2] + 63) / 64);
  if (tiles > INT32_MAX) throw EngineError(ErrorCode::unsupported, "a product too large for this card");
  launch_named("multiply_plain", static_cast<uint32_t>(tiles), std::min(c[0], 65535u), 256, memory_.at(operands[0]), memory_.at(operands[1]),
               memory_.at(out), what);
}

void CudaWorkMemory::reduce(const Op& op, std::span<const Address> operands, Address out) {
  const Operand& from = op.operands[0];
  const uint32_t wide = from.dims[0] < 4 * context_->units() ? 1024 : 256, threads = from.dims[1] > 1024 ? wide : 32;
  const RowReduction what{from.dims[0], from.dims[1], static_cast<uint32_t>(op.reduction), code_of(from.type), code_of(op.type), threads};
  const uint32_t in_block = std::max(256u, threads);
  const uint64_t blocks = (what.rows * threads + in_block - 1) / in_block;
  launch_named("reduce_rows", static_cast<uint32_t>(std::min<uint64_t>(blocks, 1u << 20)), 1, in_block, memory_.at(operands[0]), memory_.at(out), what);
}

void CudaWorkMemory::scatter(const Op& op, std::span<const Address> operands, Address out) {
  const Operand &x = op.operands[0], &index = op.operands[1];
  const bool is_wide = op.type == Type::i64, is_narrow = op.type == Type::i8 || op.type == Type::i16;
  const uint64_t count = element_count(op.dims);
  const CUdeviceptr sums = is_narrow ? extra_.at() : memory_.at(out);
  ASSAY_CUDA_CALL(cuMemsetD8Async, sums, uint8_t{0}, count * (is_wide ? 8 : 4), stream_);
  const ScatteredSum what{x.dims[0], x.dims[1], code_of(x.type), code_of(index.type), is_wide};
  const uint64_t blocks = (element_count(x.dims) + 255) / 256;
  launch_named("scatter_rows", static_cast<uint32_t>(std::min<uint64_t>(blocks, 1u << 16)), 1, 256, memory_.at(operands[0]),
               memory_.at(operands[1]), sums, what);
  if (is_narrow)
    launch_named("narrow_sums", static_cast<uint32_t>((count + 255) / 256), 1, 256, sums, memory_.at(out), code_of(op.type), count);
}

}  // namespace assay::cuda
