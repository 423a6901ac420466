// What the kernels and their launcher (cuda_device.cpp) must agree on: the tile shapes of the products, the batches of a stream.
// Lengths along K are in bytes, because every precision's fragments have the same layout counted in bytes.
#pragma once
#include <cstdint>

#include "core/entries.hpp"

namespace assay::cuda {

constexpr uint32_t kTileM = 128;
constexpr uint32_t kTileKBytes = 64;
constexpr uint32_t kGemmThreads = 256;
constexpr uint32_t kMaxTileN = 256;
// Tiles are walked in bands of this many tile rows, so that the blocks running together share rows of A and B in L2.
constexpr uint32_t kRasterRows = 16;

struct TileShape {
  uint32_t n;       // columns of C a block makes
  uint32_t stages;  // K slices in shared memory at once
  // The epilogue reuses the memory of the slices; rows are padded by 16 bytes against bank conflicts.
  ASSAY_HD constexpr uint32_t epilogue_row_bytes() const { return 2 * n + 16; }
  ASSAY_HD constexpr uint32_t shared_bytes() const {
    const uint32_t slices = stages * (kTileM + n) * kTileKBytes, epilogue = kTileM * epilogue_row_bytes();
    return slices > epilogue ? slices : epilogue;
  }
};

// `compute` is major*10 + minor. sm_75 has 64 KiB of shared memory and no cp.async; fp8 needs a second set of accumulators.
ASSAY_HD constexpr TileShape tile_shape(Precision p, uint32_t compute) {
  if (compute < 80) return {128, 2};
  if (p == Precision::fp8) return {128, 4};
  return {256, 4};
}

ASSAY_HD constexpr uint32_t entry_bytes(Precision p) {
  if (p == Precision::int8 || p == Precision::fp8) return 1;
  return p == Precision::tf32 ? 4 : 2;
}

// The same for gemm_wgmma.cuh (sm_90a): wider slices, as much of the 227 KiB as helps.
constexpr uint32_t kWarpgroupKBytes = 128;
constexpr uint32_t kWarpgroupThreads = 384;

// The driver's opaque description of a matrix in memory (cuTensorMapEncodeTiled).
struct alignas(64) TensorMap {
  uint64_t words[16];
};

struct WarpgroupShape {
  uint32_t n, stages;
  // 1024 more to start at a multiple of 1024; the epilogue's padded rows fit in the slices.
  ASSAY_HD constexpr uint32_t shared_bytes() const { return stages * (kTileM + n) * kWarpgroupKBytes + 1024; }
};

ASSAY_HD constexpr WarpgroupShape warpgroup_shape(Precision p) {
  return p == Precision::fp8 ? WarpgroupShape{128, 6} : WarpgroupShape{256, 4};
}

// A fp8 partial sum stays in the tensor core's accumulator for this many bytes of K: 256 products of at most 8*8 reach 2^14,
// which is the last value that Hopper's fp8 accumulator is sure to hold exactly.
constexpr uint32_t kFp8PromoteBytes = 256;

// Slots of a stream read by one launch, whose digests are hashed together: 8 GiB of 16384 × 16384 products, 2 ms on an H200.
constexpr uint32_t kSlotsPerBatch = 16;
struct SlotBatch {
  uint64_t address[kSlotsPerBatch];
};

}  // namespace assay::cuda
