// What a device, a disk, must be able to do to hold copies of kept products and digest them. FRAMES.md, COPY.
#pragma once
#include "probe_kernels.hpp"

namespace assay {

// Products of one session in a file; its room is free again on destruction, on any thread.
class DiskCopy {
 public:
  virtual ~DiskCopy() = default;
};

struct Copied {
  std::unique_ptr<DiskCopy> copy;
  Hash root;  // of the digests, as ProbeKernels::stream_pass makes it
};

class ProductCopies {
 public:
  virtual ~ProductCopies() = default;
  // Products (of Kept::host_product) in this order into a file, durable, and their digests. Throws no_memory.
  virtual Copied copy_products(const GemmSpec& spec, std::span<const uint8_t* const> products, const Hash& nonce,
                               const std::atomic<bool>& stop) = 0;
  // ProbeKernels::stream_pass over the last `products` of a copy, read from the medium.
  virtual Hash stream_copy(DiskCopy& copy, uint32_t products, const Hash& nonce, const std::atomic<bool>& stop) = 0;
};

}  // namespace assay
