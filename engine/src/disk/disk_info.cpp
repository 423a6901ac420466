// See disk_info.hpp. Reads fstatvfs, /sys/dev/block and /proc/self/mountinfo; whatever is missing is left
// out.
#include "disk_info.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "cpu/host_info.hpp"

namespace assay {

namespace {

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), &free);
  return real ? real.get() : "";
}

std::string trimmed_line(const std::string& path) {
  std::string line = first_line(path);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

struct Mount {
  std::string source, type;
};

// Of the mounts that hold the path the one with the longest name; of equals the last: it covers the others.
Mount mount_of(const std::string& path) {
  std::ifstream file("/proc/self/mountinfo");
  Mount best;
  size_t longest = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point, word;
    if (!(words >> id >> parent >> device >> root >> point)) continue;
    const bool holds = point == "/" || path == point || path.starts_with(point + "/");
    if (!holds || point.size() < longest) continue;
    while (words >> word && word != "-") {
    }
    Mount mount;
    if (!(words >> mount.type >> mount.source)) continue;
    longest = point.size();
    best = mount;
  }
  return best;
}

// The model stands beside the whole drive, a partition's folder is inside that one's.
std::string model_of(dev_t device) {
  const std::string folder = real_path("/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)));
  if (folder.empty()) return "";
  const std::string model = trimmed_line(folder + "/device/model");
  return model.empty() ? trimmed_line(folder + "/../device/model") : model;
}

}  // namespace

uint64_t read_disk_free_bytes(const DiskRoom& room) {
  struct statvfs system {};
  if (fstatvfs(room.any_file(), &system) != 0) return 0;
  const uint64_t free = uint64_t{system.f_bavail} * system.f_frsize;
  return free > kDiskReserveBytes ? free - kDiskReserveBytes : 0;
}

DiskInfo read_disk_info(const DiskRoom& room) {
  DiskInfo info;
  struct statvfs system {};
  if (fstatvfs(room.any_file(), &system) == 0) info.bytes = uint64_t{system.f_blocks} * system.f_frsize;
  info.free_bytes = read_disk_free_bytes(room);
  struct stat entry {};
  if (fstat(room.any_file(), &entry) != 0) return info;
  const std::string model = model_of(entry.st_dev);
  const Mount mount = mount_of(room.path());
  info.name = model.empty() ? mount.source : model + " (" + mount.source + ")";
  if (info.name.empty()) info.name = "unknown";  // /proc is hidden
  if (!mount.type.empty()) info.name += ", " + mount.type;
  const std::string machine = read_host_info().machine_id;
  if (machine.empty()) return info;
  info.uuid = "DISK-" + short_hash("assay/disk/1 " + machine + " " + mount.source);
  return info;
}

}  // namespace assay
