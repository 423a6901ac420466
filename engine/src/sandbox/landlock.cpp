// Files: Landlock lets a process give up every path but those it names. By raw calls; the kernel's header is
// newer than many compilers' hosts.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sandbox.hpp"

namespace assay {

namespace {

// The same numbers on every architecture.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kAskVersion = 1, kPathBeneath = 1;

constexpr uint64_t kWriteFile = 1u << 1, kReadFile = 1u << 2, kReadDir = 1u << 3, kTruncate = 1u << 14, kDeviceCalls = 1u << 15;
constexpr uint64_t kRemoveFile = 1u << 5, kMakeFile = 1u << 8;
constexpr uint64_t kRead = kReadFile | kReadDir;
// What each version can take away: everything that it knows is taken.
constexpr uint64_t kFilesOf[] = {0, (1u << 13) - 1, (1u << 14) - 1, (1u << 15) - 1, (1u << 15) - 1, (1u << 16) - 1};
constexpr uint64_t kTcp = 3;                   // since version 4
constexpr uint64_t kSocketsAndSignals = 3;     // of other processes; since version 6

struct Ruleset {
  uint64_t files, network, scoped;
};
struct __attribute__((packed)) Rule {
  uint64_t allowed;
  int32_t folder;
};

class Rules {
 public:
  explicit Rules(int version) : files_(kFilesOf[version < 5 ? version : 5]) {
    const Ruleset ruleset{files_, version >= 4 ? kTcp : 0, version >= 6 ? kSocketsAndSignals : 0};
    const size_t bytes = version >= 6 ? sizeof ruleset : version >= 4 ? 16 : 8;
    fd_ = static_cast<int>(syscall(kCreateRuleset, &ruleset, bytes, 0));
  }
  ~Rules() { if (fd_ >= 0) close(fd_); }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  void allow(const std::string& path, uint64_t rights) {
    const int at = open(path.c_str(), O_PATH | O_CLOEXEC);
    struct stat entry {};
    if (at >= 0 && fstat(at, &entry) == 0) {
      if (!S_ISDIR(entry.st_mode)) rights &= ~kReadDir;
      const Rule rule{rights & files_, at};
      syscall(kAddRule, fd_, kPathBeneath, &rule, 0);
    }
    if (at >= 0) close(at);
  }
  // A folder that is open already.
  void allow(int folder, uint64_t rights) {
    const Rule rule{rights & files_, folder};
    syscall(kAddRule, fd_, kPathBeneath, &rule, 0);
  }
  bool hold() const { return fd_ >= 0 && syscall(kRestrictSelf, fd_, 0) == 0; }

 private:
  uint64_t files_;
  int fd_;
};

// Where the owner's libraries lie besides the usual folders: NVIDIA's are found by ld.so.conf or
// LD_LIBRARY_PATH.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& path) {
    if (path.size() > 1 && path[0] == '/') folders.push_back(path);
  };
  if (const char* given = getenv("LD_LIBRARY_PATH")) {
    std::istringstream list(given);
    for (std::string path; std::getline(list, path, ':');) add(path);
  }
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator("/etc/ld.so.conf.d", none)) {
    std::ifstream lines(file.path());
    for (std::string path; std::getline(lines, path);) add(path);
  }
  return folders;
}

}  // namespace

std::vector<std::string> gpu_nodes() {
  std::vector<std::string> nodes;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", none)) {
    const std::string name = entry.path().filename();
    // Of a server's cards; of a Jetson's; of Windows' Linux.
    if (name.starts_with("nvidia") || name.starts_with("nvhost") || name == "nvmap" || name == "dxg") nodes.push_back(entry.path());
  }
  return nodes;
}

int confine_files(int store) {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return 0;
  Rules rules(static_cast<int>(version));
  for (const char* path : {"/usr", "/lib", "/lib64", "/lib32", "/nix/store", "/run/opengl-driver", "/run/nvidia", "/proc", "/sys",
                           "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/machine-id", "/etc/localtime", "/etc/nvidia"})
    rules.allow(path, kRead);
  // CUDA names its threads there, and does not start where it cannot. Kept open: the kernel may forget this
  // folder, and the one that it makes anew would be another to it.
  [[maybe_unused]] static const int threads = open("/proc/self/task", O_PATH | O_CLOEXEC);
  rules.allow("/proc/self/task", kRead | kWriteFile | kTruncate);
  for (const std::string& path : library_folders()) rules.allow(path, kRead);
  for (const char* path : {"/dev/zero", "/dev/random", "/dev/urandom"}) rules.allow(path, kReadFile);
  rules.allow("/dev/null", kReadFile | kWriteFile);
  for (const std::string& path : gpu_nodes()) rules.allow(path, kRead | kWriteFile | kDeviceCalls);
  if (store >= 0) rules.allow(store, kRead | kWriteFile | kTruncate | kMakeFile | kRemoveFile);
  return rules.hold() ? static_cast<int>(version) : 0;
}

}  // namespace assay
