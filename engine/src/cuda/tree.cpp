// See tree.hpp.
#include "tree.hpp"

#include <algorithm>
#include <cstring>

namespace assay::cuda {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kTopCount = 128;  // from here on one block finishes the tree

uint32_t blocks_for(uint32_t items) { return (items + kThreads - 1) / kThreads; }

void store_be32(uint8_t* p, uint32_t x) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(x >> (24 - 8 * i));
}

const Sha256State& node_midstate() {
  static const Sha256State state = tag_midstate("assay/node/1");
  return state;
}

Hash hash_from_words(const uint32_t words[8]) {
  Hash hash;
  for (int i = 0; i < 8; ++i) store_be32(hash.b + 4 * i, words[i]);
  return hash;
}

uint32_t path_length(uint32_t index, uint32_t count) {
  uint32_t length = 0;
  for (; count > 1; index /= 2, count = (count + 1) / 2) length += (index ^ 1) < count ? 1 : 0;
  return length;
}

}  // namespace

Sha256State tag_midstate(const char* tag) {
  uint32_t block[16] = {};
  uint8_t bytes[64] = {};
  const size_t length = std::strlen(tag);
  std::memcpy(bytes, tag, length);
  bytes[length] = 0x80;
  for (int i = 0; i < 16; ++i) block[i] = byte_swap32(load_le32(bytes + 4 * i));
  block[15] = static_cast<uint32_t>(8 * length);
  Sha256State inner = sha256_initial();
  sha256_compress(inner, block);
  for (int i = 0; i < 16; ++i) block[i] = inner.h[i & 7];
  Sha256State state = sha256_initial();
  sha256_compress(state, block);
  return state;
}

const Sha256State& leaf_midstate() {
  static const Sha256State state = tag_midstate("assay/leaf/1");
  return state;
}

uint64_t tree_nodes(uint64_t count) {
  uint64_t nodes = count;
  while (count > 1) nodes += count = (count + 1) / 2;
  return nodes;
}

void hash_leaves(const Context& context, const Tree& tree, uint32_t first, CUdeviceptr leaves, uint32_t count) {
  context.launch("hash_leaves", blocks_for(count), kThreads, 0, leaves, count, leaf_midstate(),
                 tree.nodes + first * kNodeBytes);
}

void hash_leaves_aside(const Context& context, const Tree& tree, uint32_t first, CUdeviceptr leaves, uint32_t count) {
  context.launch_aside("hash_leaves", blocks_for(count), kThreads, 0, leaves, count, leaf_midstate(),
                       tree.nodes + first * kNodeBytes);
}

void hash_levels(const Context& context, const Tree& tree) {
  CUdeviceptr level = tree.nodes;
  uint32_t count = tree.count;
  while (count > kTopCount) {
    context.launch("hash_levels", blocks_for((count + 1) / 2), kThreads, 0, level, count, node_midstate());
    for (int made = 0; made < 3; ++made, count = (count + 1) / 2) level += count * kNodeBytes;
  }
  if (count > 1) context.launch("hash_top", 1, 512, 0, level, count, node_midstate());
}

Hash read_root(const Context&, const Tree& tree) {
  uint32_t words[8];
  ASSAY_CUDA_CALL(cuMemcpyDtoH, words, tree.nodes + (tree_nodes(tree.count) - 1) * kNodeBytes, sizeof words);
  return hash_from_words(words);
}

std::vector<Opening> open_tree(const Context& context, const Tree& tree, CUdeviceptr leaves, std::span<const uint32_t> indices,
                               CUdeviceptr scratch, uint64_t scratch_bytes, const FillLeaf& fill) {
  for (const uint32_t index : indices)
    if (index >= tree.count) throw EngineError(ErrorCode::bad_request, "there is no leaf " + std::to_string(index));
  const size_t batch = static_cast<size_t>(std::min<uint64_t>(scratch_bytes / kOpeningBytes, 1024));
  std::vector<uint8_t> records(std::min(batch, indices.size()) * kRecordBytes);
  std::vector<Opening> openings;
  openings.reserve(indices.size());
  for (size_t from = 0; from < indices.size(); from += batch) {
    const std::span<const uint32_t> part = indices.subspan(from, std::min(batch, indices.size() - from));
    const CUdeviceptr list = scratch + batch * kRecordBytes;
    if (leaves == 0)
      for (size_t i = 0; i < part.size(); ++i) fill(part[i], scratch + i * kRecordBytes);
    ASSAY_CUDA_CALL(cuMemcpyHtoD, list, part.data(), part.size_bytes());
    context.launch("gather_openings", static_cast<uint32_t>(part.size()), 64, 0, leaves, tree.nodes, tree.count, list, scratch);
    ASSAY_CUDA_CALL(cuMemcpyDtoH, records.data(), scratch, part.size() * kRecordBytes);
    for (size_t i = 0; i < part.size(); ++i) {
      const uint8_t* record = records.data() + i * kRecordBytes;
      Opening opening{part[i], {record, record + 1024}, {}};
      const uint32_t length = path_length(part[i], tree.count);
      for (uint32_t p = 0; p < length; ++p) {
        uint32_t words[8];
        std::memcpy(words, record + 1024 + p * kNodeBytes, sizeof words);
        opening.path.push_back(hash_from_words(words));
      }
      openings.push_back(std::move(opening));
    }
  }
  return openings;
}

}  // namespace assay::cuda
