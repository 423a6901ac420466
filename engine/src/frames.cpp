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
uint8_t PayloadReader::u8() { return *take(1); }
uint16_t PayloadReader::u16() {
  const uint8_t* p = take(2);
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
uint32_t PayloadReader::u32() { return load_le32(take(4)); }
Hash PayloadReader::hash() {
  Hash h;
  memcpy(h.b, take(32), 32);
  return h;
}
void PayloadReader::zeros(uint32_t count) {
  const uint8_t* p = take(count);
  for (uint32_t i = 0; i < count; ++i)
    if (p[i] != 0) throw EngineError(ErrorCode::bad_frame, "reserved byte is not 0");
}
std::span<const uint8_t> PayloadReader::rest() {
  const size_t count = left();
  return {take(count), count};
}
void PayloadReader::finish() const {
  if (left() != 0) throw EngineError(ErrorCode::bad_frame, "payload too long");
}

PayloadWriter& PayloadWriter::u8(uint8_t v) {
  out_.push_back(v);
  return *this;
}
PayloadWriter& PayloadWriter::u16(uint16_t v) { return u8(static_cast<uint8_t>(v)).u8(static_cast<uint8_t>(v >> 8)); }
PayloadWriter& PayloadWriter::u32(uint32_t v) {
  return u16(static_cast<uint16_t>(v)).u16(static_cast<uint16_t>(v >> 16));
}
PayloadWriter& PayloadWriter::hash(const Hash& h) { return bytes(h.b); }
PayloadWriter& PayloadWriter::bytes(std::span<const uint8_t> b) {
  out_.insert(out_.end(), b.begin(), b.end());
  return *this;
}
PayloadWriter& PayloadWriter::text(std::string_view s) {
  out_.insert(out_.end(), s.begin(), s.end());
  return *this;
}

void FrameOutput::send(Kind kind, uint32_t id, std::span<const uint8_t> payload) {
  PayloadWriter frame;
  frame.u32(static_cast<uint32_t>(payload.size()) + kFrameOverhead).u8(static_cast<uint8_t>(kind)).u32(id).bytes(payload);
  const std::vector<uint8_t> bytes = frame.take();
  const std::lock_guard lock(mutex_);
  if (!closed_ && !write_all(bytes.data(), bytes.size())) closed_ = true;
}

// A blocking write() would hold the reader thread for as long as a silent peer likes, so: wait for room in short
// turns, then write no more than a pipe takes without blocking (PIPE_BUF once poll says writable; sockets: MSG_DONTWAIT).
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
  if (length < kFrameOverhead || length > kMaxFrameIn) {
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
