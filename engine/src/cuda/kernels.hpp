// The device code as its launchers see it: the embedded modules, one a .cu file, and their kernels' names.
#pragma once
#include <span>

namespace assay::cuda {

// By precision.
inline constexpr const char* kGenerate[] = {"generate_int8", "generate_fp8", "generate_fp16", "generate_bf16", "generate_tf32"};
inline constexpr const char* kMultiply[] = {"gemm_int8", "gemm_fp8", "gemm_fp16", "gemm_bf16", "gemm_tf32"};
inline constexpr const char* kWarpgroups[] = {"gemm_wgmma_int8", "gemm_wgmma_fp8", "gemm_wgmma_fp16", "gemm_wgmma_bf16",
                                              "gemm_wgmma_tf32"};
inline constexpr const char* kHash[] = {"hash_leaves", "hash_pairs", "hash_levels", "hash_top", "open_leaves",
                                        "hash_leaves_of_all", "hash_levels_of_all", "hash_tops_of_all"};
inline constexpr const char* kScalar[] = {"mix_leaves", "fma_fp32", "fma_fp64", "fma_int32"};
inline constexpr const char* kChase[] = {"chase", "hop_targets"};
inline constexpr const char* kWork[] = {"split_planes", "multiply_plain", "reduce_rows", "scatter_rows", "narrow_sums"};
// Bytes of an element of B; tiles of 8 rows of A.
inline constexpr const char* kThin[] = {"thin_1_1", "thin_1_2", "thin_1_4", "thin_2_1", "thin_2_2", "thin_2_4"};
// Planes of A and of B, and whether the top one is signed.
inline constexpr const char* kLimbs[] = {"limb_1s_1s", "limb_1s_2s", "limb_2s_1s", "limb_2s_2s", "limb_narrow_2s_2s"};
inline constexpr const char* kUnsignedLimbs[] = {"limb_1s_2u", "limb_2u_1s", "limb_2s_2u", "limb_2u_2s", "limb_2u_2u"};

inline constexpr const char* kLimbsByMma[] = {"limb_mma_1s_1s", "limb_mma_1s_2s", "limb_mma_2s_1s", "limb_mma_2s_2s", "limb_mma_1s_2u",
                                              "limb_mma_2u_1s", "limb_mma_2s_2u", "limb_mma_2u_2s", "limb_mma_2u_2u"};

inline constexpr const char* kMsm[] = {"zk_digits",    "zk_small_digits", "zk_widest", "zk_count", "zk_scan", "zk_partition", "zk_sort",
                                       "zk_add_points", "zk_join",         "zk_weigh"};
inline constexpr const char* kArithmetic[] = {"zk_scalar_operations", "zk_coordinate_operations", "zk_point_operations"};
inline constexpr const char* kLists[] = {"zk_convert",    "zk_eq",        "zk_outer",  "zk_repeat",       "zk_dot",       "zk_dots", "zk_combine", "zk_add_up",
                                         "zk_fold_middle", "zk_add_pieces", "zk_step_sums", "zk_before", "zk_inverse_sums", "zk_quotients", "zk_add_times",
                                         "zk_horner",      "zk_divide"};
inline constexpr const char* kSums[] = {"zk_round_lookups", "zk_round_lookup", "zk_round_table", "zk_round_product", "zk_fold"};
inline constexpr const char* kSegment[] = {"zk_run_product", "zk_run_change", "zk_run_widen", "zk_run_labels", "zk_run_enter", "zk_run_take",
                                           "zk_run_loss",    "zk_run_back",   "zk_run_rest",  "zk_run_limb",   "zk_run_count"};
inline constexpr const char* kPowers[] = {"zk_powers", "zk_multiples"};
inline constexpr const char* kNtt[] = {"zk_ntt", "zk_reorder", "zk_times_powers", "zk_divide_out", "zk_cross_values", "zk_take_crossed"};
inline constexpr const char* kSecondGroup[] = {"zk_add_points_2", "zk_join_2", "zk_weigh_2", "zk_multiples_2"};

struct KernelModule {
  const unsigned char* image = nullptr;  // a fat binary
  std::span<const char* const> kernels;
};

std::span<const KernelModule> kernel_modules();  // those of every card; empty in a build without nvcc
KernelModule work_module();                      // of programs
KernelModule thin_module();
KernelModule limb_mma_module();
std::span<const KernelModule> proof_modules();
// For compute capability 9.0 alone.
KernelModule warpgroup_module();
std::span<const KernelModule> limb_modules();
// limb_wgmma.cu as PTX, with markers where its sums are given to maps.
const char* limb_text();

}  // namespace assay::cuda
