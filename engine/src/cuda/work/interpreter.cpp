// See interpreter.hpp.
#include "cuda/work/interpreter.hpp"

#include <algorithm>

#include "cuda/work/map_code.hpp"
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {

using namespace work;

Interpreter::Interpreter(std::shared_ptr<const Context> context, const Program& program) : context_(std::move(context)) {
  std::vector<uint8_t> all;
  uint32_t registers = 1;
  const uint64_t most_blocks = uint64_t{kInterpretBlocksPerUnit} * context_->units();
  for (const Phase phase : {Phase::init, Phase::step})
    for (const Op& op : program.ops(phase)) {
      Code& code = codes_.emplace_back();
      if (op.op != Operator::map) continue;
      const std::vector<uint8_t> one = encode_map(op);
      code = {all.size(), static_cast<uint32_t>(std::min((element_count(op.dims) + kInterpretThreads - 1) / kInterpretThreads, most_blocks))};
      all.insert(all.end(), one.begin(), one.end());
      registers = std::max(registers, op.code.registers());
    }
  if (all.empty()) return;
  code_ = Buffer(context_, all.size());
  ASSAY_CUDA_CALL(cuMemcpyHtoD, code_.at(), all.data(), all.size());
  registers_ = Buffer(context_, registers * 8 * kInterpretThreads * most_blocks);
}

void Interpreter::run(uint32_t number, std::span<const CUdeviceptr> operands, CUdeviceptr out, CUdeviceptr moment, CUstream stream) const {
  MapOperands at{};
  for (size_t i = 0; i < operands.size(); ++i) at.at[i] = reinterpret_cast<const void*>(operands[i]);
  context_->launch({"interpret_map", codes_[number].blocks, kInterpretThreads, 0, Where::main, 1, stream}, code_.at(codes_[number].at), at, out,
                   moment, registers_.at());
}

bool lacks_compiler(CUresult result) {
  // No binary for this card, invalid PTX, no compiler, its version, compiling switched off: CUresult of
  // cuda.h.
  static constexpr CUresult kReasons[] = {209, 218, 221, 222, 223};
  return std::ranges::find(kReasons, result) != std::end(kReasons);
}

}  // namespace assay::cuda
