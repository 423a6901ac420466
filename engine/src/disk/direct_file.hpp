// A file without a name that is read and written past the page cache; gone when it is closed, however the
// process ends. All offsets, lengths and addresses are multiples of 4096 bytes: direct I/O asks for that.
#pragma once
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>

namespace assay {

class DirectFile {
 public:
  // An empty file in this directory. Throws device_failed with the reason where that cannot be: no such
  // directory, no right to write, a file system in memory or one without direct I/O.
  explicit DirectFile(const std::string& directory);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // Takes the room for so many bytes, so that a full disk shows now. Throws no_memory.
  void reserve(uint64_t bytes);
  // From any thread, several at once. Throws no_memory when the disk is full, device_failed otherwise.
  void write(uint64_t at, std::span<iovec> pieces);
  void read(uint64_t at, uint8_t* out, uint64_t bytes) const;
  void make_durable();          // fdatasync
  void forget_cached() const;   // should a file system have kept pages after all

 private:
  int fd_ = -1;
};

}  // namespace assay
