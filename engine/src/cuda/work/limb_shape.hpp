// What the kernels of exact products and their launcher agree on. A product of wide integers is a sum of products of bytes: an operand is
// split into planes of bytes, the top one signed, and one launch multiplies a group of one or two planes of each operand.
#pragma once
#include <cstdint>

#include "cuda/launch_shape.hpp"

namespace assay::cuda {

constexpr uint32_t kLimbTileM = 128, kLimbTileK = 128, kLimbThreads = 384;
// Tensor cores sum in 32 bits: a launch covers as much of K as surely fits. Two planes of 255·255 meet in the middle sum.
constexpr uint32_t kLimbChunk = 32768, kLimbChunkUnsigned = 16384;

ASSAY_HD constexpr uint32_t limb_tile_n(uint32_t a_planes, uint32_t b_planes) { return a_planes + b_planes == 4 ? 128 : 192; }
ASSAY_HD constexpr uint32_t limb_stage_bytes(uint32_t a_planes, uint32_t b_planes) {
  return kLimbTileK * (a_planes * kLimbTileM + b_planes * limb_tile_n(a_planes, b_planes));
}
ASSAY_HD constexpr uint32_t limb_stages(uint32_t a_planes, uint32_t b_planes) {
  const uint32_t stages = 225 * 1024 / limb_stage_bytes(a_planes, b_planes);
  return stages < 6 ? stages : 6;
}
// 1024 more to start at a multiple of 1024.
ASSAY_HD constexpr uint32_t limb_shared_bytes(uint32_t a_planes, uint32_t b_planes) {
  return limb_stages(a_planes, b_planes) * limb_stage_bytes(a_planes, b_planes) + 1024;
}

// Planes of a group, the higher one first; the second is unused where a group has one.
struct LimbMaps {
  TensorMap a[2], b[2];
};
struct LimbProduct {
  uint32_t batch, m, n, k_first, k_end;
  uint32_t a_share, b_share;  // how many batches of the output read one of the operand
  uint32_t shift;             // the product counts 2^shift
  uint32_t adds;              // to what is there; else it replaces it
  uint32_t is_wide;           // out is i64, else i32
};

}  // namespace assay::cuda
