// A `map` of docs/work.md §3 as PTX, which the driver compiles for its card: no toolkit is needed on the host. Registers whose interval
// fits 32 bits are 32 bits wide. For checked programs only.
#pragma once
#include <string>
#include <vector>

#include "work/program.hpp"

namespace assay::cuda {

constexpr uint32_t kMapThreads = 256;

// Elements that a block of kMapThreads makes.
uint32_t map_elements_per_block(const work::Op& op);
// The entry is called `name`. Its parameters: out (u64), each operand (u64), segment, step, third word of rand's counter, key (u32 each).
std::string map_ptx(const work::Op& op, const std::vector<work::Interval>& registers, const std::string& name);
// Before entries: version and target.
std::string ptx_head();

}  // namespace assay::cuda
