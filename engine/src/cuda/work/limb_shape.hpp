// What the kernels of exact products and their launcher (limb_product.cpp) agree on. A product of wide
// integers is a sum of products of bytes: an operand is split into planes of bytes, the top one signed, and
// one launch multiplies a group of one or two planes of each operand.
#pragma once
#include <cstdint>

#include "cuda/launch_shape.hpp"

namespace assay::cuda {

constexpr uint32_t kLimbTileM = 128, kLimbTileK = 128, kLimbThreads = 384;
// Tensor cores sum in 32 bits: a launch covers as much of K as surely fits. Two planes of 255·255 meet in the
// middle sum.
constexpr uint32_t kLimbChunk = 32768, kLimbChunkUnsigned = 16384;

// Columns of a tile; narrow ones for matrices of few columns, like the heads of attention.
constexpr uint32_t kLimbNarrowN = 64;
ASSAY_HD constexpr uint32_t limb_tile_n(uint32_t a_planes, uint32_t b_planes) { return a_planes + b_planes == 4 ? 128 : 192; }
ASSAY_HD constexpr uint32_t limb_stage_bytes(uint32_t a_planes, uint32_t b_planes, uint32_t tile_n) {
  return kLimbTileK * (a_planes * kLimbTileM + b_planes * tile_n);
}
ASSAY_HD constexpr uint32_t limb_stages(uint32_t a_planes, uint32_t b_planes, uint32_t tile_n) {
  const uint32_t stages = 225 * 1024 / limb_stage_bytes(a_planes, b_planes, tile_n);
  return stages < 6 ? stages : 6;
}
// 1024 more to start at a multiple of 1024.
ASSAY_HD constexpr uint32_t limb_shared_bytes(uint32_t a_planes, uint32_t b_planes, uint32_t tile_n) {
  return limb_stages(a_planes, b_planes, tile_n) * limb_stage_bytes(a_planes, b_planes, tile_n) + 1024;
}

// By mma.sync: 8 warps, each with 128 / warps_m rows and 8 · tiles_n columns of a tile, as many sums as
// registers hold.
struct LimbMmaShape {
  uint32_t warps_m, warps_n, tiles_n, stages;
  ASSAY_HD constexpr uint32_t n() const { return 8 * tiles_n * warps_n; }
};
// `compute`: major*10 + minor. sm_75 has 64 KiB of shared memory and no cp.async; consumer cards later have
// 99 KiB.
ASSAY_HD constexpr LimbMmaShape limb_mma_shape(uint32_t a_planes, uint32_t b_planes, uint32_t compute) {
  const bool is_old = compute < 80;
  if (a_planes + b_planes == 2) return {2, 4, 8, is_old ? 2u : 4u};
  if (a_planes + b_planes == 3) return {2, 4, 4, is_old ? 2u : 4u};
  return {4, 2, 4, is_old ? 2u : 4u};
}
ASSAY_HD constexpr uint32_t limb_mma_shared_bytes(uint32_t a_planes, uint32_t b_planes, uint32_t compute) {
  const LimbMmaShape shape = limb_mma_shape(a_planes, b_planes, compute);
  const uint32_t stages = shape.stages * (a_planes * kLimbTileM + b_planes * shape.n()) * kTileKBytes;
  const uint32_t epilogue = 8 * 16 * 8 * shape.tiles_n * 8;  // 16 rows of each warp's sums in 64 bits
  return stages > epilogue ? stages : epilogue;
}

// Planes of a group, the higher one first; the second is unused where a group has one.
struct LimbMaps {
  TensorMap a[2], b[2];
};
struct LimbPlanes {
  const uint8_t *a[2], *b[2];
  uint64_t pitch;  // bytes from one row to the next, a multiple of 16
};
struct LimbProduct {
  uint32_t batch, m, n, k_first, k_end;
  uint32_t k_part;  // blocks share K by parts of so much, a multiple of 128, and then add to what is there
  uint32_t a_share, b_share;  // how many batches of the output read one of the operand
  uint32_t shift;             // the product counts 2^shift
  uint32_t adds;              // to what is there; else it replaces it
  uint32_t is_wide;           // out is i64, else i32
  // Of wgmma: the two blocks of a cluster take tiles of rows one after the other through all batches, where a
  // batch has an odd number of them; else they lie one below the other and share what they read of B.
  uint32_t apart;
  // Of wgmma: out has the lower words of all sums, then a byte of each above them, 128 for 0
  // (ptx/kernel_ptx.hpp).
  uint32_t packs;
};
// What maps read and write that run on a product's sums (product_ptx.cpp): the moment's address, then theirs.
constexpr uint32_t kLimbPointers = 24;
struct LimbPointers {
  uint64_t at[kLimbPointers];
};
ASSAY_HD constexpr uint32_t limb_parts(const LimbProduct& what) { return (what.k_end - what.k_first + what.k_part - 1) / what.k_part; }

// Pairs of row tiles: of a batch, or of all of them where the two are apart.
ASSAY_HD constexpr uint32_t limb_row_pairs(const LimbProduct& what) {
  const uint32_t tall = (what.m + kLimbTileM - 1) / kLimbTileM;
  return ((what.apart ? what.batch * tall : tall) + 1) / 2;
}

}  // namespace assay::cuda
