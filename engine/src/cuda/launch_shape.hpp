// What the kernels and their launcher (cuda_device.cpp) agree on: tile shapes of products, batches of a
// stream, parts of a chase. Lengths along K are in bytes: so counted, every precision's fragments have the
// same layout.
#pragma once
#include <cstdint>

#include "core/chase.hpp"
#include "core/entries.hpp"
#include "core/sha256.hpp"

namespace assay::cuda {

constexpr uint32_t kTileM = 128;
constexpr uint32_t kTileKBytes = 64;
constexpr uint32_t kGemmThreads = 256;
// Tiles are walked in bands of so many tile rows: blocks that run together then share rows of A and B in L2.
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

// `compute`: major*10 + minor. sm_75 has 64 KiB of shared memory, no cp.async; fp8 two sets of sums.
ASSAY_HD constexpr TileShape tile_shape(Precision p, uint32_t compute) {
  if (compute < 80) return {128, 2};
  if (p == Precision::fp8) return {128, 4};
  return {256, 4};
}

ASSAY_HD constexpr uint32_t entry_bytes(Precision p) {
  if (p == Precision::int8 || p == Precision::fp8) return 1;
  return p == Precision::tf32 ? 4 : 2;
}

// The same for gemm_wgmma.cu (sm_90a): wider slices, as much of the 227 KiB as helps.
constexpr uint32_t kWarpgroupKBytes = 128;
constexpr uint32_t kWarpgroupThreads = 384;

// The driver's opaque description of a matrix in memory (cuTensorMapEncodeTiled).
struct alignas(64) TensorMap {
  uint64_t words[16];
};

constexpr uint32_t kWarpgroupTileN = 256;
constexpr uint32_t kWarpgroupStages = 4;
// 1024 more to start at a multiple of 1024.
constexpr uint32_t kWarpgroupSharedBytes = kWarpgroupStages * (kTileM + kWarpgroupTileN) * kWarpgroupKBytes + 1024;
// A block makes two tiles side by side, one after the other: they hold 128 whole leaves.
constexpr uint32_t kPairN = 2 * kWarpgroupTileN;
// Blocks that make tile after tile drift apart, and when they no longer read the same rows together L2 cannot
// serve them: at n = 16384 in bf16 28 GB come from memory instead of 10. So they wait for each other after
// this much of K, about every 0.8 ms.
constexpr uint32_t kMeetKBytes = 128 << 10;
// Below this K leaves are not hashed beside the products: a pair is made faster than its leaves are hashed.
constexpr uint32_t kHashKBytes = 8 << 10;

// Which pairs of tiles one launch makes: first … end, and which of them it hashes: first … hash_end. `met`:
// what the blocks' meter says at the start.
struct PairRange {
  uint32_t first, end, hash_end, met;
};
// Blocks wait for each other before every so many tiles, as long as all blocks have work.
ASSAY_HD constexpr uint32_t tiles_between_meetings(uint32_t k_bytes) { return k_bytes < kMeetKBytes / 2 ? kMeetKBytes / k_bytes & ~1u : 2; }
ASSAY_HD constexpr uint32_t meetings(uint32_t pairs, uint32_t blocks, uint32_t k_bytes) {
  const uint32_t common = 2 * (pairs / blocks);
  return common == 0 ? 0 : (common - 1) / tiles_between_meetings(k_bytes);
}

// A fp8 partial sum stays in the tensor core's accumulator for this many bytes of K: 256 products of at most
// 8*8 reach 2^14, which is the last value that Hopper's fp8 accumulator is sure to hold exactly.
constexpr uint32_t kFp8PromoteBytes = 256;
// On Hopper's own path the same accumulator is left alone for 4096 of K. Entries there are drawn, not chosen:
// a product of two has mean 0.001 and deviation 24.16, and Chernoff's bound with its exact distribution
// (Doob's inequality makes it one for all prefixes of the sum at once) gives P(a part of 4096 ever passes
// 2^14) <= 2 * 10^-24.36. A card filled with 141 GB of u16 has 7 * 10^10 sums of at most 16 parts (K =
// 65536): below 10^-12 that any of them is off, a quarter of it at K = 16384. Parts of 8192: 10^-12.2 each.
constexpr uint32_t kFp8PartBytes = 4096;

// Leaves that are hashed again to open one of them: the levels from such chunks' roots up are kept of every
// tree. A block of threads hashes them in 40 µs on an H200, and what is kept is 64 KiB of a tree of 2^19
// leaves.
constexpr uint32_t kChunkLog2 = 9, kChunkLeaves = 1u << kChunkLog2;
struct ChunkAsk {
  uint64_t leaves;     // where the chunk's first leaf lies
  uint32_t width, at;  // leaves of the chunk, and which of them is opened
};

// One of many trees that are made at once: leaves, the level that is at work, how many nodes it has, and the
// first block or thread of it.
struct TreeWork {
  uint64_t leaves, level;
  uint32_t count, first;
};

// Slots of a stream that one launch reads and one hashes: 8 GiB of 16384 × 16384 products, 2 ms on an H200.
constexpr uint32_t kSlotsPerBatch = 16;
struct SlotBatch {
  uint64_t address[kSlotsPerBatch];
};

// Of `chase`: a warp for each chain and one that hashes.
constexpr uint32_t kChaseThreads = 32 * (kChains + 1);
constexpr uint32_t kChaseLevels = 16;
// Addresses of up to so many rounds (2 TB of 16384 × 16384 products) are read from shared memory.
constexpr uint32_t kNearRounds = 4096;
// The states that hashing starts from, and the nonce in SHA-256's order.
struct ChaseTags {
  Sha256State leaf, node, chase;
  uint32_t nonce[8];
};
// What one launch leaves to the next.
struct ChaseCarried {
  Label start;  // of the next interval
  uint32_t lefts[kChaseLevels][8];
};

}  // namespace assay::cuda
