// The engine between its two streams: reads frames, hands them to commands/, keeps the books of requests and sessions.
// One reader thread (run), one worker thread a device, one for readings, one output under a lock. Follows engine/FRAMES.md.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "frames.hpp"
#include "gauges.hpp"
#include "request.hpp"
#include "worker.hpp"

namespace assay {

constexpr size_t kMaxSessions = 64;
constexpr size_t kMaxDevices = 80;       // so that a claim stays below its limit; more GPUs are left out
constexpr unsigned kMaxCpuDevices = 64;
constexpr size_t kMaxHeldFrames = 64;    // that came before the devices were found

struct Options {
  unsigned idle_s = 120;
  unsigned threads = 0;      // of all CPU devices together; 0: all usable cores
  unsigned cpu_devices = 1;  // more than one are virtual
  bool disk = true;
  std::string disk_directory;  // empty: search
};

class Server {
 public:
  Server(int in_fd, int out_fd, Options options);
  ~Server();
  int run();  // returns the exit code

  // For commands/. All of these but send() are called on the reader thread only.
  void send(Kind kind, uint32_t id, std::span<const uint8_t> payload) { output_.send(kind, id, payload); }
  void check_id(uint32_t id);  // throws bad_request for 0 and for an id in use
  uint32_t device_count() const { return static_cast<uint32_t>(workers_.size()); }
  const CudaDevices& cuda() const { return cuda_; }
  DeviceKind kind(uint32_t device) const { return kinds_[device]; }  // from any thread
  // A new session named by the request, and the request queued for its device.
  void submit_new(const std::shared_ptr<Request>& request, uint32_t session, uint32_t device);
  // The request queued for the device of a session that stands or is being made.
  void submit_for(const std::shared_ptr<Request>& request, uint32_t session);
  // The same for another device that reads the session: a peer of the same kind or a disk.
  void submit_stream(const std::shared_ptr<Request>& request, uint32_t session, uint32_t reader);
  void submit_copy(const std::shared_ptr<Request>& request, uint32_t session, uint32_t disk);
  void submit_reading(const std::shared_ptr<Request>& request, uint32_t device);
  void submit_release(const std::shared_ptr<Request>& request, uint32_t session);
  void submit_all(const std::shared_ptr<Request>& request);
  void cancel(uint32_t id);

  // For a running request, on its worker.
  void session_stands(Session& session);
  bool session_ready(const Session& session);
  // To another device's queue: the request goes on there. Throws busy when that is full.
  void forward(Request& request, uint32_t device);

 private:
  int serve();
  void start_devices();
  void devices_found();
  void take(Frame frame);
  void dispatch(const Frame& frame);
  void end(const std::shared_ptr<Request>& request, Final final);
  void queue(const std::shared_ptr<Request>& request, uint32_t device);
  void check_device(uint32_t device) const;
  Session& session_named(uint32_t name);
  void queue_reader(const std::shared_ptr<Request>& request, Session& session, uint32_t reader);
  int shut_down(int code);

  int in_fd_, wake_read_ = -1, wake_write_ = -1;
  int out_fd_;
  Options options_;
  FrameOutput output_;
  std::thread starter_;
  std::atomic<bool> started_{false};
  std::vector<std::unique_ptr<Device>> found_;
  CudaDevices cuda_;
  bool ready_ = false;
  std::deque<Frame> held_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<DeviceKind> kinds_;  // by device; fixed before the first worker starts
  std::unique_ptr<Gauges> gauges_;

  std::mutex mutex_;  // guards the two tables and Session::state, ::users
  std::map<uint32_t, std::shared_ptr<Request>> requests_;
  std::map<uint32_t, std::shared_ptr<Session>> sessions_;
};

}  // namespace assay
