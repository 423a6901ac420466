// A child engine with pipes for its streams, and a strict reader of its frames. For the tests that talk to
// the built program.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "check.hpp"
#include "wire/frames.hpp"

namespace assay_test {

using assay::Frame;
using assay::Kind;
using assay::payload_of;
using assay::read_payload;

// Silent for so long, an engine hangs: on a busy machine, with sanitizers too.
constexpr int kPatienceMs = 240000;

class EngineProcess {
 public:
  explicit EngineProcess(const std::string& program, std::vector<std::string> flags = {"--threads", "2"}) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (std::string& flag : flags) argv.push_back(flag.data());
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }
  ~EngineProcess() {
    close_in();
    close_out();
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // Writes all, reading frames aside when the engine must be emptied first. False when it has gone.
  bool write_bytes(const std::vector<uint8_t>& bytes) {
    size_t at = 0;
    while (at < bytes.size() && in_ >= 0) {
      pollfd fds[2] = {{in_, POLLOUT, 0}, {out_, POLLIN, 0}};
      if (poll(fds, 2, kPatienceMs) <= 0) return false;
      if (fds[1].revents & POLLIN) pull();
      if (fds[0].revents & POLLERR) return false;
      if (fds[0].revents & POLLOUT) {
        const ssize_t n = write(in_, bytes.data() + at, std::min<size_t>(bytes.size() - at, 4096));
        if (n < 0) return false;
        at += static_cast<size_t>(n);
      }
    }
    return true;
  }
  bool send(Kind kind, uint32_t id, std::vector<uint8_t> payload) {
    return write_bytes(assay::encode_frame(static_cast<uint8_t>(kind), id, payload));
  }
  // The next frame, or none at the end of the stream. Silence is a failure.
  std::optional<Frame> receive() {
    for (;;) {
      Frame frame;
      if (splitter_.next(frame)) {
        splitter_.compact();
        return frame;
      }
      if (out_ < 0 || ended_) return std::nullopt;
      pollfd fd = {out_, POLLIN, 0};
      if (poll(&fd, 1, kPatienceMs) <= 0) {
        check(false, "the engine is silent");
        return std::nullopt;
      }
      pull();
    }
  }
  // All frames of one request up to its last one; PROGRESS and frames of other requests are left out.
  std::vector<Frame> answer(uint32_t id) {
    std::vector<Frame> frames;
    while (auto frame = receive()) {
      if (frame->id != id || frame->kind == static_cast<uint8_t>(Kind::progress)) continue;
      frames.push_back(*frame);
      const Kind kind = static_cast<Kind>(frame->kind);
      if (kind == Kind::done || kind == Kind::claim || kind == Kind::error || kind == Kind::pong || kind == Kind::reading ||
          kind == Kind::plan)
        break;
    }
    return frames;
  }
  std::vector<Frame> call(Kind kind, std::vector<uint8_t> payload) {
    const uint32_t id = ++last_id_;
    send(kind, id, std::move(payload));
    return answer(id);
  }
  uint32_t next_id() { return ++last_id_; }
  pid_t pid() const { return pid_; }
  void close_in() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  void close_out() {
    if (out_ >= 0) close(out_);
    out_ = -1;
  }
  // Exit code; -1 when it does not end in time, 128 + signal when one killed it.
  int exit_code() {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(kPatienceMs)) {
      if (out_ >= 0 && !ended_) {
        pollfd fd = {out_, POLLIN, 0};
        if (poll(&fd, 1, 5) > 0) pull();
      }
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      usleep(2000);
    }
    return -1;
  }

 private:
  void pull() {
    uint8_t bytes[65536];
    const ssize_t n = read(out_, bytes, sizeof bytes);
    if (n <= 0) ended_ = true;
    else splitter_.add({bytes, static_cast<size_t>(n)});
  }
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  bool ended_ = false;
  uint32_t last_id_ = 0;
  assay::FrameSplitter splitter_;
};

