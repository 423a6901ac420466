// See tree.hpp.
#include "tree.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/sha256_host.hpp"

namespace assay::cuda {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kTopCount = 128;  // from here on one block finishes the tree

uint32_t blocks_for(uint32_t items) { return (items + kThreads - 1) / kThreads; }

uint32_t path_length(uint32_t index, uint32_t count) {
  uint32_t length = 0;
  for (; count > 1; index /= 2, count = (count + 1) / 2) length += (index ^ 1) < count ? 1 : 0;
  return length;
}

// What a record holds, and the siblings above its chunk.
Opening opening_of(const uint8_t* record, const ChunkAsk& ask, const TreeTop& top, uint32_t index) {
  Opening opening{index, {record, record + 1024}, {}};
  const uint32_t below = path_length(ask.at, ask.width);
  for (uint32_t p = 0; p < below; ++p) {
    Sha256State sibling;
    std::memcpy(sibling.h, record + 1024 + p * kNodeBytes, sizeof sibling.h);
    opening.path.push_back(hash_of(sibling));
  }
  const Sha256State* level = top.nodes.data();
  uint32_t at = index >> top.chunk_log2, count = ((top.count - 1) >> top.chunk_log2) + 1;
  for (; count > 1; level += count, count = (count + 1) / 2, at /= 2)
    if ((at ^ 1) < count) opening.path.push_back(hash_of(level[at ^ 1]));
  return opening;
}

}  // namespace

uint64_t tree_nodes(uint64_t count) {
  uint64_t nodes = count;
  while (count > 1) nodes += count = (count + 1) / 2;
  return nodes;
}

void hash_leaves(const Context& context, const Tree& tree, uint32_t first, CUdeviceptr leaves, uint32_t count, Where where) {
  context.launch({"hash_leaves", blocks_for(count), kThreads, 0, where}, leaves, count, tag_midstate(Tag::leaf),
                 tree.nodes + first * kNodeBytes);
}

void hash_levels(const Context& context, const Tree& tree) {
  CUdeviceptr level = tree.nodes;
  uint32_t count = tree.count;
  while (count > kTopCount) {
    context.launch({"hash_levels", blocks_for((count + 1) / 2), kThreads}, level, count, tag_midstate(Tag::node));
    for (int made = 0; made < 3; ++made, count = (count + 1) / 2) level += count * kNodeBytes;
  }
  if (count > 1) context.launch({"hash_top", 1, 512}, level, count, tag_midstate(Tag::node));
}

TreeTop read_top(const Context&, const Tree& tree, uint32_t chunk_log2) {
  uint32_t level = tree.count;
  CUdeviceptr at = tree.nodes;
  for (uint32_t i = 0; i < chunk_log2 && level > 1; ++i, level = (level + 1) / 2) at += level * kNodeBytes;
  TreeTop top{tree.count, chunk_log2, std::vector<Sha256State>(tree_nodes(level))};
  ASSAY_CUDA_CALL(cuMemcpyDtoH, top.nodes.data(), at, top.nodes.size() * kNodeBytes);
  return top;
}

Hash TreeTop::root() const { return hash_of(nodes.back()); }

Hash read_root(const Context&, const Tree& tree) {
  Sha256State root;
  ASSAY_CUDA_CALL(cuMemcpyDtoH, root.h, tree.nodes + (tree_nodes(tree.count) - 1) * kNodeBytes, sizeof root.h);
  return hash_of(root);
}

std::vector<Opening> open_leaves(const Context& context, const TreeTop& top, std::span<const uint32_t> indices,
                                 const OpeningRoom& room, const ChunkAt& chunk_at) {
  for (const uint32_t index : indices)
    if (index >= top.count) throw EngineError(ErrorCode::bad_request, "there is no leaf " + std::to_string(index));
  const size_t batch = static_cast<size_t>(std::min<uint64_t>(room.bytes / kOpeningBytes, std::min(room.most, indices.size())));
  std::vector<uint8_t> records(batch * kRecordBytes);
  std::vector<Opening> openings;
  openings.reserve(indices.size());
  for (size_t from = 0; from < indices.size(); from += batch) {
    const std::span<const uint32_t> part = indices.subspan(from, std::min(batch, indices.size() - from));
    std::vector<ChunkAsk> asks;
    for (const uint32_t index : part) {
      const uint32_t first = index >> top.chunk_log2 << top.chunk_log2, width = std::min(1u << top.chunk_log2, top.count - first);
      asks.push_back({chunk_at(first, width, asks.size()), width, index - first});
    }
    const CUdeviceptr list = room.at + batch * kRecordBytes;
    ASSAY_CUDA_CALL(cuMemcpyHtoD, list, asks.data(), asks.size() * sizeof(ChunkAsk));
    context.launch({"open_leaves", static_cast<uint32_t>(part.size()), kChunkLeaves}, list, tag_midstate(Tag::leaf),
                   tag_midstate(Tag::node), room.at);
    ASSAY_CUDA_CALL(cuMemcpyDtoH, records.data(), room.at, part.size() * kRecordBytes);
    for (size_t i = 0; i < part.size(); ++i) openings.push_back(opening_of(records.data() + i * kRecordBytes, asks[i], top, part[i]));
  }
  return openings;
}

}  // namespace assay::cuda
