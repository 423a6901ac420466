// The inner loops: the build compiles this file once for each instruction set, with ASSAY_ISA set to its
// name. Everything has internal linkage, and core/ is in a namespace of the set's own (core/portable.hpp).
#define ASSAY_CORE ASSAY_ISA
#include "kernels.hpp"

#include <string.h>

#include <type_traits>

#include "core/chase.hpp"
#include "core/entries.hpp"
#include "core/recurrence.hpp"
#include "vectors.hpp"

#define ASSAY_JOIN2(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN2(a, b)
#define ASSAY_TEXT2(a) #a
#define ASSAY_TEXT(a) ASSAY_TEXT2(a)

namespace {
using namespace assay;
#include "kernels_fma.inc"
#include "kernels_gemm.inc"
#include "kernels_exact.inc"
#include "kernels_lanes.inc"
#include "kernels_mix.inc"
}  // namespace

namespace assay_kernels {
extern const Kernels ASSAY_JOIN(kernels_, ASSAY_ISA);
const Kernels ASSAY_JOIN(kernels_, ASSAY_ISA) = {
    ASSAY_TEXT(ASSAY_ISA),
    {Dot8::mr, Dot8::nr, Dot8::kg, Dot8::entry_bytes, pack<Dot8>, Dot8::tile},
    {Dot16::mr, Dot16::nr, Dot16::kg, Dot16::entry_bytes, pack<Dot16>, Dot16::tile},
    {ExactDigits::mr, ExactDigits::nr, ExactDigits::kg, sizeof(ExactDigits::Entry), pack_exact<ExactDigits>, tile_exact<ExactDigits>},
    lane_kernels(),
    mix_leaves,
    hop_chains,
    run_lanes,
};
}  // namespace assay_kernels
