// The thread of one device: takes requests in order of arrival and runs them one at a time.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "request.hpp"

namespace assay {

constexpr size_t kMaxWaiting = 16;  // FRAMES.md: more is `busy`

class Worker {
 public:
  using OnEnd = std::function<void(const std::shared_ptr<Request>&, Final)>;
  Worker(std::unique_ptr<Device> device, uint32_t index, OnEnd on_end);

  bool add(std::shared_ptr<Request> request);            // false when full
  bool remove(const std::shared_ptr<Request>& request);  // true when it was still waiting
  bool full();
  // Ends the thread after the request at hand; what waits is dropped without an answer. `cleanup` runs on the
  // thread before the device goes. True when it ended within the time; false leaves it running, and the
  // process must exit.
  void stop(std::function<void()> cleanup);
  bool join_within(unsigned ms);

 private:
  void loop();
  std::unique_ptr<Device> device_;
  uint32_t index_;
  OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::deque<std::shared_ptr<Request>> queue_;
  std::function<void()> cleanup_;
  bool running_ = false, stopping_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace assay
