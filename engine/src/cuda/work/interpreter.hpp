// Maps of a program on a card without PTX: their code as numbers (map_code.hpp) in its memory, run by
// interpret.cu. The fallback where the driver compiles nothing, and the twin that tests compare compiled maps
// with.
#pragma once
#include "cuda/context.hpp"
#include "work/program.hpp"

namespace assay::cuda {

class Interpreter {
 public:
  // Throws no_memory. Ops are numbered through: those of init, then those of step.
  Interpreter(std::shared_ptr<const Context> context, const work::Program& program);
  // `moment`: segment, step, third word of rand's counter, key, 32 bits each.
  void run(uint32_t number, std::span<const CUdeviceptr> operands, CUdeviceptr out, CUdeviceptr moment, CUstream stream) const;

 private:
  struct Code {
    uint64_t at = 0;
    uint32_t blocks = 0;
  };
  std::shared_ptr<const Context> context_;
  std::vector<Code> codes_;  // by op
  Buffer code_, registers_;
};

// Whether a call failed because the driver compiles no PTX, or not this.
bool lacks_compiler(CUresult result);

}  // namespace assay::cuda
