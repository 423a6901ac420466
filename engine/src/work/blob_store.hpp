// Bytes of tensors in a folder, each file named by its root (docs/work.md §1) in hex: checkpoints, and what a
// customer has brought. A file under its name is whole: it is written under another one, made durable, then
// renamed. Not here: whether the bytes are those that the name says, which whoever reads them checks.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "work/work_device.hpp"

namespace assay::work {

class BlobStore {
 public:
  // Throws EngineError disk_failed. Before the sandbox: later the folder could not be found by its path.
  explicit BlobStore(const std::string& folder);
  ~BlobStore();
  BlobStore(const BlobStore&) = delete;
  BlobStore& operator=(const BlobStore&) = delete;

  int folder() const { return folder_; }
  // Removes what engines that were killed have left half written. Others may be writing meanwhile.
  void sweep();

  // The bytes of one blob, front to back; a length other than `bytes` throws tensor_size, none of this name
  // blob_missing.
  void read(const Root& root, uint64_t bytes, const std::function<void(uint64_t offset, std::span<const uint8_t> piece)>& take) const;

  // Files that become durable together: all of them are there after `commit`, none under its name before its
  // own write ended.
  class Saving {
   public:
    explicit Saving(BlobStore& store) : store_(store) {}
    // `fill` gives the bytes from `offset` on. One that is there already with this length is not written
    // again.
    void add(const Root& root, uint64_t bytes, const std::function<void(uint64_t offset, std::span<uint8_t> piece)>& fill);
    void commit();

   private:
    BlobStore& store_;
  };

 private:
  int folder_ = -1;
};

}  // namespace assay::work
