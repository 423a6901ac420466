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

Hash read_root(const Context&, const Tree& tree) {
  Sha256State root;
  ASSAY_CUDA_CALL(cuMemcpyDtoH, root.h, tree.nodes + (tree_nodes(tree.count) - 1) * kNodeBytes, sizeof root.h);
  return hash_of(root);
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
    context.launch({"gather_openings", static_cast<uint32_t>(part.size()), 64}, leaves, tree.nodes, tree.count, list, scratch);
    ASSAY_CUDA_CALL(cuMemcpyDtoH, records.data(), scratch, part.size() * kRecordBytes);
    for (size_t i = 0; i < part.size(); ++i) {
      const uint8_t* record = records.data() + i * kRecordBytes;
      Opening opening{part[i], {record, record + 1024}, {}};
      const uint32_t length = path_length(part[i], tree.count);
      for (uint32_t p = 0; p < length; ++p) {
        Sha256State sibling;
        std::memcpy(sibling.h, record + 1024 + p * kNodeBytes, sizeof sibling.h);
        opening.path.push_back(hash_of(sibling));
      }
      openings.push_back(std::move(opening));
    }
  }
  return openings;
}

}  // namespace assay::cuda
