// Frames: kinds, a strict reader and writer of payloads, and the two ends of the stream. Follows engine/FRAMES.md.
// Not here: what a request means (commands/) or who runs it (server.hpp).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device.hpp"

namespace assay {

constexpr uint16_t kProtocolVersion = 2;
constexpr uint32_t kFrameOverhead = 5;                // kind and id, counted by `length`
constexpr uint32_t kMaxFrameIn = 1u << 20;            // largest `length` towards the engine
constexpr uint32_t kMaxErrorBytes = 1024;             // of an ERROR's message
constexpr uint32_t kMaxClaimBytes = 64 * 1024;

enum class Kind : uint8_t {
  hello = 0x01,
  gemm = 0x02,
  stream = 0x03,
  fma = 0x04,
  open = 0x05,
  release = 0x06,
  ping = 0x07,
  cancel = 0x08,
  copy = 0x09,
  read = 0x0A,
  ready = 0x80,
  claim = 0x81,
  root = 0x82,
  progress = 0x83,
  done = 0x84,
  opening = 0x85,
  pong = 0x86,
  reading = 0x87,
  error = 0xFF,
};

struct Frame {
  uint8_t kind = 0;  // as it came: may name no Kind
  uint32_t id = 0;
  std::vector<uint8_t> payload;
};

// Reads a payload from front to back; too short throws bad_frame, and so does finish() when bytes are left.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint8_t u8();
  uint16_t u16();
  uint32_t u32();
  Hash hash();
  void zeros(uint32_t count);  // reserved bytes: anything else is not the payload of FRAMES.md
  std::span<const uint8_t> rest();
  size_t left() const { return bytes_.size() - at_; }
  void finish() const;

 private:
  const uint8_t* take(size_t count);
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

class PayloadWriter {
 public:
  PayloadWriter& u8(uint8_t v);
  PayloadWriter& u16(uint16_t v);
  PayloadWriter& u32(uint32_t v);
  PayloadWriter& hash(const Hash& h);
  PayloadWriter& bytes(std::span<const uint8_t> b);
  PayloadWriter& text(std::string_view s);
  std::vector<uint8_t> take() { return std::move(out_); }

 private:
  std::vector<uint8_t> out_;
};

// The stream towards the verifier; any thread may send, whole frames only.
// Never blocks for good: a peer that is gone, or takes nothing for `stall_s` seconds, closes it, and then send() drops frames.
class FrameOutput {
 public:
  FrameOutput(int out_fd, int in_fd, unsigned stall_s) : fd_(out_fd), in_fd_(in_fd), stall_s_(stall_s) {}
  void send(Kind kind, uint32_t id, std::span<const uint8_t> payload);
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

 private:
  bool write_all(const uint8_t* data, size_t size);
  int fd_, in_fd_;
  unsigned stall_s_;
  std::mutex mutex_;
  std::atomic<bool> closed_{false};
};

// Cuts the byte stream from the verifier into frames, wherever reads happen to split it.
class FrameSplitter {
 public:
  void add(std::span<const uint8_t> bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }
  // The next whole frame. A length out of range throws bad_frame: the stream cannot be read on after that.
  bool next(Frame& frame);
  void compact();

 private:
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;
};

// Valid UTF-8 of at most `max_bytes`, cut between characters; bytes that are not UTF-8 and control characters become '?'.
std::string clean_text(std::string_view text, size_t max_bytes);

}  // namespace assay
