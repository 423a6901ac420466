// What the operating system says of this host: cores and memory that this process may use, names, and what
// the CPU says of itself right now. Claims only.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "device.hpp"

namespace assay {

struct HostInfo {
  std::string cpu_name;
  uint32_t usable_cores = 1;                    // affinity and cgroup quota respected
  uint32_t clock_mhz = 0;                       // 0 when unknown
  uint64_t ram_bytes = 0, ram_free_bytes = 0;   // the cgroup's limit where that is lower
  std::string machine_id;                       // a hash, not the id itself; empty when unknown
  std::vector<std::string> hidden;              // of "/proc" and "/sys", those that cannot be read
};

// Where the kernel tells of the host; tests name others.
struct HostFolders {
  std::string proc = "/proc", sys = "/sys";
};

// Containers may hide these folders. Memory, cores and the CPU's name are then asked for by calls, but nobody
// tells of the container's own limit: no more than 2 GiB are then said to be free.
HostInfo read_host_info(const HostFolders& folders = {});
uint32_t read_usable_cores(const HostFolders& folders = {});
uint64_t read_ram_free_bytes();
// The first core's clock and the package's temperature, where the system shows them.
Reading read_cpu_gauge();

// For those who ask the system themselves. The first line of a file, empty where there is none.
std::string first_line(const std::string& path);
std::string hex_of(std::span<const uint8_t> bytes);
std::string short_hash(const std::string& text);  // 32 hex digits of its SHA-256

}  // namespace assay
