// Files without a name that are read and written past the page cache; gone when the process ends, however it
// ends. All offsets, lengths and addresses are multiples of 4096 bytes: direct I/O asks for that.
#pragma once
#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace assay {

// All the files that this process will ever write, opened before its sandbox closes: from then on it may make
// none. Also the bytes that it may write to them, a limit of the owner's.
class DiskRoom {
 public:
  // Throws device_failed with the reason where files cannot be made: no such directory, no right to write, a
  // file system in memory or one without direct I/O.
  explicit DiskRoom(const std::string& directory, uint64_t may_write = UINT64_MAX);
  ~DiskRoom();
  DiskRoom(const DiskRoom&) = delete;
  DiskRoom& operator=(const DiskRoom&) = delete;

  const std::string& path() const { return path_; }  // without links
  int any_file() const { return files_[0]; }         // for questions about the file system
  uint64_t written() const { return written_; }
  uint64_t may_still_write() const { return may_write_ - written_; }
  // Counted when it is promised, not when it is done. Throws no_memory.
  void charge(uint64_t bytes);

 private:
  friend class DirectFile;
  int take();  // throws no_memory when all are in use
  void give_back(int fd);

  std::string path_;
  const uint64_t may_write_;
  std::atomic<uint64_t> written_ = 0;
  std::mutex mutex_;
  std::vector<int> files_, free_;
};

// One of the room's files, empty at first.
class DirectFile {
 public:
  explicit DirectFile(DiskRoom& room) : room_(room), fd_(room.take()) {}
  ~DirectFile() { room_.give_back(fd_); }
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
  DiskRoom& room_;
  int fd_;
};

}  // namespace assay
