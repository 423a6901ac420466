#include "work/blob_store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine_error.hpp"

namespace assay::work {
namespace {

constexpr uint64_t kPieceBytes = 4 << 20;
// A file has the first name until its writer holds its lock: no sweep can find the second one without.
constexpr char kBegun[] = ".begun-", kUnfinished[] = ".saving-";

std::string hex_of(const Root& root) {
  std::string hex;
  for (const uint8_t byte : root)
    for (const uint8_t half : {byte >> 4, byte & 15}) hex.push_back("0123456789abcdef"[half]);
  return hex;
}

[[noreturn]] void fail(const char* doing) {
  const int why = errno;
  // A limit on the size of files counts as a full disk: both go away when somebody gives more room.
  const bool is_full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  throw EngineError(is_full ? ErrorCode::disk_full : ErrorCode::disk_failed, std::string(doing) + ": " + strerror(why));
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

uint64_t length_of(int fd) {
  struct stat entry {};
  if (fstat(fd, &entry) != 0) fail("cannot look at a blob");
  return S_ISREG(entry.st_mode) ? static_cast<uint64_t>(entry.st_size) : UINT64_MAX;
}

void write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("cannot save");
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
}

// A name that goes unless it is given up.
struct Unfinished {
  int folder;
  std::string name;
  bool is_done = false;
  ~Unfinished() {
    if (!is_done) unlinkat(folder, name.c_str(), 0);
  }
};

}  // namespace

BlobStore::BlobStore(const std::string& folder) : folder_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0) fail(("cannot use the folder " + folder).c_str());
}

BlobStore::~BlobStore() {
  if (folder_ >= 0) ::close(folder_);
}

// Whoever writes a file holds its lock, and the kernel lets go of it however that process ends.
void BlobStore::sweep() {
  const int fd = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = fd < 0 ? nullptr : fdopendir(fd);
  if (entries == nullptr) {
    if (fd >= 0) ::close(fd);
    return;
  }
  while (const dirent* entry = readdir(entries)) {
    if (strncmp(entry->d_name, kUnfinished, sizeof kUnfinished - 1) != 0) continue;
    const File file(openat(folder_, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.fd() >= 0 && flock(file.fd(), LOCK_EX | LOCK_NB) == 0) unlinkat(folder_, entry->d_name, 0);
  }
  closedir(entries);
}

void BlobStore::read(const Root& root, uint64_t bytes,
                     const std::function<void(uint64_t offset, std::span<const uint8_t> piece)>& take) const {
  const std::string name = hex_of(root);
  const File file(openat(folder_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd() < 0 && errno == ENOENT) throw EngineError(ErrorCode::blob_missing, "the store has no " + name);
  if (file.fd() < 0) fail("cannot open a blob");
  const uint64_t found = length_of(file.fd());
  if (found != bytes)
    throw EngineError(ErrorCode::tensor_size, name + " has " + std::to_string(found) + " bytes, not " + std::to_string(bytes) +
                                                  ": it was cut, or belongs to another program");
  std::vector<uint8_t> piece(std::min(bytes, kPieceBytes));
  for (uint64_t at = 0; at < bytes;) {
    // Whole elements: the piece's length is a multiple of 8, and only the last one is shorter.
    const size_t want = std::min<uint64_t>(piece.size(), bytes - at);
    size_t got = 0;
    while (got < want) {
      const ssize_t some = ::pread(file.fd(), piece.data() + got, want - got, static_cast<off_t>(at + got));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) fail("cannot read a blob");
      if (some == 0) throw EngineError(ErrorCode::blob_cut, name + " became shorter");
      got += static_cast<size_t>(some);
    }
    take(at, {piece.data(), want});
    at += want;
  }
}

void BlobStore::Saving::add(const Root& root, uint64_t bytes,
                            const std::function<void(uint64_t offset, std::span<uint8_t> piece)>& fill) {
  const std::string name = hex_of(root);
  {
    const File there(openat(store_.folder_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (there.fd() >= 0 && length_of(there.fd()) == bytes) return;
  }
  // Drawn: engines that share a folder may not share the numbers of processes.
  Root drawn;
  if (getrandom(drawn.data(), drawn.size(), 0) != static_cast<ssize_t>(drawn.size())) fail("cannot save");
  const std::string unused = hex_of(drawn);
  const File file(openat(store_.folder_, (kBegun + unused).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.fd() < 0) fail("cannot save");
  Unfinished unfinished{store_.folder_, kBegun + unused};
  if (flock(file.fd(), LOCK_EX) != 0) fail("cannot save");
  if (renameat(store_.folder_, unfinished.name.c_str(), store_.folder_, (kUnfinished + unused).c_str()) != 0) fail("cannot save");
  unfinished.name = kUnfinished + unused;
  std::vector<uint8_t> piece(std::min(bytes, kPieceBytes));
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    const std::span<uint8_t> now(piece.data(), std::min<uint64_t>(piece.size(), bytes - at));
    fill(at, now);
    write_all(file.fd(), now);
  }
  if (fsync(file.fd()) != 0) fail("cannot save");
  if (renameat(store_.folder_, unfinished.name.c_str(), store_.folder_, name.c_str()) != 0) fail("cannot save");
  unfinished.is_done = true;
}

void BlobStore::Saving::commit() {
  if (fsync(store_.folder_) != 0) fail("cannot save");
}

}  // namespace assay::work
