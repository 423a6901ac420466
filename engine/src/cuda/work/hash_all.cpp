#include "cuda/work/hash_all.hpp"

#include <cstring>

#include "cpu/sha256_host.hpp"

namespace assay::cuda {
namespace {

using namespace work;

constexpr uint32_t kThreads = 128, kTopCount = 128;

}  // namespace

uint64_t HashAll::bytes_for(std::span<const Stretch> all) {
  uint64_t bytes = 0;
  for (const Stretch& one : all) bytes += tree_bytes(leaves_of(one.bytes));
  return bytes;
}

HashAll::HashAll(std::shared_ptr<const Context> context, std::vector<Stretch> all, CUdeviceptr memory, CUdeviceptr nodes)
    : context_(std::move(context)), all_(std::move(all)) {
  std::vector<TreeWork> trees, table;
  for (const Stretch& one : all_) {
    trees.push_back({memory + one.at, nodes, static_cast<uint32_t>(leaves_of(one.bytes)), leaves_});
    nodes += tree_bytes(trees.back().count);
    leaves_ += trees.back().count;
  }
  table = trees;
  while (true) {
    Round round{table.size() * sizeof(TreeWork), 0, 0};
    for (TreeWork& tree : trees) {
      if (tree.count <= kTopCount) continue;
      tree.first = round.blocks;
      table.push_back(tree);
      ++round.trees;
      round.blocks += ((tree.count + 1) / 2 + kThreads - 1) / kThreads;
      for (int made = 0; made < 3; ++made, tree.count = (tree.count + 1) / 2) tree.level += tree.count * kNodeBytes;
    }
    if (round.trees == 0) break;
    rounds_.push_back(round);
  }
  tops_ = table.size() * sizeof(TreeWork);
  table.insert(table.end(), trees.begin(), trees.end());
  table_ = Buffer(context_, table.size() * sizeof(TreeWork));
  roots_ = Buffer(context_, all_.size() * kNodeBytes);
  ASSAY_CUDA_CALL(cuMemcpyHtoD, table_.at(), table.data(), table.size() * sizeof(TreeWork));
}

void HashAll::start(CUstream stream) const {
  const Sha256State leaf = tag_midstate(Tag::leaf), node = tag_midstate(Tag::node);
  context_->launch({"hash_leaves_of_all", (leaves_ + kThreads - 1) / kThreads, kThreads, 0, Where::main, 1, stream}, table_.at(),
                   static_cast<uint32_t>(all_.size()), leaves_, leaf);
  for (const Round& round : rounds_)
    context_->launch({"hash_levels_of_all", round.blocks, kThreads, 0, Where::main, 1, stream}, table_.at(round.at), round.trees, node);
  context_->launch({"hash_tops_of_all", static_cast<uint32_t>(all_.size()), 512, 0, Where::main, 1, stream}, table_.at(tops_), node, roots_.at());
}

std::vector<Root> HashAll::roots(CUstream stream) const {
  std::vector<Sha256State> states(all_.size());
  ASSAY_CUDA_CALL(cuMemcpyDtoHAsync, states.data(), roots_.at(), states.size() * kNodeBytes, stream);
  ASSAY_CUDA_CALL(cuStreamSynchronize, stream);
  std::vector<Root> roots(all_.size());
  for (size_t i = 0; i < states.size(); ++i) {
    const Hash root = hash_of(states[i]);
    std::memcpy(roots[i].data(), &root, sizeof root);
  }
  return roots;
}

}  // namespace assay::cuda
