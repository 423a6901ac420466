// The threads of the CPU device: one loop over indices at a time, shared out piece by piece.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

class ThreadPool {
 public:
  // `nice`: how far the threads step back before others of this host.
  explicit ThreadPool(unsigned threads, int nice = 0);
  ~ThreadPool();
  unsigned threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

  // Calls body(i) for every i below `count`, on the caller's thread and the pool's. Returns when all are
  // done. The first exception is thrown again here; the indices not begun by then are left out.
  void run(uint64_t count, const std::function<void(uint64_t)>& body);

 private:
  void loop(int nice);
  void work();
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  const std::function<void(uint64_t)>* body_ = nullptr;
  std::atomic<uint64_t> next_{0};
  uint64_t count_ = 0, generation_ = 0;
  unsigned busy_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace assay
