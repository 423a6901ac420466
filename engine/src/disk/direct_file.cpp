// See direct_file.hpp.
#include "direct_file.hpp"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine_error.hpp"

namespace assay {

namespace {

// File systems in memory; newer kernels let them be opened for direct I/O all the same.
constexpr long kTmpfs = 0x01021994, kRamfs = static_cast<long>(0x858458f6), kHugetlbfs = static_cast<long>(0x958458f6);

[[noreturn]] void fail(const char* call, int error) {
  const bool no_room = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw EngineError(no_room ? ErrorCode::no_memory : ErrorCode::device_failed,
                    std::string(call) + " on the disk failed: " + strerror(error));
}

int open_nameless(const std::string& directory) {
  // O_EXCL: it can never be given a name.
  const int fd = open(directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  if (errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == EROFS || errno == ENOSPC) return -1;
  std::string path = directory + "/.assay-XXXXXX";
  const int named = mkostemp(path.data(), O_DIRECT | O_CLOEXEC);
  if (named < 0) return -1;
  unlink(path.c_str());
  return named;
}

// One for each session (FRAMES.md), and one that takes the place of another.
constexpr size_t kFiles = 65;

// As given where there is no such path.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  return real ? real.get() : path;
}

}  // namespace

DiskRoom::DiskRoom(const std::string& directory, uint64_t may_write) : path_(resolved(directory)), may_write_(may_write) {
  while (files_.size() < kFiles) {
    const int fd = open_nameless(directory);
    if (fd < 0 && files_.empty()) fail("making a file for direct I/O", errno);
    if (fd < 0) break;  // few descriptors are allowed here: as many copies
    files_.push_back(fd);
  }
  free_ = files_;
  struct statfs system {};
  const bool known = fstatfs(files_[0], &system) == 0;
  const long type = static_cast<long>(system.f_type);
  if (known && type != kTmpfs && type != kRamfs && type != kHugetlbfs) return;
  for (const int fd : files_) close(fd);
  throw EngineError(ErrorCode::device_failed, known ? "the file system lies in memory" : "the file system cannot be asked");
}

DiskRoom::~DiskRoom() {
  for (const int fd : files_) close(fd);
}

void DiskRoom::charge(uint64_t bytes) {
  uint64_t before = written_;
  do {
    if (bytes > may_write_ || before > may_write_ - bytes)
      throw EngineError(ErrorCode::no_memory, "the owner allows no more writing to the disk now");
  } while (!written_.compare_exchange_weak(before, before + bytes));
}

int DiskRoom::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) throw EngineError(ErrorCode::no_memory, "there are too many copies on the disk");
  const int fd = free_.back();
  free_.pop_back();
  return fd;
}

void DiskRoom::give_back(int fd) {
  // What was in it must not be there for whoever is next, nor take room meanwhile.
  const bool is_empty = ftruncate(fd, 0) == 0;
  const std::lock_guard lock(mutex_);
  if (is_empty) free_.push_back(fd);
}

void DirectFile::reserve(uint64_t bytes) {
  // Extending writes wait for each other; writes into room that is there run side by side.
  if (fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) fail("fallocate", errno);
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) fail("ftruncate", errno);
}

void DirectFile::write(uint64_t at, std::span<iovec> pieces) {
  while (!pieces.empty()) {
    const ssize_t wrote = pwritev(fd_, pieces.data(), static_cast<int>(pieces.size()), static_cast<off_t>(at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) fail("pwritev", wrote == 0 ? EIO : errno);
    at += static_cast<uint64_t>(wrote);
    size_t left = static_cast<size_t>(wrote);
    while (!pieces.empty() && left >= pieces[0].iov_len) {
      left -= pieces[0].iov_len;
      pieces = pieces.subspan(1);
    }
    if (left == 0) continue;
    pieces[0].iov_base = static_cast<uint8_t*>(pieces[0].iov_base) + left;
    pieces[0].iov_len -= left;
  }
}

void DirectFile::read(uint64_t at, uint8_t* out, uint64_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = pread(fd_, out, bytes, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    // The end of the file cannot be: all of it was written.
    if (got <= 0) fail("pread", got == 0 ? EIO : errno);
    at += static_cast<uint64_t>(got);
    out += got;
    bytes -= static_cast<uint64_t>(got);
  }
}

void DirectFile::make_durable() {
  while (fdatasync(fd_) != 0)
    if (errno != EINTR) fail("fdatasync", errno);
}

void DirectFile::forget_cached() const { posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

}  // namespace assay
