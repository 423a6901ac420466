// Merkle trees in device memory: building, the root, and openings. docs/hardware-proof.md §1.
// A tree of `count` leaves lies in a buffer of tree_bytes(count): levels one after the other, the root last.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "context.hpp"
#include "launch_shape.hpp"
#include "probe/probe_kernels.hpp"

namespace assay::cuda {

constexpr uint64_t kNodeBytes = 32;
constexpr uint64_t kRecordBytes = 2048;  // an opening on its way to the host: leaf, then room for 32 siblings
constexpr uint64_t kOpeningBytes = kRecordBytes + sizeof(ChunkAsk);  // and what is asked on the way in

uint64_t tree_nodes(uint64_t count);
inline uint64_t tree_bytes(uint64_t count) { return tree_nodes(count) * kNodeBytes; }

struct Tree {
  CUdeviceptr nodes;
  uint32_t count;  // of leaves, at least 1
};

// Hashes `count` leaves of 1 KiB into nodes `first`… of level 0.
void hash_leaves(const Context& context, const Tree& tree, uint32_t first, CUdeviceptr leaves, uint32_t count,
                 Where where = Where::main);
// All levels above level 0.
void hash_levels(const Context& context, const Tree& tree);

// The upper part of a finished tree, on the host: its levels from the roots of chunks on, the root last. With
// it an opening needs one chunk of leaves again, not the whole tree.
struct TreeTop {
  uint32_t count = 0, chunk_log2 = 0;  // leaves of the tree, and of a chunk at most
  std::vector<Sha256State> nodes;
  Hash root() const;
};
// Waits for the device. `chunk_log2` at most kChunkLog2.
TreeTop read_top(const Context& context, const Tree& tree, uint32_t chunk_log2 = kChunkLog2);
Hash read_root(const Context& context, const Tree& tree);

// Device memory that openings pass through: at least kOpeningBytes, and `most` of them at a time.
struct OpeningRoom {
  CUdeviceptr at;
  uint64_t bytes;
  size_t most = 1024;
};
// Where the leaves first … first + count lie, which are a chunk; made again for it where they do not.
// `place`: which of the openings that are under way at a time it is for.
using ChunkAt = std::function<CUdeviceptr(uint32_t first, uint32_t count, size_t place)>;
std::vector<Opening> open_leaves(const Context& context, const TreeTop& top, std::span<const uint32_t> indices,
                                 const OpeningRoom& room, const ChunkAt& chunk_at);

}  // namespace assay::cuda
