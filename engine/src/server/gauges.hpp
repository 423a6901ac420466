// The thread that answers READ: beside the reader, so that a slow driver delays no PING, and beside the
// workers, so that a busy device is read while it works.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "request.hpp"

namespace assay {

class Gauges {
 public:
  using OnEnd = std::function<void(const std::shared_ptr<Request>&, Final)>;
  // `gauges` by device; an empty one reads zeros.
  Gauges(std::vector<Gauge> gauges, OnEnd on_end);

  bool add(std::shared_ptr<Request> request, uint32_t device);  // false when too many wait
  // False when a driver holds the thread for longer than that; the process must then exit under it.
  bool stop_within(unsigned ms);

 private:
  void loop();
  const std::vector<Gauge> gauges_;
  const OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  std::deque<std::pair<std::shared_ptr<Request>, uint32_t>> queue_;
  bool stopping_ = false, has_ended_ = false;
  std::thread thread_;
};

}  // namespace assay
