// The thread of one device, or of the readings: runs requests one at a time, in order of arrival.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "request.hpp"

namespace assay {

class Worker {
 public:
  using OnEnd = std::function<void(const std::shared_ptr<Request>&, Final)>;
  // More than `most` waiting requests are not taken.
  Worker(std::unique_ptr<Device> device, uint32_t index, size_t most, OnEnd on_end);

  bool add(std::shared_ptr<Request> request);            // false when full
  bool remove(const std::shared_ptr<Request>& request);  // true when it was still waiting
  bool full() {
    const std::lock_guard lock(mutex_);
    return is_full();
  }
  // Ends the thread after the request at hand; what waits is dropped without an answer. `cleanup` runs on the
  // thread before the device goes. False: it did not end within the time, and the process must exit.
  void stop(std::function<void()> cleanup);
  bool join_within(unsigned ms);

 private:
  void loop();
  // With the one that runs, so that a burst is judged alike whether or not the thread has woken up yet.
  bool is_full() const { return queue_.size() + (running_ ? 1 : 0) > most_; }
  std::unique_ptr<Device> device_;
  uint32_t index_;
  size_t most_;
  OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::deque<std::shared_ptr<Request>> queue_;
  std::function<void()> cleanup_;
  bool running_ = false, stopping_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace assay
