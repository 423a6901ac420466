// assay-engine: the one program a provider runs. Frames on stdin and stdout (FRAMES.md), logs on stderr.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "commands/commands.hpp"

namespace {

constexpr unsigned kMaxCpuDevices = 64;
constexpr int kExitUsage = 64;
constexpr int kExitSoftware = 70;

void print_help() {
  puts(
      "assay-engine " ASSAY_VERSION
      ": answers the challenges of an assay verifier on stdin and stdout\n"
      "  --idle-s N    exit when nothing came for N seconds (1 to 86400, default 120)\n"
      "  --threads N   threads of the CPU (1 to 1024, default: all usable cores)\n"
      "  --cpu-devices N  present the CPU as N virtual devices that share cores and memory (1 to 64, default 1)\n"
      "  --disk-dir PATH  the disk to present (default: that of $TMPDIR, /var/tmp or the current directory)\n"
      "  --no-disk     present no disk\n"
      "  --version     print the version and exit\n"
      "  --help        print this and exit");
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
      if (good) options.disk_directory = path;
    } else if (!strcmp(flag, "--no-disk")) {
      options.disk = false;
      good = true;
    }
    if (!good) {
      fprintf(stderr, "assay-engine: cannot use %s (see --help)\n", flag);
      return kExitUsage;
    }
  }
  signal(SIGPIPE, SIG_IGN);
  try {
    // Frames only on stdout: anything else that prints (a driver library, say) is sent to stderr.
    const int out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (out_fd < 0) return 0;  // stdout is closed: nobody to answer
    dup2(STDERR_FILENO, STDOUT_FILENO);
    assay::Server server(STDIN_FILENO, out_fd, idle_s, [&] { return assay::find_devices(options); }, assay::run_command);
    return server.run();
  } catch (const std::exception& e) {
    fprintf(stderr, "assay-engine: %s\n", e.what());
    return kExitSoftware;
  }
}
