// What the operating system says of this host: cores and memory that this process may use, names. Claims
// only.
#pragma once
#include <cstdint>
#include <string>

namespace assay {

struct HostInfo {
  std::string cpu_name;
  uint32_t usable_cores = 1;                    // affinity and cgroup quota respected
  uint32_t clock_mhz = 0;                       // 0 when unknown
  uint64_t ram_bytes = 0, ram_free_bytes = 0;   // the cgroup's limit where that is lower
  std::string machine_id;                       // a hash, not the id itself; empty when unknown
};

HostInfo read_host_info();
uint32_t read_usable_cores();
uint64_t read_ram_free_bytes();

}  // namespace assay
