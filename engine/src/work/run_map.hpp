// `map` on the host, interpreted over blocks of elements: an instruction at a time, so that its loop is the
// compiler's to vectorise.
#pragma once
#include "work/run_op.hpp"

namespace assay::work {

void run_map(const Op& op, const void* const* operands, void* out, const Moment& moment, Part part);

}  // namespace assay::work