// Payloads of FRAMES.md.
inline std::vector<uint8_t> gemm_payload(uint32_t session, uint16_t device, uint8_t precision, uint32_t m, uint32_t n, uint32_t k,
                                         uint32_t rounds, uint32_t keep, const assay::Hash& seed) {
  return payload_of(assay::GemmRequest{session, device, static_cast<assay::Precision>(precision), m, n, k, rounds, keep, seed});
}
inline std::vector<uint8_t> fma_payload(uint32_t session, uint16_t device, uint8_t precision, uint32_t lanes, uint32_t steps,
                                        uint32_t rounds, const assay::Hash& seed) {
  return payload_of(assay::FmaRequest{session, device, static_cast<assay::Precision>(precision), lanes, steps, rounds, seed});
}
inline std::vector<uint8_t> stream_payload(uint32_t session, uint16_t reader, uint32_t newest, uint32_t passes,
                                           const assay::Hash& nonce) {
  return payload_of(assay::StreamRequest{session, reader, newest, passes, nonce});
}
inline std::vector<uint8_t> copy_payload(uint32_t session, uint16_t device, uint32_t newest, const assay::Hash& nonce) {
  return payload_of(assay::CopyRequest{session, device, newest, nonce});
}
inline std::vector<uint8_t> chase_payload(uint32_t session, uint32_t newest, uint32_t intervals, const assay::Hash& nonce) {
  return payload_of(assay::ChaseRequest{session, newest, intervals, nonce});
}
inline std::vector<uint8_t> device_payload(uint16_t device) { return payload_of(assay::ReadRequest{device}); }
inline std::vector<uint8_t> open_payload(uint32_t session, uint8_t what, const std::vector<std::pair<uint32_t, uint32_t>>& places) {
  assay::OpenRequest asked{session, what, {}};
  for (const auto& [round, index] : places) asked.places.push_back({round, index});
  return payload_of(asked);
}
inline std::vector<uint8_t> word_payload(uint32_t word) { return payload_of(assay::ReleaseRequest{word}); }

// The code of an ERROR frame, 0 for any other.
inline uint16_t error_code(const Frame& frame) {
  return frame.kind == static_cast<uint8_t>(Kind::error) ? read_payload<assay::ErrorReply>(frame.payload).code : 0;
}
inline uint16_t error_code(const std::vector<Frame>& frames) { return frames.empty() ? 0xFFFF : error_code(frames.back()); }
// True for DONE with this count and end.
inline bool is_done(const std::vector<Frame>& frames, uint32_t count, bool cancelled = false) {
  if (frames.empty() || frames.back().kind != static_cast<uint8_t>(Kind::done)) return false;
  const auto done = read_payload<assay::DoneReply>(frames.back().payload);
  return done.count == count && done.cancelled == cancelled;
}
inline std::vector<assay::Hash> roots_in(const std::vector<Frame>& frames) {
  std::vector<assay::Hash> roots;
  for (const Frame& frame : frames) {
    if (frame.kind != static_cast<uint8_t>(Kind::root)) continue;
    const auto reply = read_payload<assay::RootReply>(frame.payload);
    check(reply.index == roots.size(), "roots are counted from 0");
    roots.push_back(reply.root);
  }
  return roots;
}
struct PlacedOpening {
  uint32_t round;
  assay::Opening opening;
};
inline std::vector<PlacedOpening> openings_in(const std::vector<Frame>& frames) {
  std::vector<PlacedOpening> openings;
  for (const Frame& frame : frames) {
    if (frame.kind != static_cast<uint8_t>(Kind::opening)) continue;
    auto reply = read_payload<assay::OpeningReply>(frame.payload);
    openings.push_back({reply.round, {reply.index, std::move(reply.leaf), std::move(reply.path)}});
  }
  return openings;
}

}  // namespace assay_test
