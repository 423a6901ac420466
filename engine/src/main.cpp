// assay-engine: the one program a provider runs. Frames on stdin and stdout (FRAMES.md), logs on stderr.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "commands/commands.hpp"
#include "sandbox/sandbox.hpp"

namespace {

constexpr unsigned kMaxCpuDevices = 64;
constexpr int kExitUsage = 64;
constexpr int kExitSoftware = 70;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSandboxByDefault = false;  // sanitizers trace this process and start programs
#else
constexpr bool kSandboxByDefault = true;
#endif

void print_help() {
  puts(
      "assay-engine " ASSAY_VERSION
      ": answers the challenges of an assay verifier on stdin and stdout\n"
      "  --idle-s N    exit when nothing came for N seconds (1 to 86400, default 120)\n"
      "  --threads N   threads of the CPU (1 to 1024, default: all usable cores)\n"
      "  --cpu-devices N  present the CPU as N virtual devices that share cores and memory (1 to 64, default 1)\n"
      "  --disk-dir PATH  the disk to present (default: that of $TMPDIR, /var/tmp or the current directory)\n"
      "  --no-disk     present no disk\n"
      "  --disk-writes N  the most bytes to write to that disk (up to 18 digits, default: no limit)\n"
      "  --work        run programs (docs/work.md) for whoever sends them\n"
      "  --store DIR   the same, with blobs read from this folder and saved there\n"
      "  --no-work     run none, whatever else is said: for whoever lends its engine to strangers\n"
      "  --toy-tsm DIR  ask a folder that plays the kernel's configfs-tsm for quotes, and mark them as a toy's: for tests\n"
      "  --toy-azure DIR  the same of a folder whose sockets play Azure's TPM and its metadata service\n"
      "  --toy-pci DIR  look for cards of other vendors in a folder that plays the kernel's list of PCI devices: for tests\n"
      "  --no-sandbox  keep the rights it was started with: for debuggers and sanitizers\n"
      "  --sandbox-check  print what the sandbox holds on this host and exit\n"
      "  --version     print the version and exit\n"
      "  --help        print this and exit");
}

bool parse_bytes(const char* text, uint64_t& out) {
  if (text == nullptr || *text == 0 || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text)) return false;
  out = strtoull(text, nullptr, 10);
  return true;
}

bool parse_number(const char* text, unsigned low, unsigned high, unsigned& out) {
  if (text == nullptr || *text == 0 || strlen(text) > 6) return false;
  unsigned value = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + static_cast<unsigned>(*text - '0');
  }
  out = value;
  return value >= low && value <= high;
}

}  // namespace

int main(int argc, char** argv) {
  assay::DeviceOptions options;
  std::string disk_directory, store_directory;  // empty: search; none
  std::string pci_devices = "/sys/bus/pci/devices";
  assay::GuestToys toys;
  assay::WorkSettings work;
  uint64_t disk_writes = UINT64_MAX;
  bool with_disk = true, with_sandbox = kSandboxByDefault, checks_sandbox = false, no_work = false;
  unsigned idle_s = 120;
  for (int i = 1; i < argc; ++i) {
    const char* flag = argv[i];
    if (!strcmp(flag, "--version")) {
      puts("assay-engine " ASSAY_VERSION);
      return 0;
    }
    if (!strcmp(flag, "--help")) {
      print_help();
      return 0;
    }
    bool good = false;
    if (!strcmp(flag, "--idle-s")) good = parse_number(argv[++i], 1, 86400, idle_s);
    else if (!strcmp(flag, "--threads")) good = parse_number(argv[++i], 1, 1024, options.threads);
    else if (!strcmp(flag, "--cpu-devices")) good = parse_number(argv[++i], 1, kMaxCpuDevices, options.cpu_devices);
    else if (!strcmp(flag, "--disk-dir")) {
      const char* path = argv[++i];
      good = path != nullptr && *path != 0;
      if (good) disk_directory = path;
    } else if (!strcmp(flag, "--disk-writes")) good = parse_bytes(argv[++i], disk_writes);
    else if (!strcmp(flag, "--toy-tsm") || !strcmp(flag, "--toy-azure")) {
      const char* path = argv[++i];
      good = path != nullptr && *path != 0;
      if (good) (flag[6] == 't' ? toys.tsm : toys.azure) = path;
    } else if (!strcmp(flag, "--toy-pci")) {
      const char* path = argv[++i];
      good = path != nullptr && *path != 0;
      if (good) pci_devices = path;
    } else if (!strcmp(flag, "--store")) {
      const char* path = argv[++i];
      good = work.is_allowed = path != nullptr && *path != 0;
      if (good) store_directory = path;
    } else if (!strcmp(flag, "--work")) work.is_allowed = good = true;
    else if (!strcmp(flag, "--no-work")) no_work = good = true;
    else if (!strcmp(flag, "--no-disk")) with_disk = false, good = true;
    else if (!strcmp(flag, "--no-sandbox")) with_sandbox = false, good = true;
    else if (!strcmp(flag, "--sandbox-check")) checks_sandbox = good = true;
    if (!good) {
      fprintf(stderr, "assay-engine: cannot use %s (see --help)\n", flag);
      return kExitUsage;
    }
  }
  if (no_work) work.is_allowed = false, store_directory.clear();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the write
  try {
    if (!store_directory.empty()) work.store = std::make_unique<assay::work::BlobStore>(store_directory);
    const int store = work.store ? work.store->folder() : -1;
    if (checks_sandbox) return assay::print_sandbox_check(with_sandbox ? assay::enter_sandbox(store) : assay::Sandbox{});
    std::string why;
    if (with_disk) options.disk = assay::open_disk_room(disk_directory, disk_writes, why);
    if (with_disk && !options.disk) fprintf(stderr, "assay-engine: no disk: %s\n", why.c_str());
    options.other_cards = assay::read_other_cards(pci_devices);
    assay::GuestDoor guest(toys);
    // Before anything of a validator's is read, and before the first thread.
    const assay::Sandbox sandbox = with_sandbox ? assay::enter_sandbox(store) : assay::Sandbox{};
    if (!sandbox.missing.empty()) fprintf(stderr, "assay-engine: %s\n", sandbox.missing.c_str());
    if (work.store) work.store->sweep();
    // Frames only on stdout: anything else that prints (a driver library, say) is sent to stderr.
    const int out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (out_fd < 0) return 0;  // stdout is closed: nobody to answer
    dup2(STDERR_FILENO, STDOUT_FILENO);
    assay::Server server(STDIN_FILENO, out_fd, idle_s, [&] { return assay::find_devices(options); },
                         [&](assay::Server& to, const assay::Frame& frame) { assay::run_command(to, frame, work, guest); });
    const int code = server.run();
    // Whoever keeps a budget of the disk's wear reads this: the last line.
    if (options.disk && options.disk->written() > 0)
      fprintf(stderr, "assay-engine: %llu bytes written to the disk\n", static_cast<unsigned long long>(options.disk->written()));
    return code;
  } catch (const std::exception& e) {
    fprintf(stderr, "assay-engine: %s\n", e.what());
    return kExitSoftware;
  }
}
