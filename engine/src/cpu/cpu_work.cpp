#include "cpu_work.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/work/exact_product.hpp"
#include "engine_error.hpp"
#include "work/plan.hpp"
#include "kept_memory.hpp"
#include "sha256_host.hpp"
#include "tree.hpp"

namespace assay {
namespace {

using namespace work;
using assay_kernels::Kernels;

// Work of one piece of an op, in elements computed or products summed: long enough to be worth handing over.
constexpr uint64_t kPieceWork = 1 << 16;

// An op and what was worked out for it beforehand.
struct Ready {
  const Op* op;
  ExactProduct product{};
};

std::vector<Ready> make_ready(const Program& program) {
  std::vector<Ready> found;
  for (const Phase phase : {Phase::init, Phase::step})
    for (const Op& op : program.ops(phase)) {
      Ready ready{&op};
      if (op.op == Operator::matmul)
        ready.product = exact_product(op, interval_of(program, phase, op.operands[0]), interval_of(program, phase, op.operands[1]));
      found.push_back(std::move(ready));
    }
  return found;
}

uint64_t room_for(const Kernels& kernels, const std::vector<Ready>& all) {
  uint64_t most = 0;
  for (const Ready& ready : all)
    if (ready.op->op == Operator::matmul) most = std::max(most, ExactRoom::bytes_for(kernels.exact, *ready.op, ready.product));
  return most;
}

class CpuWorkMemory : public WorkMemory {
 public:
  CpuWorkMemory(ThreadPool& pool, const Kernels& kernels, const CheckedProgram& checked, uint64_t bytes)
      : pool_(pool), kernels_(kernels), memory_(std::max<uint64_t>(bytes, 1)), ops_(make_ready(checked.program)), room_(room_for(kernels, ops_)) {}

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
    if (op.op == Operator::matmul && !ready.product.is_plain)
      return multiply_exact(pool_, kernels_.exact, op, ready.product, from[0], from[1], memory_.data() + out, room_);
    const uint64_t count = element_count(op.dims), grain = grain_of(op), pieces_grain = piece_of(op, grain);
    pool_.run((count + pieces_grain - 1) / pieces_grain, [&](uint64_t i) {
      const uint64_t first = i * pieces_grain;
      run_op(op, from, memory_.data() + out, moment, {first, std::min(count, first + pieces_grain)});
    });
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
  // Elements of a piece, a multiple of `grain`.
  uint64_t piece_of(const Op& op, uint64_t grain) const {
    uint64_t work = 1;
    if (op.op == Operator::matmul) work = op.operands[0].dims[2];
    if (op.op == Operator::reduce) work = op.operands[0].dims[1];
    if (op.op == Operator::map) work = op.code.registers() + uint64_t{op.code.turns} * op.code.body.size();
    // Every thread reads all indices: as many pieces as there are threads, no more.
    if (op.op == Operator::scatter_add) return (op.dims[0] + pool_.threads() - 1) / pool_.threads() * grain;
    return std::max<uint64_t>(grain, kPieceWork / work);
  }

  ThreadPool& pool_;
  const Kernels& kernels_;
  KeptMemory memory_;
  std::vector<Ready> ops_;
  ExactRoom room_;
};

}  // namespace

uint64_t CpuWork::extra_bytes(const CheckedProgram& checked, const MemoryPlan&) { return room_for(kernels_, make_ready(checked.program)); }

std::unique_ptr<WorkMemory> CpuWork::prepare(const CheckedProgram& checked, const MemoryPlan& plan) {
  try {
    return std::make_unique<CpuWorkMemory>(pool_, kernels_, checked, plan.bytes);
  } catch (const std::bad_alloc&) {
    throw EngineError(ErrorCode::no_memory, "no room for " + std::to_string(plan.bytes) + " bytes of a program");
  }
}

}  // namespace assay
