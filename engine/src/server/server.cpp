// See server.hpp.
#include "server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace assay {

namespace {
// A kernel on a GPU cannot be stopped; after this the process exits under it.
constexpr unsigned kGraceMs = 3000;
constexpr int kExitFrame = 65, kExitSoftware = 70;
}

Server::Server(int in_fd, int out_fd, unsigned idle_s, std::function<FoundDevices()> find_devices, RunCommand run_command)
    : in_fd_(in_fd), out_fd_(out_fd), idle_s_(idle_s), find_devices_(std::move(find_devices)), run_command_(std::move(run_command)),
      output_(out_fd, in_fd, idle_s) {}

Server::~Server() {
  if (starter_.joinable()) starter_.join();
  if (wake_read_ >= 0) ::close(wake_read_);
  if (wake_write_ >= 0) ::close(wake_write_);
}

// Beside the reader: finding GPUs takes seconds on some hosts, and a PING must be answered meanwhile.
void Server::start_devices() {
  found_ = find_devices_();
  started_ = true;
  const char byte = 1;
  if (write(wake_write_, &byte, 1) != 1) output_.close();
}

void Server::devices_found() {
  starter_.join();
  const auto on_end = [this](const auto& request, Final final) { end(request, std::move(final)); };
  for (const auto& device : found_.devices) {
    kinds_.push_back(device->kind());
    gauges_.push_back(device->gauge());
  }
  readings_ = std::make_unique<Worker>(nullptr, 0, kMaxReadings, on_end);
  for (auto& device : found_.devices)
    workers_.push_back(std::make_unique<Worker>(std::move(device), device_count(), kMaxWaiting, on_end));
  found_.devices.clear();
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
  send(0, ReadyReply{kProtocolVersion, ASSAY_VERSION});
  starter_ = std::thread([this] { start_devices(); });

  FrameSplitter splitter;
  std::vector<uint8_t> chunk(64 * 1024);
  auto last_heard = std::chrono::steady_clock::now();
  for (;;) {
    const auto silent = std::chrono::steady_clock::now() - last_heard;
    const auto left = std::chrono::seconds(idle_s_) - silent;
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
  try {
    run_command_(*this, frame);
  } catch (...) {
    const Final final = failed_now();
    output_.send(final.kind, frame.id, final.payload);
  }
}

void Server::check_id(uint32_t id) {
  if (id == 0) throw EngineError(ErrorCode::bad_request, "id 0 is reserved");
  const std::lock_guard lock(mutex_);
  if (requests_.contains(id)) throw EngineError(ErrorCode::bad_request, "id is in use by an unfinished request");
}

// With the lock held. On the books first: nothing may fail once the worker has it.
void Server::queue(const std::shared_ptr<Request>& request, Worker& worker) {
  requests_[request->id] = request;
  if (worker.add(request)) return;
  requests_.erase(request->id);
  throw EngineError(ErrorCode::busy, "too many requests wait for this device");
}

// With the lock held.
const std::shared_ptr<Session>& Server::session_named(uint32_t name) const {
  const auto at = sessions_.find(name);
  if (at == sessions_.end()) throw EngineError(ErrorCode::no_session, "there is no session " + std::to_string(name));
  return at->second;
}

void Server::check_device(uint32_t device) const {
  if (device >= workers_.size()) throw EngineError(ErrorCode::no_device, "there is no device " + std::to_string(device));
}

uint32_t Server::device_of(uint32_t session) {
  const std::lock_guard lock(mutex_);
  return session_named(session)->device;
}

void Server::submit(const std::shared_ptr<Request>& request, uint32_t name, std::optional<uint32_t> device) {
  if (device) check_device(*device);
  const std::lock_guard lock(mutex_);
  const bool makes = request->use == SessionUse::makes, frees = request->use == SessionUse::frees;
  if (makes) {
    if (sessions_.contains(name)) throw EngineError(ErrorCode::bad_request, "session name is in use");
    if (sessions_.size() >= kMaxSessions) throw EngineError(ErrorCode::busy, "64 sessions are the most");
    const auto session = std::make_shared<Session>();
    session->name = name;
    session->device = *device;
    sessions_[name] = session;
  }
  request->session = session_named(name);
  Session& session = *request->session;
  if (frees && session.users > 0) throw EngineError(ErrorCode::busy, "session is in use");
  try {
    request->device = device.value_or(session.device);
    queue(request, *workers_[request->device]);
  } catch (...) {
    if (makes) sessions_.erase(name);
    throw;
  }
  ++session.users;
  if (frees) sessions_.erase(name);
}

void Server::submit_reading(uint32_t id, uint32_t device) {
  check_device(device);
  const auto run = [this, device](Device*, uint32_t, Request&) -> std::optional<Final> {
    Reading reading;
    try {
      if (gauges_[device]) reading = gauges_[device]();
    } catch (const std::exception&) {  // where nothing can be read, all numbers are 0
    }
    return final_of(ReadingReply{reading.core_mhz, reading.memory_mhz, reading.power_mw, reading.temperature_c,
                                 reading.throttle_reasons});
  };
  submit_aside(std::make_shared<Request>(id, run));
}

void Server::submit_aside(const std::shared_ptr<Request>& request) {
  request->leaves_queue = false;
  const std::lock_guard lock(mutex_);
  queue(request, *readings_);
}

void Server::forward(Request& request, uint32_t device) {
  const std::lock_guard lock(mutex_);
  request.device = device;
  if (!workers_[device]->add(request.shared_from_this()))
    throw EngineError(ErrorCode::busy, "more than 16 requests wait for the session's device");
}

void Server::submit_to_all(const std::shared_ptr<Request>& request) {
  const std::lock_guard lock(mutex_);
  // Only under this lock is anything added, so a worker with room now has room below.
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

void Server::session_stands(Session& session, std::unique_ptr<SessionContent> content) {
  const std::lock_guard lock(mutex_);
  session.content = std::move(content);
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
      if (request->use == SessionUse::makes && session.state == Session::State::pending) {
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
  if (readings_) readings_->stop({});
  bool all_ended = !readings_ || readings_->join_within(kGraceMs);
  for (auto& worker : workers_) all_ended &= worker->join_within(kGraceMs);
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
