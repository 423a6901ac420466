// See worker.hpp.
#include "worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>

namespace assay {

Worker::Worker(std::unique_ptr<Device> device, uint32_t index, size_t most, OnEnd on_end)
    : device_(std::move(device)), index_(index), most_(most), on_end_(std::move(on_end)), thread_([this] { loop(); }) {}

bool Worker::add(std::shared_ptr<Request> request) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || is_full()) return false;
    queue_.push_back(std::move(request));
  }
  wake_.notify_one();
  return true;
}

bool Worker::remove(const std::shared_ptr<Request>& request) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find(queue_.begin(), queue_.end(), request);
  if (at == queue_.end()) return false;
  queue_.erase(at);
  return true;
}

void Worker::stop(std::function<void()> cleanup) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cleanup_ = std::move(cleanup);
  }
  wake_.notify_one();
}

bool Worker::join_within(unsigned ms) {
  {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return has_ended_; })) return false;
  }
  thread_.join();
  return true;
}

void Worker::loop() {
  for (;;) {
    std::shared_ptr<Request> request;
    {
      std::unique_lock lock(mutex_);
      running_ = false;
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) break;
      request = std::move(queue_.front());
      queue_.pop_front();
      running_ = true;
    }
    std::optional<Final> end;
    try {
      end = request->run(device_.get(), index_, *request);
    } catch (...) {
      end = failed_now();
    }
    {
      const std::lock_guard lock(mutex_);
      running_ = false;
    }
    try {
      if (end) on_end_(request, std::move(*end));
    } catch (const std::exception&) {  // no memory for the last frame: the peer would wait for ever
      _exit(70);
    }
  }
  try {
    if (cleanup_) cleanup_();
    // A session whose RELEASE still waits is on no table any more, and the server's books keep the request
    // alive beyond this device: its memory goes now. A peer's session is left to its own device.
    for (const auto& request : queue_)
      if (request->session && request->session->device == index_) free_session(*request->session);
    queue_.clear();
    device_.reset();
  } catch (...) {  // the process is about to exit; the driver frees what is left
  }
  // Notified under the lock: the waiter destroys this object as soon as it may go on.
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

}  // namespace assay
