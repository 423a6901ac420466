// The device code as its launchers see it: the embedded modules, one a .cu file, and their kernels' names.
#pragma once
#include <span>

namespace assay::cuda {

// By precision.
inline constexpr const char* kGenerate[] = {"generate_int8", "generate_fp8", "generate_fp16", "generate_bf16", "generate_tf32"};
inline constexpr const char* kMultiply[] = {"gemm_int8", "gemm_fp8", "gemm_fp16", "gemm_bf16", "gemm_tf32"};
inline constexpr const char* kWarpgroups[] = {"gemm_wgmma_int8", "gemm_wgmma_fp8", "gemm_wgmma_fp16", "gemm_wgmma_bf16",
                                              "gemm_wgmma_tf32"};
inline constexpr const char* kHash[] = {"hash_leaves", "hash_pairs", "hash_levels", "hash_top", "open_leaves"};
inline constexpr const char* kScalar[] = {"mix_leaves", "fma_fp32", "fma_fp64", "fma_int32"};
inline constexpr const char* kChase[] = {"chase", "hop_targets"};

struct KernelModule {
  const unsigned char* image = nullptr;  // a fat binary
  std::span<const char* const> kernels;
};

std::span<const KernelModule> kernel_modules();  // those of every card; empty in a build without nvcc
KernelModule warpgroup_module();                 // for compute capability 9.0 alone

}  // namespace assay::cuda
