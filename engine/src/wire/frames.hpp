// Frames: a strict reader and writer of payloads, and the two ends of the stream. Follows engine/FRAMES.md.
// Not here: which there are (frame_table.hpp), what they mean (commands/, probe/), who runs them (server/).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine_error.hpp"

namespace assay {

struct Frame {
  uint8_t kind = 0;  // as it came: may name no Kind
  uint32_t id = 0;
  std::vector<uint8_t> payload;
};

// Reads the fields of a frame from front to back (`visit` of frame_table.hpp). Too short throws bad_frame,
// and so do a reserved byte that is not 0 and bytes that are left.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  void operator()(auto&&... fields) { (take(fields), ...); }
  void finish();

 private:
  size_t left() const { return bytes_.size() - at_; }
  const uint8_t* bytes(size_t count);
  void take(uint8_t& v) { v = *bytes(1); }
  void take(uint16_t& v);
  void take(uint32_t& v) { v = load_le32(bytes(4)); }
  void take(uint64_t& v) {
    v = load_le32(bytes(4));
    v |= uint64_t{load_le32(bytes(4))} << 32;
  }
  void take(bool& v);
  void take(Precision& v) { v = static_cast<Precision>(*bytes(1)); }
  void take(Hash& v);
  void take(std::vector<Place>& v);
  // Their lengths stand here and their bytes at the end: finish() takes those.
  void take(std::vector<uint8_t>& v);
  void take(std::vector<Hash>& v);
  template <typename Value>
  void take(Rest<Value>& v) {
    if (left() < v.min || left() > v.max) throw EngineError(ErrorCode::bad_frame, "the payload has a wrong size");
    const size_t count = left();
    const uint8_t* from = bytes(count);
    v.value.assign(from, from + count);
  }
  void take(Zeros& v);
  void take(Magic&);
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  std::vector<uint8_t>* last_bytes_ = nullptr;
  std::vector<Hash>* last_hashes_ = nullptr;
};

template <typename Message>
Message read_payload(std::span<const uint8_t> payload) {
  Message message;
  PayloadReader in(payload);
  Message::visit(message, in);
  in.finish();
  return message;
}

class PayloadWriter {
 public:
  void operator()(const auto&... fields) { (put(fields), ...); }
  std::vector<uint8_t> take();

 private:
  void put(uint8_t v) { out_.push_back(v); }
  void put(uint16_t v);
  void put(uint32_t v);
  void put(uint64_t v) { (*this)(static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)); }
  void put(bool v) { put(static_cast<uint8_t>(v ? 1 : 0)); }
  void put(Precision v) { put(static_cast<uint8_t>(v)); }
  void put(const Hash& v) { add(out_, v.b, sizeof v.b); }
  void put(const std::vector<Place>& v);
  void put(const std::vector<uint8_t>& v);
  void put(const std::vector<Hash>& v);
  template <typename Value>
  void put(const Rest<Value>& v) {
    add(out_, v.value.data(), v.value.size());
  }
  void put(const Zeros& v) { out_.insert(out_.end(), v.count, 0); }
  void put(const Magic&) { add(out_, kMagic, sizeof kMagic - 1); }
  static void add(std::vector<uint8_t>& to, const void* bytes, size_t count);
  std::vector<uint8_t> out_, last_;
};

template <typename Message>
std::vector<uint8_t> payload_of(const Message& message) {
  PayloadWriter out;
  Message::visit(message, out);
  return out.take();
}

// A whole frame as it goes over the wire.
std::vector<uint8_t> encode_frame(uint8_t kind, uint32_t id, std::span<const uint8_t> payload);

// The stream towards the verifier; any thread may send, whole frames only.
// Never blocks for good: a peer that is gone, or takes nothing for `stall_s` seconds, closes it.
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

// Valid UTF-8 of at most `max_bytes`, cut between characters; other bytes and control characters become '?'.
std::string clean_text(std::string_view text, size_t max_bytes);

}  // namespace assay
