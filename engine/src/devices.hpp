// All devices of this host, from every backend.
#pragma once
#include "device.hpp"

namespace assay {

struct DeviceOptions {
  unsigned threads = 0;      // of all CPU devices together; 0: all usable cores
  unsigned cpu_devices = 1;  // more than one are virtual
  bool disk = true;
  std::string disk_directory;  // empty: search
};

// What the driver of the GPUs says. Claims only.
struct DriverClaim {
  bool is_built_in = false;    // whether this program has device code
  std::string driver_version;  // e.g. "580.159.04", empty without a driver
  std::string cuda_version;    // e.g. "13.0"
  std::string why_none;        // in words, empty when GPUs were found
};

struct FoundDevices {
  std::vector<std::unique_ptr<Device>> devices;
  DriverClaim driver;
};

// GPUs first, then CPUs, then the disk. A backend that fails is left out, and the others go on. Takes seconds
// on some hosts.
FoundDevices find_devices(const DeviceOptions& options);

// ---- backends
FoundDevices find_cuda_devices();
std::unique_ptr<Device> make_cpu_device(unsigned threads);  // 0: all usable cores
// `count` virtual devices that share the threads and the memory equally, each with one thread at least.
std::vector<std::unique_ptr<Device>> make_cpu_devices(unsigned threads, unsigned count);
// The disk under `directory`; under the first usable of $TMPDIR, /var/tmp and the current directory when that
// is empty. Null, with the reason in `why`, where no file can be made that goes past the page cache.
std::unique_ptr<Device> find_disk(const std::string& directory, std::string& why);

}  // namespace assay
