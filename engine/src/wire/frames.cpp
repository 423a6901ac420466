// See frames.hpp.
#include "frames.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace assay {

const uint8_t* PayloadReader::bytes(size_t count) {
  if (count > left()) throw EngineError(ErrorCode::bad_frame, "payload too short");
  const uint8_t* p = bytes_.data() + at_;
  at_ += count;
  return p;
}
void PayloadReader::take(uint16_t& v) {
  const uint8_t* p = bytes(2);
  v = static_cast<uint16_t>(p[0] | p[1] << 8);
}
void PayloadReader::take(bool& v) {
  const uint8_t byte = *bytes(1);
  if (byte > 1) throw EngineError(ErrorCode::bad_frame, "a flag is neither 0 nor 1");
  v = byte == 1;
}
void PayloadReader::take(Hash& v) { memcpy(v.b, bytes(sizeof v.b), sizeof v.b); }
void PayloadReader::take(std::vector<Place>& v) {
  const uint32_t count = load_le32(bytes(4));
  if (left() != uint64_t{count} * 8) throw EngineError(ErrorCode::bad_frame, "count does not fit the payload");
  v.resize(count);
  for (Place& place : v) (*this)(place.round, place.index);
}
void PayloadReader::take(std::vector<uint8_t>& v) {
  uint16_t count;
  take(count);
  v.resize(count);
  last_bytes_ = &v;
}
void PayloadReader::take(std::vector<Hash>& v) {
  uint16_t count;
  take(count);
  v.resize(count);
  last_hashes_ = &v;
}
void PayloadReader::take(Zeros& v) {
  const uint8_t* p = bytes(v.count);
  for (size_t i = 0; i < v.count; ++i)
    if (p[i] != 0) throw EngineError(ErrorCode::bad_frame, "reserved byte is not 0");
}
void PayloadReader::take(Magic&) {
  if (memcmp(bytes(strlen(kMagic)), kMagic, strlen(kMagic)) != 0) throw EngineError(ErrorCode::bad_frame, "not the magic");
}
void PayloadReader::finish() {
  if (last_bytes_ != nullptr) memcpy(last_bytes_->data(), bytes(last_bytes_->size()), last_bytes_->size());
  if (last_hashes_ != nullptr)
    for (Hash& hash : *last_hashes_) take(hash);
  if (left() != 0) throw EngineError(ErrorCode::bad_frame, "payload too long");
}

void PayloadWriter::add(std::vector<uint8_t>& to, const void* bytes, size_t count) {
  to.insert(to.end(), static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + count);
}
void PayloadWriter::put(uint16_t v) { (*this)(static_cast<uint8_t>(v), static_cast<uint8_t>(v >> 8)); }
void PayloadWriter::put(uint32_t v) { (*this)(static_cast<uint16_t>(v), static_cast<uint16_t>(v >> 16)); }
void PayloadWriter::put(const std::vector<Place>& v) {
  put(static_cast<uint32_t>(v.size()));
  for (const Place& place : v) (*this)(place.round, place.index);
}
void PayloadWriter::put(const std::vector<uint8_t>& v) {
  put(static_cast<uint16_t>(v.size()));
  add(last_, v.data(), v.size());
}
void PayloadWriter::put(const std::vector<Hash>& v) {
  put(static_cast<uint16_t>(v.size()));
  for (const Hash& hash : v) add(last_, hash.b, sizeof hash.b);
}
std::vector<uint8_t> PayloadWriter::take() {
  add(out_, last_.data(), last_.size());
  return std::move(out_);
}

std::vector<uint8_t> encode_frame(uint8_t kind, uint32_t id, std::span<const uint8_t> payload) {
  PayloadWriter frame;
  frame(static_cast<uint32_t>(payload.size()) + kFrameOverhead, kind, id, Rest{payload, 0, 0});
  return frame.take();
}

void FrameOutput::send(Kind kind, uint32_t id, std::span<const uint8_t> payload) {
  const std::vector<uint8_t> bytes = encode_frame(static_cast<uint8_t>(kind), id, payload);
  const std::lock_guard lock(mutex_);
  if (!closed_ && !write_all(bytes.data(), bytes.size())) closed_ = true;
}

// A blocking write() would hold the reader thread for as long as a silent peer likes, so: wait for room in
// turns, then write no more than fits (a pipe: PIPE_BUF once poll says writable; a socket: MSG_DONTWAIT).
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
  const auto byte = [&](size_t j) { return static_cast<uint8_t>(s[j]); };
  const uint8_t c = byte(i);
  const size_t n = c < 0x80 ? 1 : c >> 5 == 0x06 ? 2 : c >> 4 == 0x0E ? 3 : c >> 3 == 0x1E ? 4 : 0;
  if (n < 2 || i + n > s.size()) return n == 1 ? 1 : 0;
  uint32_t code = c & (0x7Fu >> n);
  for (size_t j = i + 1; j < i + n; ++j) {
    if ((byte(j) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(j) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[n] || code > 0x10FFFF || is_surrogate ? 0 : n;
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
