#include "cpu_work.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/work/exact_product.hpp"
#include "cpu/work/map_run.hpp"
#include "cpu/work/row_sums.hpp"
#include "engine_error.hpp"
#include "kept_memory.hpp"
#include "sha256_host.hpp"
#include "tree.hpp"
#include "work/plan.hpp"

namespace assay {
namespace {

using namespace work;
using assay_kernels::Kernels;

// Work of one piece of an op, in instructions run or products summed: long enough to be worth handing over.
constexpr uint64_t kPieceWork = 1 << 18;

// An op and what was worked out for it beforehand.
struct Ready {
  const Op* op;
  ExactProduct product{};
  MapPlan map{};
};

std::vector<Ready> make_ready(const CheckedProgram& checked) {
  const Program& program = checked.program;
  std::vector<Ready> found;
  for (const Phase phase : {Phase::init, Phase::step})
    for (size_t number = 0; number < program.ops(phase).size(); ++number) {
      const Op& op = program.ops(phase)[number];
      Ready ready{&op};
      if (op.op == Operator::matmul) ready.product = exact_product(program, phase, op);
      if (op.op == Operator::map) ready.map = plan_map(op, checked.registers(phase, number), phase, program.k);
      found.push_back(std::move(ready));
    }
  return found;
}

uint64_t room_for(const Kernels& kernels, const Program& program) {
  uint64_t most = 0;
  for (const Phase phase : {Phase::init, Phase::step})
    for (const Op& op : program.ops(phase))
      if (op.op == Operator::matmul) most = std::max(most, ExactRoom::bytes_for(kernels.exact, op, exact_product(program, phase, op)));
  return most;
}

class CpuWorkMemory : public WorkMemory {
 public:
  CpuWorkMemory(ThreadPool& pool, const Kernels& kernels, std::unique_ptr<HeldMemory> held, const CheckedProgram& checked, uint64_t bytes)
      : pool_(pool), kernels_(kernels), held_(std::move(held)), memory_(std::max<uint64_t>(bytes, 1)), ops_(make_ready(checked)),
        room_(room_for(kernels, checked.program)) {
    if (held_) take_pages(bytes);
  }

  void write(Address at, std::span<const uint8_t> bytes) override { std::memcpy(memory_.data() + at, bytes.data(), bytes.size()); }
  void read(Address at, std::span<uint8_t> bytes) override { std::memcpy(bytes.data(), memory_.data() + at, bytes.size()); }
  void clear(Address at, uint64_t bytes) override { std::memset(memory_.data() + at, 0, bytes); }
  void copy(Address from, Address to, uint64_t bytes) override { std::memcpy(memory_.data() + to, memory_.data() + from, bytes); }
  void finish() override {}

  void run(uint32_t number, std::span<const Address> operands, Address out, const Moment& moment) override {
    const Ready& ready = ops_[number];
    const Op& op = *ready.op;
    const void* from[kMostOperands];
    for (size_t i = 0; i < operands.size(); ++i) from[i] = memory_.data() + operands[i];
    void* to = memory_.data() + out;
    switch (op.op) {
      case Operator::matmul:
        if (!ready.product.is_plain) return multiply_exact(pool_, kernels_.exact, op, ready.product, from[0], from[1], to, room_);
        return by_ranges(op, op.operands[0].dims[2], 1, [&](Part part) { multiply_plain(op, from[0], from[1], to, part.first, part.end); });
      case Operator::map:
        return by_ranges(op, op.code.registers() + uint64_t{op.code.turns} * op.code.body.size(), ready.map.block,
                         [&](Part part) { run_planned_map(ready.map, kernels_.lanes, op, from, to, moment, part); });
      case Operator::reduce: return reduce_rows(pool_, kernels_.lanes, op, from[0], to);
      case Operator::scatter_add: return scatter_rows(pool_, op, from[0], from[1], to);
    }
  }

  Root hash(Address at, uint64_t bytes) override {
    const uint8_t* from = memory_.data() + at;
    const auto hashes = [&](uint64_t first, uint32_t count, Hash* out) {
      for (uint64_t leaf = first; leaf < first + count; ++leaf) {
        const uint64_t begin = leaf * 1024, size = std::min<uint64_t>(1024, bytes - begin);
        uint8_t last[1024] = {};
        if (size < 1024) std::memcpy(last, from + begin, size);
        out[leaf - first] = leaf_hash(size < 1024 ? last : from + begin);
      }
    };
    const std::atomic<bool> stop = false;
    const Hash root = ChunkedTree(pool_, (bytes + 1023) / 1024, kMaxChunkLog2, hashes, stop).root();
    Root found;
    static_assert(sizeof root == sizeof found);
    std::memcpy(found.data(), &root, sizeof found);
    return found;
  }

 private:
  // All of them at once: a host that has promised more than it has says so now, and not in the middle of a
  // run.
  void take_pages(uint64_t bytes) {
    constexpr uint64_t kPiece = 64 << 20;
    pool_.run((bytes + kPiece - 1) / kPiece, [&](uint64_t i) {
      std::memset(memory_.data() + i * kPiece, 0, std::min(kPiece, bytes - i * kPiece));
    });
    held_->touch_all();
  }

  // Ranges of the output, each a multiple of `block`; `work` is that of one element.
  void by_ranges(const Op& op, uint64_t work, uint64_t block, const std::function<void(Part)>& body) {
    const uint64_t count = element_count(op.dims), blocks = (count + block - 1) / block;
    const uint64_t grain = std::clamp<uint64_t>(kPieceWork / (work * block), 1, std::max<uint64_t>(1, blocks / (2 * pool_.threads()))) * block;
    share(pool_, (count + grain - 1) / grain, [&](uint64_t i) { body({i * grain, std::min(count, (i + 1) * grain)}); });
  }

  ThreadPool& pool_;
  const Kernels& kernels_;
  std::unique_ptr<HeldMemory> held_;  // before the memory: nothing is mapped that does not fit
  KeptMemory memory_;
  std::vector<Ready> ops_;
  ExactRoom room_;
};

}  // namespace

uint64_t CpuWork::extra_bytes(const CheckedProgram& checked, const MemoryPlan&) { return room_for(kernels_, checked.program); }

std::unique_ptr<WorkMemory> CpuWork::prepare(const CheckedProgram& checked, const MemoryPlan& plan) {
  try {
    std::unique_ptr<HeldMemory> held;
    if (ledger_) {
      const uint64_t bytes = plan.bytes + extra_bytes(checked, plan), free = ledger_->allocatable(device_);
      if (bytes > free)
        throw EngineError(ErrorCode::no_memory, "the program needs " + std::to_string(bytes) + " bytes, " + std::to_string(free) + " are free");
      held = std::make_unique<HeldMemory>(ledger_, device_, bytes);
    }
    return std::make_unique<CpuWorkMemory>(pool_, kernels_, std::move(held), checked, plan.bytes);
  } catch (const std::bad_alloc&) {
    throw EngineError(ErrorCode::no_memory, "no room for " + std::to_string(plan.bytes) + " bytes of a program");
  }
}

}  // namespace assay
