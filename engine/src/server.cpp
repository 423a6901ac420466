// See server.hpp.
#include "server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "commands/commands.hpp"

namespace assay {

namespace {
constexpr unsigned kGraceMs = 3000;  // a kernel on a GPU cannot be stopped; after this the process exits under it
constexpr int kExitFrame = 65, kExitSoftware = 70;
}

Server::Server(int in_fd, int out_fd, Options options)
    : in_fd_(in_fd), out_fd_(out_fd), options_(options), output_(out_fd, in_fd, options.idle_s) {}

Server::~Server() {
  if (starter_.joinable()) starter_.join();
  if (wake_read_ >= 0) ::close(wake_read_);
  if (wake_write_ >= 0) ::close(wake_write_);
}

// Finding GPUs takes seconds on some hosts, and a PING must be answered meanwhile: so it happens beside the reader.
void Server::start_devices() {
  try {
    cuda_ = find_cuda_devices();
  } catch (const std::exception& e) {
    cuda_ = CudaDevices{};
    cuda_.why_none = e.what();
  }
  for (auto& device : cuda_.devices)
    if (found_.size() + options_.cpu_devices + 1 < kMaxDevices) found_.push_back(std::move(device));
  cuda_.devices.clear();
  try {
    for (auto& device : make_cpu_devices(options_.threads, options_.cpu_devices)) found_.push_back(std::move(device));
  } catch (const std::exception& e) {
    fprintf(stderr, "assay-engine: no cpu device: %s\n", e.what());
  }
  try {
    std::string why;
    auto disk = options_.disk ? find_disk(options_.disk_directory, why) : nullptr;
    if (!why.empty() && !disk) fprintf(stderr, "assay-engine: no disk: %s\n", why.c_str());
    if (disk) found_.push_back(std::move(disk));
  } catch (const std::exception& e) {
    fprintf(stderr, "assay-engine: no disk: %s\n", e.what());
  }
  started_ = true;
  const char byte = 1;
  if (write(wake_write_, &byte, 1) != 1) output_.close();
}

void Server::devices_found() {
  starter_.join();
  std::vector<Gauge> gauges;
  for (const auto& device : found_) {
    kinds_.push_back(device->kind());
    gauges.push_back(device->gauge());
  }
  gauges_ = std::make_unique<Gauges>(std::move(gauges), [this](const auto& request, Final final) { end(request, std::move(final)); });
  for (size_t i = 0; i < found_.size(); ++i) {
    workers_.push_back(std::make_unique<Worker>(std::move(found_[i]), static_cast<uint32_t>(i),
                                                [this](const auto& request, Final final) { end(request, std::move(final)); }));
  }
  found_.clear();
  ready_ = true;
  while (!held_.empty()) {
    const Frame frame = std::move(held_.front());
    held_.pop_front();
    dispatch(frame);
  }
}

int Server::run() {
  try {
    return serve();
  } catch (const std::exception& e) {  // no memory for a frame, no thread to be had
    fprintf(stderr, "assay-engine: %s\n", e.what());
    return shut_down(kExitSoftware);
  }
}

int Server::serve() {
  int wake[2];
  if (pipe2(wake, O_CLOEXEC) != 0) return kExitSoftware;
  wake_read_ = wake[0];
  wake_write_ = wake[1];
  output_.send(Kind::ready, 0, PayloadWriter().text("assay-engine").u16(kProtocolVersion).text(ASSAY_VERSION).take());
  starter_ = std::thread([this] { start_devices(); });

  FrameSplitter splitter;
  std::vector<uint8_t> chunk(64 * 1024);
  auto last_heard = std::chrono::steady_clock::now();
  for (;;) {
    const auto silent = std::chrono::steady_clock::now() - last_heard;
    const auto left = std::chrono::seconds(options_.idle_s) - silent;
    if (left <= left.zero()) return shut_down(0);
    pollfd fds[3] = {{in_fd_, POLLIN, 0}, {out_fd_, 0, 0}, {ready_ ? -1 : wake_read_, POLLIN, 0}};
    const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    // The output may be closed by a worker that cannot wake us: look every second.
    if (poll(fds, 3, static_cast<int>(std::min<int64_t>(wait_ms, 1000))) < 0 && errno != EINTR) return shut_down(kExitSoftware);
    if (output_.closed() || (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))) return shut_down(0);
    if (!ready_ && started_) devices_found();
    if (!(fds[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL))) continue;
    const ssize_t got = read(in_fd_, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return shut_down(0);
    last_heard = std::chrono::steady_clock::now();
    try {
      splitter.add({chunk.data(), static_cast<size_t>(got)});
      Frame frame;
      while (splitter.next(frame)) take(std::move(frame));
      splitter.compact();
    } catch (const EngineError& e) {  // only the splitter's: the stream is lost
      const Final final = failed(e.code(), e.what());
      output_.send(final.kind, 0, final.payload);
      return shut_down(kExitFrame);
    }
  }
}

void Server::take(Frame frame) {
  if (ready_ || frame.kind == static_cast<uint8_t>(Kind::ping)) {
    dispatch(frame);
  } else if (held_.size() < kMaxHeldFrames) {
    held_.push_back(std::move(frame));
  } else {
    const Final final = failed(ErrorCode::busy, "devices are still being found");
    output_.send(final.kind, frame.id, final.payload);
  }
}

void Server::dispatch(const Frame& frame) {
  Final final{};
  try {
    PayloadReader in(frame.payload);
    run_command(*this, frame.kind, frame.id, in);
    return;
  } catch (const EngineError& e) {
    final = failed(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    final = failed(ErrorCode::no_memory, "out of host memory");
  } catch (const std::exception& e) {
    final = failed(ErrorCode::device_failed, e.what());
  }
  output_.send(final.kind, frame.id, final.payload);
}

void Server::check_id(uint32_t id) {
  if (id == 0) throw EngineError(ErrorCode::bad_request, "id 0 is reserved");
  const std::lock_guard lock(mutex_);
  if (requests_.contains(id)) throw EngineError(ErrorCode::bad_request, "id is in use by an unfinished request");
}

// With the lock held. On the books first: the worker may end the request before add() returns.
void Server::queue(const std::shared_ptr<Request>& request, uint32_t device) {
  requests_[request->id] = request;
  request->device = device;
  if (workers_[device]->add(request)) return;
  requests_.erase(request->id);
  throw EngineError(ErrorCode::busy, "more than 16 requests wait for this device");
}

void Server::submit_new(const std::shared_ptr<Request>& request, uint32_t name, uint32_t device) {
  check_device(device);
  const std::lock_guard lock(mutex_);
  if (sessions_.contains(name)) throw EngineError(ErrorCode::bad_request, "session name is in use");
  if (sessions_.size() >= kMaxSessions) throw EngineError(ErrorCode::busy, "64 sessions are the most");
  auto session = std::make_shared<Session>();
  session->name = name;
  session->device = device;
  session->users = 1;
  request->session = session;
  request->makes_session = true;
  sessions_[name] = session;
  try {
    queue(request, device);
  } catch (...) {
    sessions_.erase(name);
    throw;
  }
}

Session& Server::session_named(uint32_t name) {
  const auto at = sessions_.find(name);
  if (at == sessions_.end()) throw EngineError(ErrorCode::no_session, "there is no session " + std::to_string(name));
  return *at->second;
}

void Server::check_device(uint32_t device) const {
  if (device >= workers_.size()) throw EngineError(ErrorCode::no_device, "there is no device " + std::to_string(device));
}

// With the lock held.
void Server::queue_reader(const std::shared_ptr<Request>& request, Session& session, uint32_t reader) {
  request->session = sessions_[session.name];
  queue(request, reader);
  ++session.users;
}

void Server::submit_for(const std::shared_ptr<Request>& request, uint32_t name) {
  const std::lock_guard lock(mutex_);
  Session& session = session_named(name);
  queue_reader(request, session, session.device);
}

void Server::submit_stream(const std::shared_ptr<Request>& request, uint32_t name, uint32_t reader) {
  check_device(reader);
  const std::lock_guard lock(mutex_);
  Session& session = session_named(name);
  if (kinds_[reader] != kinds_[session.device] && kinds_[reader] != DeviceKind::disk)
    throw EngineError(ErrorCode::unsupported, "a device reads only its own memory or that of a peer of its kind");
  queue_reader(request, session, reader);
}

void Server::submit_copy(const std::shared_ptr<Request>& request, uint32_t name, uint32_t disk) {
  check_device(disk);
  if (kinds_[disk] != DeviceKind::disk) throw EngineError(ErrorCode::unsupported, "copies are made on a disk");
  const std::lock_guard lock(mutex_);
  Session& session = session_named(name);
  if (kinds_[session.device] != DeviceKind::cpu) throw EngineError(ErrorCode::unsupported, "only a CPU's sessions are copied");
  queue_reader(request, session, disk);
}

void Server::submit_reading(const std::shared_ptr<Request>& request, uint32_t device) {
  check_device(device);
  const std::lock_guard lock(mutex_);
  requests_[request->id] = request;
  if (gauges_->add(request, device)) return;
  requests_.erase(request->id);
  throw EngineError(ErrorCode::busy, "too many readings wait");
}

void Server::forward(Request& request, uint32_t device) {
  const std::lock_guard lock(mutex_);
  request.device = device;
  if (!workers_[device]->add(request.shared_from_this()))
    throw EngineError(ErrorCode::busy, "more than 16 requests wait for the session's device");
}

// The name is free as soon as this is queued: a GEMM that takes it again runs after it, on the same device or another.
void Server::submit_release(const std::shared_ptr<Request>& request, uint32_t name) {
  const std::lock_guard lock(mutex_);
  Session& session = session_named(name);
  if (session.users > 0) throw EngineError(ErrorCode::busy, "session is in use");
  queue_reader(request, session, session.device);
  sessions_.erase(name);
}

void Server::submit_all(const std::shared_ptr<Request>& request) {
  const std::lock_guard lock(mutex_);
  // Only this thread adds, so a worker with room now has room below.
  for (const auto& worker : workers_)
    if (worker->full()) throw EngineError(ErrorCode::busy, "more than 16 requests wait for a device");
  requests_[request->id] = request;
  for (const auto& worker : workers_) worker->add(request);
}

void Server::cancel(uint32_t id) {
  std::shared_ptr<Request> request;
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    const auto at = requests_.find(id);
    if (at == requests_.end()) return;
    request = at->second;
    request->stop = true;
    if (request->leaves_queue && request->session) was_waiting = workers_[request->device]->remove(request);
  }
  if (was_waiting) end(request, done(0, true));
}

void Server::session_stands(Session& session) {
  const std::lock_guard lock(mutex_);
  session.state = Session::State::ready;
}

bool Server::session_ready(const Session& session) {
  const std::lock_guard lock(mutex_);
  return session.state == Session::State::ready;
}

void Server::end(const std::shared_ptr<Request>& request, Final final) {
  {
    const std::lock_guard lock(mutex_);
    requests_.erase(request->id);
    if (request->session) {
      Session& session = *request->session;
      --session.users;
      if (request->makes_session && session.state == Session::State::pending) {
        session.state = Session::State::gone;
        sessions_.erase(session.name);
      }
    }
  }
  output_.send(final.kind, request->id, final.payload);
}

int Server::shut_down(int code) {
  output_.close();
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, request] : requests_) request->stop = true;
  }
  for (size_t device = 0; device < workers_.size(); ++device) {
    workers_[device]->stop([this, device] {  // device memory is freed on the device's own thread
      std::vector<std::shared_ptr<Session>> mine;
      {
        const std::lock_guard lock(mutex_);
        for (auto& [name, session] : sessions_)
          if (session->device == device) mine.push_back(session);
      }
      for (auto& session : mine) free_session(*session);
    });
  }
  bool all_ended = true;
  for (auto& worker : workers_) all_ended &= worker->join_within(kGraceMs);
  if (gauges_) all_ended &= gauges_->stop_within(kGraceMs);
  if (!ready_ && starter_.joinable()) {  // the starter may sit in a driver call for long
    for (unsigned ms = 0; !started_ && ms < kGraceMs; ms += 10) usleep(10000);
    all_ended &= started_;
  }
  if (!all_ended) {
    fflush(stderr);
    _exit(code);
  }
  return code;
}

}  // namespace assay
