// See frames.hpp.
#include "frames.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay {

const uint8_t* PayloadReader::take(size_t count) {
  if (count > left()) throw EngineError(ErrorCode::bad_frame, "payload too short");
  const uint8_t* p = bytes_.data() + at_;
  at_ += count;
  return p;
}
uint16_t PayloadReader::u16() {
  const uint8_t* p = take(2);
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
void PayloadReader::field(const char*, uint16_t& v) { v = u16(); }
void PayloadReader::field(const char* name, bool& v) {
  const uint8_t byte = *take(1);
  if (byte > 1) throw EngineError(ErrorCode::bad_frame, std::string(name) + " is neither 0 nor 1");
  v = byte == 1;
}
void PayloadReader::field(const char*, Hash& v) { memcpy(v.b, take(sizeof v.b), sizeof v.b); }
void PayloadReader::field(const char*, std::vector<Place>& v) {
  const uint32_t count = load_le32(take(4));
  if (left() != uint64_t{count} * 8) throw EngineError(ErrorCode::bad_frame, "count does not fit the payload");
  v.resize(count);
  for (Place& place : v) {
    place.round = load_le32(take(4));
    place.index = load_le32(take(4));
  }
}
void PayloadReader::field(const char*, std::vector<uint8_t>& v) {
  v.resize(u16());
  last_bytes_ = &v;
}
void PayloadReader::field(const char*, std::vector<Hash>& v) {
  v.resize(u16());
  last_hashes_ = &v;
}
void PayloadReader::rest(const char* name, std::vector<uint8_t>& v, size_t min, size_t max) {
  const size_t count = left();
  if (count < min || count > max) throw EngineError(ErrorCode::bad_frame, std::string(name) + " has a wrong size");
  const uint8_t* p = take(count);
  v.assign(p, p + count);
}
void PayloadReader::rest(const char* name, std::string& v, size_t min, size_t max) {
  std::vector<uint8_t> bytes;
  rest(name, bytes, min, max);
  v.assign(bytes.begin(), bytes.end());
}
void PayloadReader::zeros(size_t count) {
  const uint8_t* p = take(count);
  for (size_t i = 0; i < count; ++i)
    if (p[i] != 0) throw EngineError(ErrorCode::bad_frame, "reserved byte is not 0");
}
void PayloadReader::magic(std::string_view text) {
  if (memcmp(take(text.size()), text.data(), text.size()) != 0) throw EngineError(ErrorCode::bad_frame, "not the magic");
}
void PayloadReader::finish() {
  if (last_bytes_ != nullptr) memcpy(last_bytes_->data(), take(last_bytes_->size()), last_bytes_->size());
  if (last_hashes_ != nullptr)
    for (Hash& hash : *last_hashes_) field("", hash);
  if (left() != 0) throw EngineError(ErrorCode::bad_frame, "payload too long");
}

namespace {
void append(std::vector<uint8_t>& to, std::span<const uint8_t> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
}  // namespace

void PayloadWriter::field(const char*, uint8_t v) { out_.push_back(v); }
void PayloadWriter::field(const char*, uint16_t v) {
  out_.push_back(static_cast<uint8_t>(v));
  out_.push_back(static_cast<uint8_t>(v >> 8));
}
void PayloadWriter::field(const char* name, uint32_t v) {
  field(name, static_cast<uint16_t>(v));
  field(name, static_cast<uint16_t>(v >> 16));
}
void PayloadWriter::field(const char*, const Hash& v) { append(out_, v.b); }
void PayloadWriter::field(const char* name, const std::vector<Place>& v) {
  field(name, static_cast<uint32_t>(v.size()));
  for (const Place& place : v) {
    field(name, place.round);
    field(name, place.index);
  }
}
void PayloadWriter::field(const char* name, const std::vector<uint8_t>& v) {
  field(name, static_cast<uint16_t>(v.size()));
  append(last_, v);
}
void PayloadWriter::field(const char* name, const std::vector<Hash>& v) {
  field(name, static_cast<uint16_t>(v.size()));
  for (const Hash& hash : v) append(last_, hash.b);
}
void PayloadWriter::rest(const char*, std::span<const uint8_t> v, size_t, size_t) { append(out_, v); }
void PayloadWriter::zeros(size_t count) { out_.insert(out_.end(), count, 0); }
void PayloadWriter::magic(std::string_view text) { out_.insert(out_.end(), text.begin(), text.end()); }
std::vector<uint8_t> PayloadWriter::take() {
  append(out_, last_);
  return std::move(out_);
}

std::vector<uint8_t> encode_frame(uint8_t kind, uint32_t id, std::span<const uint8_t> payload) {
  PayloadWriter frame;
  frame.field("length", static_cast<uint32_t>(payload.size()) + kFrameOverhead);
  frame.field("kind", kind);
  frame.field("id", id);
  frame.rest("payload", payload, 0, 0);
  return frame.take();
}

void FrameOutput::send(Kind kind, uint32_t id, std::span<const uint8_t> payload) {
  const std::vector<uint8_t> bytes = encode_frame(static_cast<uint8_t>(kind), id, payload);
  const std::lock_guard lock(mutex_);
  if (!closed_ && !write_all(bytes.data(), bytes.size())) closed_ = true;
}

// A blocking write() would hold the reader thread for as long as a silent peer likes, so: wait for room in
// short turns, then write no more than a pipe takes without blocking (PIPE_BUF once poll says writable;
// sockets: MSG_DONTWAIT).
bool FrameOutput::write_all(const uint8_t* data, size_t size) {
  using Clock = std::chrono::steady_clock;
  auto last_moved = Clock::now();
  bool is_socket = true;
  while (size > 0) {
    if (closed_) return false;
    pollfd fds[2] = {{fd_, POLLOUT, 0}, {in_fd_, 0, 0}};
    const int ready = poll(fds, 2, 100);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && (fds[0].revents & (POLLERR | POLLNVAL))) return false;
    if (ready <= 0 || !(fds[0].revents & POLLOUT)) {
      if (ready > 0 && (fds[0].revents & POLLHUP)) return false;
      const auto stalled = Clock::now() - last_moved;
      // The peer has hung up its sending side and reads nothing: nobody is there.
      if ((fds[1].revents & POLLHUP) && stalled > std::chrono::seconds(2)) return false;
      if (stalled > std::chrono::seconds(stall_s_)) return false;
      if (ready > 0) usleep(20000);  // poll returned for the other descriptor's sake
      continue;
    }
    ssize_t wrote = -1;
    if (is_socket) {
      wrote = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (wrote < 0 && errno == ENOTSOCK) is_socket = false;
    }
    if (!is_socket) wrote = ::write(fd_, data, std::min<size_t>(size, 4096));
    if (wrote < 0) {
      if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) continue;
      return false;
    }
    data += wrote;
    size -= static_cast<size_t>(wrote);
    last_moved = Clock::now();
  }
  return true;
}

