// See kernels.hpp. Where there is an nvcc, the build says where the fat binaries lie (engine/CMakeLists.txt).
#include "kernels.hpp"

namespace assay::cuda {

#if defined(ASSAY_CUDA)
#define ASSAY_EMBED(NAME)                                                                                         \
  asm(".section .rodata\n.balign 64\n.global assay_" #NAME "\nassay_" #NAME ":\n.incbin \"" #NAME ".fatbin\"\n"  \
      ".byte 0\n.text\n");                                                                                        \
  extern "C" const unsigned char assay_##NAME[];
ASSAY_EMBED(arithmetic)
ASSAY_EMBED(chase)
ASSAY_EMBED(gemm_mma)
ASSAY_EMBED(gemm_wgmma)
ASSAY_EMBED(generate)
ASSAY_EMBED(hash)
ASSAY_EMBED(limb_mma)
ASSAY_EMBED(limb_text)
ASSAY_EMBED(limb_wgmma)
ASSAY_EMBED(limb_wgmma_unsigned)
ASSAY_EMBED(lists)
ASSAY_EMBED(msm)
ASSAY_EMBED(ntt)
ASSAY_EMBED(powers)
ASSAY_EMBED(scalar)
ASSAY_EMBED(second_group)
ASSAY_EMBED(segment)
ASSAY_EMBED(sums)
ASSAY_EMBED(thin_product)
ASSAY_EMBED(work)

std::span<const KernelModule> kernel_modules() {
  static constexpr KernelModule kModules[] = {
      {assay_gemm_mma, kMultiply}, {assay_generate, kGenerate}, {assay_hash, kHash}, {assay_scalar, kScalar},
      {assay_chase, kChase}};
  return kModules;
}
KernelModule warpgroup_module() { return {assay_gemm_wgmma, kWarpgroups}; }
KernelModule work_module() { return {assay_work, kWork}; }
KernelModule thin_module() { return {assay_thin_product, kThin}; }
std::span<const KernelModule> limb_modules() {
  static constexpr KernelModule kModules[] = {{assay_limb_wgmma, kLimbs}, {assay_limb_wgmma_unsigned, kUnsignedLimbs}};
  return kModules;
}
KernelModule limb_mma_module() { return {assay_limb_mma, kLimbsByMma}; }
const char* limb_text() { return reinterpret_cast<const char*>(assay_limb_text); }
std::span<const KernelModule> proof_modules() {
  static constexpr KernelModule kModules[] = {{assay_arithmetic, kArithmetic}, {assay_msm, kMsm}, {assay_powers, kPowers},
                                              {assay_lists, kLists},           {assay_segment, kSegment},     {assay_sums, kSums},
                                              {assay_ntt, kNtt},               {assay_second_group, kSecondGroup}};
  return kModules;
}
#else
std::span<const KernelModule> kernel_modules() { return {}; }
KernelModule warpgroup_module() { return {}; }
KernelModule work_module() { return {}; }
KernelModule thin_module() { return {}; }
std::span<const KernelModule> limb_modules() { return {}; }
KernelModule limb_mma_module() { return {}; }
const char* limb_text() { return ""; }
std::span<const KernelModule> proof_modules() { return {}; }
#endif

}  // namespace assay::cuda
