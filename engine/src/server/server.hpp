// The engine between its two streams: reads frames, hands them to a command, keeps the books of requests and
// sessions. One reader thread (run), one worker thread a device, one for readings, one output under a lock.
// Follows engine/FRAMES.md. Not here: what a request means, or which device may do what (commands/, probe/).
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "devices.hpp"
#include "request.hpp"
#include "worker.hpp"

namespace assay {

constexpr size_t kMaxWaiting = 16;  // for a device
constexpr size_t kMaxReadings = 64, kMaxSessions = 64;
constexpr size_t kMaxHeldFrames = 64;  // that came before the devices were found

class Server;
// Carries out one request, or throws what its ERROR should say; on the reader thread.
using RunCommand = std::function<void(Server& server, const Frame& frame)>;

class Server {
 public:
  Server(int in_fd, int out_fd, unsigned idle_s, std::function<FoundDevices()> find_devices, RunCommand run_command);
  ~Server();
  int run();  // returns the exit code

  // For commands. All of these but send() are called on the reader thread only.
  template <typename Reply>
  void send(uint32_t id, const Reply& reply) {
    output_.send(Reply::kKind, id, payload_of(reply));
  }
  void check_id(uint32_t id);  // throws bad_request for 0 and for an id in use
  uint32_t device_count() const { return static_cast<uint32_t>(workers_.size()); }
  const DriverClaim& driver() const { return found_.driver; }
  DeviceKind kind(uint32_t device) const { return kinds_[device]; }  // from any thread
  void check_device(uint32_t device) const;                          // throws no_device
  uint32_t device_of(uint32_t session);                              // throws no_session

  // Queues the request, which names this session, for a device; by default the session's own. A session that
  // it makes is on the books from now on, one that it frees no longer: its name can be taken again at once.
  void submit(const std::shared_ptr<Request>& request, uint32_t session, std::optional<uint32_t> device = {});
  void submit_to_all(const std::shared_ptr<Request>& request);  // without a session
  void submit_reading(uint32_t id, uint32_t device);
  // Without a device or session, beside what they do.
  void submit_aside(const std::shared_ptr<Request>& request);
  void cancel(uint32_t id);

  // For a running request, on its worker.
  void session_stands(Session& session, std::unique_ptr<SessionContent> content);
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
  void queue(const std::shared_ptr<Request>& request, Worker& worker);
  const std::shared_ptr<Session>& session_named(uint32_t name) const;
  int shut_down(int code);

  int in_fd_, wake_read_ = -1, wake_write_ = -1;
  int out_fd_;
  const unsigned idle_s_;
  const std::function<FoundDevices()> find_devices_;
  const RunCommand run_command_;
  FrameOutput output_;
  std::thread starter_;
  std::atomic<bool> started_{false};
  FoundDevices found_;  // the starter's until `started_`; its devices go to the workers
  bool ready_ = false;
  std::deque<Frame> held_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<DeviceKind> kinds_;  // by device; fixed before the first worker starts
  std::vector<Gauge> gauges_;      // by device; likewise
  // READ has its own thread: a slow driver delays no PING, and a busy device is read while it works.
  std::unique_ptr<Worker> readings_;

  std::mutex mutex_;  // guards the two tables and Session::state, ::users
  std::map<uint32_t, std::shared_ptr<Request>> requests_;
  std::map<uint32_t, std::shared_ptr<Session>> sessions_;
};

}  // namespace assay
