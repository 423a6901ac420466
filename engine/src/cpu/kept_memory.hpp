// A large block of host memory for kept products, from mmap: no page is taken before it is written.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace assay {

class KeptMemory {
 public:
  explicit KeptMemory(uint64_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    // Large pages where there are: a stream pass touches every page once, and misses of the TLB would show.
    madvise(p, bytes, MADV_HUGEPAGE);
    data_ = static_cast<uint8_t*>(p);
  }
  ~KeptMemory() { munmap(data_, bytes_); }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_;
  uint64_t bytes_;
};

}  // namespace assay
