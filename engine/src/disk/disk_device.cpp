// The disk as a device: it copies products from host memory into a file and streams over the copy, both by
// direct I/O with several blocks in flight, digesting each block on the thread that moves it. FRAMES.md,
// COPY. It computes nothing else.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "cpu/kernels.hpp"
#include "cpu/kept_memory.hpp"
#include "cpu/sha256_host.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/tree.hpp"
#include "devices.hpp"
#include "direct_file.hpp"
#include "disk_info.hpp"
#include "probe/product_copies.hpp"

namespace assay {

namespace {

constexpr unsigned kBlocksInFlight = 8;
constexpr uint64_t kGroupLeaves = 128, kGroupBytes = kGroupLeaves * kLeafBytes;
constexpr unsigned kBlockGroupsLog2 = 4;  // 2 MiB at once
constexpr uint64_t kBlockBytes = kGroupBytes << kBlockGroupsLog2;

class FileCopy final : public DiskCopy {
 public:
  FileCopy(DiskRoom& room, const GemmSpec& spec, uint32_t products)
      : file(room), product_bytes(spec.bytes()), products(products) {
    if (bytes() > read_disk_free_bytes(room)) throw EngineError(ErrorCode::no_memory, "the disk has no room for this copy");
    room.charge(bytes());
    file.reserve(bytes());
  }
  uint64_t bytes() const { return product_bytes * products; }

  DirectFile file;
  const uint64_t product_bytes;
  const uint32_t products;
};

// Where a thread's block lands; made on its first read and kept, at a page's boundary as mmap gives it.
uint8_t* block_buffer() {
  thread_local const KeptMemory buffer(kBlockBytes);
  return buffer.data();
}

class DiskDevice final : public Device, public ProductCopies {
 public:
  explicit DiskDevice(std::shared_ptr<DiskRoom> room) : room_(std::move(room)), kernels_(assay_kernels::best_kernels()) {}

  DeviceKind kind() const override { return DeviceKind::disk; }
  ProductCopies* product_copies() override { return this; }
  DeviceClaim claim() override {
    const DiskInfo info = read_disk_info(*room_);
    DeviceClaim claim;
    claim.name = info.name;
    claim.uuid = info.uuid;
    claim.memory_bytes = info.bytes;
    claim.free_bytes = std::min(info.free_bytes, room_->may_still_write());
    claim.units = 1;
    return claim;
  }

  Copied copy_products(const GemmSpec& spec, std::span<const uint8_t* const> products, const Hash& nonce,
                       const std::atomic<bool>& stop) override;
  Hash stream_copy(DiskCopy& copy, uint32_t products, const Hash& nonce, const std::atomic<bool>& stop) override;

 private:
  ThreadPool& pool() {  // threads only for those who ask for them
    if (!pool_) pool_.emplace(kBlocksInFlight);
    return *pool_;
  }
  Hash group_hash(const Hash& nonce, const uint8_t* leaves, uint64_t group) const {
    uint32_t digests[2 * kGroupLeaves];
    kernels_.mix(nonce.b, leaves, static_cast<uint32_t>(group * kGroupLeaves), kGroupLeaves, digests);
    uint8_t bytes[sizeof digests];
    memcpy(bytes, digests, sizeof digests);
    return leaf_hash(bytes);
  }

  std::shared_ptr<DiskRoom> room_;
  const assay_kernels::Kernels& kernels_;
  std::optional<ThreadPool> pool_;
};

Copied DiskDevice::copy_products(const GemmSpec& spec, std::span<const uint8_t* const> products, const Hash& nonce,
                                 const std::atomic<bool>& stop) {
  auto copy = std::make_unique<FileCopy>(*room_, spec, static_cast<uint32_t>(products.size()));
  const uint64_t per_product = spec.bytes() / kGroupBytes;
  const auto group_bytes = [&](uint64_t group) { return products[group / per_product] + group % per_product * kGroupBytes; };
  const ChunkedTree tree(
      pool(), copy->bytes() / kGroupBytes, kBlockGroupsLog2,
      [&](uint64_t first, uint32_t count, Hash* out) {
        iovec pieces[1u << kBlockGroupsLog2];  // as small as a group where products are
        for (uint32_t i = 0; i < count; ++i) pieces[i] = {const_cast<uint8_t*>(group_bytes(first + i)), kGroupBytes};
        copy->file.write(first * kGroupBytes, {pieces, count});
        for (uint32_t i = 0; i < count; ++i) out[i] = group_hash(nonce, group_bytes(first + i), first + i);
      },
      stop);
  copy->file.make_durable();
  return {std::move(copy), tree.root()};
}

Hash DiskDevice::stream_copy(DiskCopy& base, uint32_t products, const Hash& nonce, const std::atomic<bool>& stop) {
  const FileCopy& copy = static_cast<FileCopy&>(base);
  if (products == 0 || products > copy.products) throw EngineError(ErrorCode::bad_request, "the copy has fewer products");
  const uint64_t begin = copy.bytes() - copy.product_bytes * products;
  copy.file.forget_cached();
  return ChunkedTree(
             pool(), copy.product_bytes * products / kGroupBytes, kBlockGroupsLog2,
             [&](uint64_t first, uint32_t count, Hash* out) {
               uint8_t* block = block_buffer();
               copy.file.read(begin + first * kGroupBytes, block, count * kGroupBytes);
               for (uint32_t i = 0; i < count; ++i) out[i] = group_hash(nonce, block + i * kGroupBytes, first + i);
             },
             stop)
      .root();
}

}  // namespace

std::shared_ptr<DiskRoom> open_disk_room(const std::string& directory, uint64_t may_write, std::string& why) {
  std::vector<std::string> candidates = {directory};
  if (directory.empty()) {
    const char* temporary = getenv("TMPDIR");
    candidates = {"/var/tmp", "."};
    if (temporary != nullptr && *temporary != 0) candidates.insert(candidates.begin(), temporary);
  }
  for (const std::string& candidate : candidates) {
    try {
      return std::make_shared<DiskRoom>(candidate, may_write);
    } catch (const EngineError& e) {
      why += (why.empty() ? "" : "; ") + candidate + ": " + e.what();
    }
  }
  return nullptr;
}

std::unique_ptr<Device> make_disk(std::shared_ptr<DiskRoom> room) { return std::make_unique<DiskDevice>(std::move(room)); }

}  // namespace assay
