// A list in a card's memory, and the memory that lists are made of: what one leaves, the next one takes. All
// that is queued on the card runs in order, so that nothing is taken before it is left.
#pragma once
#include <map>

#include "cuda/context.hpp"
#include "list_shape.hpp"
#include "zk/proof_kernels.hpp"

namespace assay::cuda {

class ListRoom {
 public:
  explicit ListRoom(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Buffer take(uint64_t bytes);
  void leave(Buffer buffer) { free_[buffer.bytes()].push_back(std::move(buffer)); }
  const Context& context() const { return *context_; }
  const std::shared_ptr<const Context>& shared_context() const { return context_; }

 private:
  std::shared_ptr<const Context> context_;
  std::map<uint64_t, std::vector<Buffer>> free_;
};
using RoomPtr = std::shared_ptr<ListRoom>;

// Room that goes back when its owner dies.
class Taken {
 public:
  Taken(RoomPtr room, uint64_t bytes) : room_(std::move(room)), buffer_(room_->take(bytes)) {}
  Taken(Taken&& other) noexcept = default;
  Taken& operator=(Taken&& other) noexcept {
    std::swap(room_, other.room_);
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Taken() {
    if (room_ && buffer_.bytes() > 0) room_->leave(std::move(buffer_));
  }
  CUdeviceptr at(uint64_t offset = 0) const { return buffer_.at(offset); }
  Source scalars(uint64_t from = 0) const { return {reinterpret_cast<const void*>(buffer_.at(from * sizeof(Fr))), 0}; }

 private:
  RoomPtr room_;
  Buffer buffer_;
};

struct CudaList : zk::List {
  CudaList(const RoomPtr& room, size_t size, bool numbers) : List(size), is_numbers(numbers), memory(room, size * (numbers ? 8 : sizeof(Fr))) {}
  const bool is_numbers;
  Taken memory;
};

// Throws std::out_of_range for a slice that its list does not have.
Source source_of(const zk::Slice& slice);

inline uint32_t list_blocks(uint64_t threads) { return static_cast<uint32_t>((threads + kListThreads - 1) / kListThreads); }

std::unique_ptr<zk::Sums> cuda_sums(const RoomPtr& room, std::vector<zk::Sum> sums);
Parts parts_of(std::span<const zk::Part> parts, size_t values);

}  // namespace assay::cuda