bool FrameSplitter::next(Frame& frame) {
  if (buffer_.size() - at_ < 4) return false;
  const uint32_t length = load_le32(buffer_.data() + at_);
  if (length < kFrameOverhead || length > kMaxFrameToEngine) {
    throw EngineError(ErrorCode::bad_frame, "frame length " + std::to_string(length) + " is out of range");
  }
  if (buffer_.size() - at_ - 4 < length) return false;
  const uint8_t* p = buffer_.data() + at_ + 4;
  frame.kind = p[0];
  frame.id = load_le32(p + 1);
  frame.payload.assign(p + kFrameOverhead, p + length);
  at_ += 4 + size_t{length};
  return true;
}

void FrameSplitter::compact() {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at_));
  at_ = 0;
}

namespace {
// Length of the UTF-8 character at s[i], 0 when there is none (overlong, surrogate, out of range, cut off).
size_t utf8_length(std::string_view s, size_t i) {
  const auto byte = [&](size_t j) { return j < s.size() ? static_cast<uint8_t>(s[j]) : uint8_t{0}; };
  const auto tail = [&](size_t j) { return (byte(j) & 0xC0) == 0x80; };
  const uint8_t c = byte(i);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(i + 1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if (!tail(i + 1) || !tail(i + 2)) return 0;
    if (c == 0xE0 && byte(i + 1) < 0xA0) return 0;
    if (c == 0xED && byte(i + 1) > 0x9F) return 0;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (!tail(i + 1) || !tail(i + 2) || !tail(i + 3)) return 0;
    if (c == 0xF0 && byte(i + 1) < 0x90) return 0;
    if (c == 0xF4 && byte(i + 1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}
}  // namespace

std::string clean_text(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t n = utf8_length(text, i);
    const uint8_t c = static_cast<uint8_t>(text[i]);
    const bool good = n > 1 || (n == 1 && c >= 0x20 && c != 0x7F);
    if (out.size() + (good ? n : 1) > max_bytes) break;
    if (good) {
      out.append(text.substr(i, n));
    } else {
      out.push_back('?');
    }
    i += n == 0 ? 1 : n;
  }
  return out;
}

}  // namespace assay
