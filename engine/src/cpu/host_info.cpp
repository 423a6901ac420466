// See host_info.hpp. Reads /proc, /sys and the cgroup files, and asks by calls what they do not tell;
// whatever is missing then stays at its default, or 0.
#include "host_info.hpp"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "sha256_host.hpp"

namespace assay {

namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kFreeWithoutLimits = uint64_t{2} << 30;

bool is_hidden(const std::string& path) { return access(path.c_str(), R_OK) != 0; }

uint64_t number_or(const std::string& text, uint64_t otherwise) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return otherwise;
  return strtoull(text.c_str(), nullptr, 10);
}

// The folders of this process's cgroup, innermost first, then the mount's root: a container's limits. A
// container without /proc has its own at the root.
std::vector<std::string> cgroup_folders(const HostFolders& from, const std::string& controller) {
  std::ifstream file(from.proc + "/self/cgroup");
  std::vector<std::string> folders;
  const std::string mount = from.sys + "/fs/cgroup";
  if (!file) return {mount, mount + "/" + controller};
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = names.empty();
    if (!v2 && ("," + names + ",").find("," + controller + ",") == std::string::npos) continue;
    const std::string base = v2 ? mount : mount + "/" + controller;
    while (path.size() > 1) {
      folders.push_back(base + path);
      path.resize(path.rfind('/'));
    }
    folders.push_back(base);
  }
  return folders;
}

uint64_t cgroup_quota_cores(const HostFolders& from) {
  uint64_t cores = kNoLimit;
  for (const std::string& folder : cgroup_folders(from, "cpu")) {
    uint64_t quota = kNoLimit, period = 100000;
    std::istringstream v2(first_line(folder + "/cpu.max"));
    std::string word;
    if (v2 >> word) {
      quota = number_or(word, kNoLimit);
      if (v2 >> word) period = number_or(word, 100000);
    } else {
      quota = number_or(first_line(folder + "/cpu.cfs_quota_us"), kNoLimit);
      period = number_or(first_line(folder + "/cpu.cfs_period_us"), 100000);
    }
    if (quota != kNoLimit && period > 0) cores = std::min(cores, std::max<uint64_t>(1, (quota + period - 1) / period));
  }
  return cores;
}

struct Memory {
  uint64_t total = 0, available = 0;
};

Memory read_memory(const HostFolders& from) {
  Memory memory;
  std::ifstream file(from.proc + "/meminfo");
  std::string key, unit;
  for (uint64_t kib; file >> key >> kib;) {
    std::getline(file, unit);
    if (key == "MemTotal:") memory.total = kib * 1024;
    if (key == "MemAvailable:") memory.available = kib * 1024;
  }
  struct sysinfo told {};
  if (memory.available == 0 && sysinfo(&told) == 0) {  // pages that only cache files are not in it
    memory.total = uint64_t{told.totalram} * told.mem_unit;
    memory.available = (uint64_t{told.freeram} + told.bufferram) * told.mem_unit;
  }
  bool knows_limits = !is_hidden(from.proc + "/meminfo");
  for (const std::string& folder : cgroup_folders(from, "memory")) {
    uint64_t limit = number_or(first_line(folder + "/memory.max"), kNoLimit);
    uint64_t used = number_or(first_line(folder + "/memory.current"), 0);
    if (limit == kNoLimit) {
      limit = number_or(first_line(folder + "/memory.limit_in_bytes"), kNoLimit);
      used = number_or(first_line(folder + "/memory.usage_in_bytes"), 0);
    }
    knows_limits |= limit != kNoLimit;
    if (limit >= memory.total) continue;
    memory.total = limit;
    memory.available = std::min(memory.available, limit > used ? limit - used : 0);
  }
  if (!knows_limits) memory.available = std::min(memory.available, kFreeWithoutLimits);
  return memory;
}

// ARM's /proc/cpuinfo gives numbers (MIDR), not names.
std::string arm_name(uint64_t implementer, uint64_t part) {
  struct Part {
    uint32_t implementer, part;
    const char* name;
  };
  static constexpr Part parts[] = {
      {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd05, "Cortex-A55"},   {0x41, 0xd07, "Cortex-A57"},   {0x41, 0xd08, "Cortex-A72"},
      {0x41, 0xd09, "Cortex-A73"},  {0x41, 0xd0a, "Cortex-A75"},   {0x41, 0xd0b, "Cortex-A76"},   {0x41, 0xd0c, "Neoverse-N1"},
      {0x41, 0xd0d, "Cortex-A77"},  {0x41, 0xd40, "Neoverse-V1"},  {0x41, 0xd41, "Cortex-A78"},   {0x41, 0xd42, "Cortex-A78AE"},
      {0x41, 0xd44, "Cortex-X1"},   {0x41, 0xd49, "Neoverse-N2"},  {0x41, 0xd4a, "Neoverse-E1"},  {0x41, 0xd4f, "Neoverse-V2"},
      {0x41, 0xd84, "Neoverse-V3"}, {0x41, 0xd8e, "Neoverse-N3"},  {0x43, 0x0af, "ThunderX2"},    {0x46, 0x001, "A64FX"},
      {0x48, 0xd01, "Kunpeng-920"}, {0x4e, 0x004, "NVIDIA Carmel"}, {0xc0, 0xac3, "Ampere-1"},    {0xc0, 0xac4, "Ampere-1a"},
  };
  for (const Part& p : parts)
    if (p.implementer == implementer && p.part == part) return p.name;
  char text[64];
  snprintf(text, sizeof text, "ARM implementer 0x%02x part 0x%03x", static_cast<unsigned>(implementer),
           static_cast<unsigned>(part));
  return text;
}

