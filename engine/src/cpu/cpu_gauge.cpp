// See cpu_gauge.hpp. Reads /sys, and /proc/cpuinfo where there is no cpufreq; whatever is missing is 0.
#include "cpu_gauge.hpp"

#include <cstdlib>
#include <fstream>

namespace assay {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint32_t read_clock_mhz() {
  const std::string khz = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
  if (!khz.empty()) return static_cast<uint32_t>(strtoul(khz.c_str(), nullptr, 10) / 1000);
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

Reading read_cpu_gauge() {
  Reading reading;
  reading.core_mhz = read_clock_mhz();
  reading.temperature_c = read_temperature_c();
  return reading;
}

}  // namespace assay
