// What the system says of the disk that the files of a room lie on. Claims only.
#pragma once
#include <cstdint>
#include <string>

#include "direct_file.hpp"

namespace assay {

struct DiskInfo {
  std::string name;  // the drive's model where it has one, then the device and the file system
  std::string uuid;  // of the machine and the drive; empty when the machine has none
  uint64_t bytes = 0, free_bytes = 0;  // of the file system; free: without what is left to others
};

// Never taken: a full disk stops the rest of the host.
constexpr uint64_t kDiskReserveBytes = uint64_t{1} << 30;

DiskInfo read_disk_info(const DiskRoom& room);
uint64_t read_disk_free_bytes(const DiskRoom& room);

}  // namespace assay