// By the CPU itself.
std::string asked_cpu_name() {
#if defined(__x86_64__)
  uint32_t words[13] = {};  // ends with a zero
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return "";
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t* at = words + 4 * i;
    __get_cpuid(0x80000002 + i, at, at + 1, at + 2, at + 3);
  }
  const std::string name = reinterpret_cast<const char*>(words);
  const size_t first = name.find_first_not_of(' ');
  return first == std::string::npos ? "" : name.substr(first, name.find_last_not_of(' ') + 1 - first);
#elif defined(__aarch64__)
  constexpr unsigned long kAnswersCpuid = 1ul << 11;  // HWCAP_CPUID: the kernel answers for the register
  if ((getauxval(AT_HWCAP) & kAnswersCpuid) == 0) return "";
  uint64_t midr = 0;
  asm("mrs %0, MIDR_EL1" : "=r"(midr));
  return arm_name(midr >> 24 & 0xff, midr >> 4 & 0xfff);
#else
  return "";
#endif
}

void read_cpu_info(HostInfo& info, const HostFolders& from) {
  std::ifstream file(from.proc + "/cpuinfo");
  uint64_t implementer = 0, part = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name") && info.cpu_name.empty()) info.cpu_name = value;
    if (line.starts_with("cpu MHz") && info.clock_mhz == 0) info.clock_mhz = static_cast<uint32_t>(number_or(value, 0));
    if (line.starts_with("CPU implementer")) implementer = strtoull(value.c_str(), nullptr, 16);
    if (line.starts_with("CPU part")) part = strtoull(value.c_str(), nullptr, 16);
  }
  if (info.cpu_name.empty() && part != 0) info.cpu_name = arm_name(implementer, part);
  if (info.cpu_name.empty()) info.cpu_name = asked_cpu_name();
  if (info.cpu_name.empty()) info.cpu_name = "unknown";
  const uint64_t max_khz = number_or(first_line(from.sys + "/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), 0);
  if (max_khz != 0) info.clock_mhz = static_cast<uint32_t>(max_khz / 1000);
}

uint32_t read_clock_mhz() {
  const uint64_t khz = number_or(first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"), 0);
  if (khz != 0) return static_cast<uint32_t>(khz / 1000);
  std::ifstream file("/proc/cpuinfo");
  int lines = 0;  // the first core is enough: with hundreds of cores the file is long
  for (std::string line; lines < 64 && std::getline(file, line); ++lines) {
    const size_t colon = line.find(": ");
    if (line.starts_with("cpu MHz") && colon != std::string::npos)
      return static_cast<uint32_t>(strtoul(line.c_str() + colon + 2, nullptr, 10));
  }
  return 0;
}

// The first zone whose type speaks of a CPU; else none: other zones (a battery, a disk) say nothing of it.
uint32_t read_temperature_c() {
  for (int i = 0; i < 32; ++i) {
    const std::string zone = "/sys/class/thermal/thermal_zone" + std::to_string(i), type = first_line(zone + "/type");
    if (type.empty()) return 0;
    bool of_cpu = false;
    for (const char* word : {"cpu", "CPU", "x86_pkg_temp", "soc"}) of_cpu |= type.find(word) != std::string::npos;
    if (!of_cpu) continue;
    const long millis = strtol(first_line(zone + "/temp").c_str(), nullptr, 10);
    if (millis > 0) return static_cast<uint32_t>(millis / 1000);
  }
  return 0;
}

}  // namespace

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string hex_of(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text.append({"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]});
  return text;
}

std::string short_hash(const std::string& text) {
  const Hash hash = sha256_bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return hex_of({hash.b, 16});
}

Reading read_cpu_gauge() {
  Reading reading;
  reading.core_mhz = read_clock_mhz();
  reading.temperature_c = read_temperature_c();
  return reading;
}

uint32_t read_usable_cores(const HostFolders& folders) {
  uint64_t cores = std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN));
  // Sized for hosts with more CPUs than a cpu_set_t holds.
  constexpr int most = 8192;
  if (cpu_set_t* set = CPU_ALLOC(most)) {
    const size_t size = CPU_ALLOC_SIZE(most);
    if (sched_getaffinity(0, size, set) == 0) cores = static_cast<uint64_t>(std::max(1, CPU_COUNT_S(size, set)));
    CPU_FREE(set);
  }
  return static_cast<uint32_t>(std::min({cores, cgroup_quota_cores(folders), uint64_t{1024}}));
}

uint64_t read_ram_free_bytes() { return read_memory({}).available; }

HostInfo read_host_info(const HostFolders& folders) {
  HostInfo info;
  if (is_hidden(folders.proc + "/meminfo")) info.hidden.push_back("/proc");
  if (is_hidden(folders.sys + "/devices")) info.hidden.push_back("/sys");
  read_cpu_info(info, folders);
  info.usable_cores = read_usable_cores(folders);
  const Memory memory = read_memory(folders);
  info.ram_bytes = memory.total;
  info.ram_free_bytes = memory.available;
  const std::string id = first_line("/etc/machine-id");
  if (!id.empty()) info.machine_id = short_hash("assay/machine/1 " + id);
  return info;
}

}  // namespace assay
