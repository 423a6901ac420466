// All devices of this host, from every backend.
#pragma once
#include "device.hpp"
#include "disk/direct_file.hpp"
#include "other_cards.hpp"

namespace assay_kernels {
struct Kernels;
}

namespace assay {

struct DeviceOptions {
  unsigned threads = 0;      // of all CPU devices together; 0: all usable cores
  unsigned cpu_devices = 1;  // more than one are virtual
  std::shared_ptr<DiskRoom> disk;  // null: none is presented
  std::vector<OtherCard> other_cards;
};

// What the host says of its GPUs. Claims only.
struct DriverClaim {
  bool is_built_in = false;    // whether this program has device code
  std::string driver_version;  // e.g. "580.159.04", empty without a driver
  std::string cuda_version;    // e.g. "13.0"
  std::string why_none;        // in words, empty when GPUs were found
  std::vector<OtherCard> other_cards;  // which this program cannot use
};

struct FoundDevices {
  std::vector<std::unique_ptr<Device>> devices;
  DriverClaim driver;
};

// GPUs first, then CPUs, then the disk. A backend that fails is left out. Takes seconds on some hosts.
FoundDevices find_devices(const DeviceOptions& options);

// ---- backends
FoundDevices find_cuda_devices();
// `count` virtual devices that share the threads (0: all usable cores) and the memory equally, each with one
// thread at least. Tests choose the instruction set; null: the best.
std::vector<std::unique_ptr<Device>> make_cpu_devices(unsigned threads, unsigned count,
                                                      const assay_kernels::Kernels* kernels = nullptr, int nice = 0);
inline std::unique_ptr<Device> make_cpu_device(unsigned threads, const assay_kernels::Kernels* kernels = nullptr) {
  return std::move(make_cpu_devices(threads, 1, kernels)[0]);
}
// Room on the disk under `directory`; under the first usable of $TMPDIR, /var/tmp and the current directory
// when that is empty. Null, with the reason in `why`, where no file can be made that goes past the page
// cache.
std::shared_ptr<DiskRoom> open_disk_room(const std::string& directory, uint64_t may_write, std::string& why);
std::unique_ptr<Device> make_disk(std::shared_ptr<DiskRoom> room);

}  // namespace assay
