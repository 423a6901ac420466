// Merkle trees in device memory: building, the root, and openings. docs/hardware-proof.md §1.
// A tree of `count` leaves lies in a buffer of tree_bytes(count): levels one after the other, the root last.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "context.hpp"
#include "probe/probe_kernels.hpp"

namespace assay::cuda {

constexpr uint64_t kNodeBytes = 32;
constexpr uint64_t kRecordBytes = 2048;      // an opening on its way to the host: leaf, then room for 32 siblings
constexpr uint64_t kOpeningBytes = kRecordBytes + 4;  // and its index on the way in

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
// Waits for the device.
Hash read_root(const Context& context, const Tree& tree);

// Openings of a finished tree. `scratch` holds at least kOpeningBytes. Leaves are copied from `leaves` in
// device memory, or, when that is 0, written by `fill(index, where)` before the siblings are gathered.
using FillLeaf = std::function<void(uint32_t index, CUdeviceptr where)>;
std::vector<Opening> open_tree(const Context& context, const Tree& tree, CUdeviceptr leaves, std::span<const uint32_t> indices,
                               CUdeviceptr scratch, uint64_t scratch_bytes, const FillLeaf& fill);

}  // namespace assay::cuda
