// See gauges.hpp.
#include "gauges.hpp"

#include <unistd.h>

namespace assay {

namespace {
constexpr size_t kMaxReadings = 64;
}

Gauges::Gauges(std::vector<Gauge> gauges, OnEnd on_end)
    : gauges_(std::move(gauges)), on_end_(std::move(on_end)), thread_([this] { loop(); }) {}

bool Gauges::add(std::shared_ptr<Request> request, uint32_t device) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= kMaxReadings) return false;
    queue_.emplace_back(std::move(request), device);
  }
  wake_.notify_one();
  return true;
}

bool Gauges::stop_within(unsigned ms) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_one();
  if (!ended_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return has_ended_; })) return false;
  lock.unlock();
  thread_.join();
  return true;
}

void Gauges::loop() {
  for (;;) {
    std::shared_ptr<Request> request;
    uint32_t device = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) break;
      std::tie(request, device) = std::move(queue_.front());
      queue_.pop_front();
    }
    Reading reading;
    try {
      if (gauges_[device]) reading = gauges_[device]();
    } catch (const std::exception&) {  // where nothing can be read, all numbers are 0
      reading = Reading{};
    }
    try {
      on_end_(request, final_of(ReadingReply{reading.core_mhz, reading.memory_mhz, reading.power_mw, reading.temperature_c,
                                             reading.throttle_reasons}));
    } catch (const std::exception&) {  // no memory for the last frame: the peer would wait for ever
      _exit(70);
    }
  }
  // Notified under the lock: the waiter destroys this object as soon as it may go on.
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

}  // namespace assay
