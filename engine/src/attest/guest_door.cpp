// See attest.hpp, GuestDoor. The ways to a quote: configfs-tsm (TDX and SNP alike, since Linux 6.7), else
// /dev/sev-guest, else Azure's virtual TPM. The wire between the two processes: 64 bytes one way; the other
// way {part u8, length u32, bytes}, and one with part 255 as the end.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "attest.hpp"
#include "azure_guest.hpp"

namespace assay {

namespace {

constexpr const char* kTsm = "/sys/kernel/config/tsm/report";
constexpr const char* kSevGuest = "/dev/sev-guest";
constexpr uint8_t kEnd = 255;
constexpr size_t kDataBytes = 64;
// A TDX quote is made by another machine's program; the kernel gives up after half a minute.
constexpr int kMostWaitMs = 60'000;
constexpr int kToyWaits = 3000, kToyWaitUs = 10'000;

// ---- in the process that keeps its rights

bool write_all(int fd, const void* data, size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t put = write(fd, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

class Teller {
 public:
  explicit Teller(int fd) : fd_(fd) {}
  void tell(ReportPart part, const std::vector<uint8_t>& bytes) const { put(static_cast<uint8_t>(part), bytes.data(), bytes.size()); }
  void say(const std::string& why) const { put(static_cast<uint8_t>(ReportPart::nothing), why.data(), why.size()); }
  void end() const { put(kEnd, nullptr, 0); }

 private:
  void put(uint8_t part, const void* bytes, size_t size) const {
    const auto length = static_cast<uint32_t>(size);
    if (!write_all(fd_, &part, 1) || !write_all(fd_, &length, sizeof length) || !write_all(fd_, bytes, size)) _exit(0);
  }
  int fd_;
};

// At most one byte more than a frame holds, so that what is too long shows.
bool read_file(const std::string& path, std::vector<uint8_t>& out) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  out.resize(kMaxReportBytes + 1);
  size_t size = 0;
  ssize_t got = 0;
  while (size < out.size() && ((got = read(fd, out.data() + size, out.size() - size)) > 0 || (got < 0 && errno == EINTR)))
    size += got > 0 ? static_cast<size_t>(got) : 0;
  const int error = errno;
  close(fd);
  errno = error;
  out.resize(size);
  return got >= 0;
}

std::string line_of(const std::string& path) {
  std::vector<uint8_t> bytes;
  if (!read_file(path, bytes)) return "";
  const std::string text(bytes.begin(), bytes.end());
  return text.substr(0, text.find('\n'));
}

bool write_file(const std::string& path, const void* data, size_t size, bool makes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | (makes ? O_CREAT : 0), 0600);
  if (fd < 0) return false;
  const bool put = write_all(fd, data, size);
  const int error = errno;
  const bool closed = close(fd) == 0;  // the kernel takes a blob when it is closed
  if (!put) errno = error;
  return put && closed;
}

// What is wrong, or nothing.
std::string quote_of_entry(const std::string& entry, bool is_toy, const uint8_t* data, const Teller& to) {
  const auto failed = [](const char* what) { return std::string(kTsm) + ": " + what + ": " + strerror(errno); };
  // A guest below privilege level 0 may ask for its own level alone.
  const std::string floor = line_of(entry + "/privlevel_floor");
  if (!floor.empty() && floor != "0" && !write_file(entry + "/privlevel", floor.data(), floor.size(), false)) return failed("privlevel");
  const std::string before = line_of(entry + "/generation");
  if (!write_file(entry + "/inblob", data, kDataBytes, is_toy)) return failed("inblob");
  std::vector<uint8_t> quote, certificates;
  bool is_there = read_file(entry + "/outblob", quote);
  for (int i = 0; is_toy && !is_there && i < kToyWaits; ++i) {
    usleep(kToyWaitUs);
    is_there = read_file(entry + "/outblob", quote);
  }
  if (!is_there) return failed("outblob");
  const bool has_certificates = read_file(entry + "/auxblob", certificates) && !certificates.empty();
  const std::string provider = (is_toy ? "toy " : "") + line_of(entry + "/provider");
  // Somebody else wrote to this entry meanwhile: the quote may be to another question.
  if (line_of(entry + "/generation") != std::to_string(atoll(before.c_str()) + 1)) return "configfs-tsm: another program used our entry";
  to.tell(ReportPart::provider, {provider.begin(), provider.end()});
  to.tell(ReportPart::quote, quote);
  if (has_certificates) to.tell(ReportPart::certificates, certificates);
  return "";
}

// What is wrong, or nothing: then the quote was told. So are the two below.
std::string tell_tsm(const std::string& folder, bool is_toy, const uint8_t* data, const Teller& to) {
  static unsigned made = 0;
  const std::string entry = folder + "/assay-" + std::to_string(getpid()) + "-" + std::to_string(++made);
  if (mkdir(entry.c_str(), 0700) != 0) return folder + " makes no entry: " + strerror(errno);
  const std::string why = quote_of_entry(entry, is_toy, data, to);
  rmdir(entry.c_str());
  return why;
}

// linux/sev-guest.h
struct SnpRequest {
  uint8_t data[64];
  uint32_t vmpl;
  uint8_t reserved[28];
};
struct SnpResponse {
  uint32_t status, size;
  uint8_t reserved[24], report[4000 - 32];
};
struct SnpCall {
  uint8_t version;
  uint64_t request, response, error;
};
struct SnpExtendedRequest {
  SnpRequest request;
  uint64_t certificates;
  uint32_t size;
};
constexpr size_t kSnpReportBytes = 1184;
// The kernel's own limit.
constexpr size_t kSnpTableBytes = 0x4000;

// What is wrong, or nothing.
std::string ask_snp(int fd, unsigned long code, void* request, SnpResponse& response) {
  response = {};
  SnpCall call{1, reinterpret_cast<uint64_t>(request), reinterpret_cast<uint64_t>(&response), 0};
  if (ioctl(fd, code, &call) != 0) return strerror(errno);
  if (response.status != 0 || response.size != kSnpReportBytes) return "answered " + std::to_string(response.status);
  return "";
}

std::string tell_snp(const uint8_t* data, const Teller& to) {
  const int fd = open(kSevGuest, O_RDWR | O_CLOEXEC);
  if (fd < 0) return std::string(kSevGuest) + ": " + strerror(errno);
  SnpExtendedRequest asked{};
  std::copy_n(data, kDataBytes, asked.request.data);
  std::vector<uint8_t> table(kSnpTableBytes);
  asked.certificates = reinterpret_cast<uint64_t>(table.data());
  asked.size = kSnpTableBytes;
  SnpResponse response{};
  // With the certificates where the host hands them on. One that does not may refuse the call.
  std::string why = ask_snp(fd, _IOWR('S', 2, SnpCall), &asked, response);
  if (!why.empty()) {
    table.clear();
    why = ask_snp(fd, _IOWR('S', 0, SnpCall), &asked.request, response);
  }
  close(fd);
  if (!why.empty()) return std::string(kSevGuest) + ": SNP_GET_REPORT " + why;
  constexpr std::string_view provider = "sev_guest";
  to.tell(ReportPart::provider, {provider.begin(), provider.end()});
  to.tell(ReportPart::quote, {response.report, response.report + kSnpReportBytes});
  if (std::any_of(table.begin(), table.end(), [](uint8_t byte) { return byte != 0; })) to.tell(ReportPart::certificates, table);
  return "";
}

std::string tell_azure(const std::string& toy, const uint8_t* data, const Teller& to) {
  AzureEvidence found;
  if (const std::string why = ask_azure(toy, data, found); !why.empty()) return why;
  const std::string provider = toy.empty() ? "azure_vtpm" : "toy azure_vtpm";
  to.tell(ReportPart::provider, {provider.begin(), provider.end()});
  to.tell(ReportPart::quote, found.json);
  if (!found.chain.empty()) to.tell(ReportPart::certificates, found.chain);
  if (!found.no_certificate.empty()) to.say("the chip's certificate (169.254.169.254): " + found.no_certificate);
  return "";
}

bool is_folder(const std::string& path) {
  struct stat entry {};
  return stat(path.c_str(), &entry) == 0 && S_ISDIR(entry.st_mode);
}

// The first way that gives a quote; if none does, what each said.
void tell_any(const GuestToys& toys, const uint8_t* data, const Teller& to) {
  if (!toys.tsm.empty() || !toys.azure.empty()) {
    const std::string why = !toys.tsm.empty() ? tell_tsm(toys.tsm, true, data, to) : tell_azure(toys.azure, data, to);
    return why.empty() ? void() : to.say(why);
  }
  std::string said;
  const auto has_told = [&](const std::string& why) {
    if (!why.empty()) said += (said.empty() ? "" : "; ") + why;
    return why.empty();
  };
  if (is_folder(kTsm) && has_told(tell_tsm(kTsm, false, data, to))) return;
  if (access(kSevGuest, F_OK) == 0 && has_told(tell_snp(data, to))) return;
  if (access(kTpm, F_OK) == 0 && has_told(tell_azure("", data, to))) return;
  to.say(said);
}

[[noreturn]] void serve(int ask, int answer, const GuestToys& toys) {
  const Teller to(answer);
  for (;;) {
    uint8_t data[kDataBytes];
    for (size_t have = 0; have < sizeof data;) {
      const ssize_t got = read(ask, data + have, sizeof data - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) _exit(0);  // the engine has gone
      have += static_cast<size_t>(got);
    }
    tell_any(toys, data, to);
    to.end();
  }
}

}  // namespace

// ---- in the engine

GuestDoor::GuestDoor(const GuestToys& toys) {
  const bool has_kernel = is_folder(kTsm) || access(kSevGuest, F_OK) == 0 || access(kTpm, F_OK) == 0;
  const bool has_any = !toys.tsm.empty() || !toys.azure.empty() || has_kernel;
  if (!has_any) {
    // Not by +: GCC 13 warns of bounds in its own std::string.
    why_none_ = "none of ";
    why_none_.append(kTsm).append(", ").append(kSevGuest).append(" and ").append(kTpm).append(" is there");
    return;
  }
  int ask[2], answer[2];
  if (pipe2(ask, O_CLOEXEC) != 0) return;
  if (pipe2(answer, O_CLOEXEC) != 0) {
    close(ask[0]), close(ask[1]);
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    // Whoever waits for the end of the engine's streams must not wait for this process.
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
    close(ask[1]), close(answer[0]);
    serve(ask[0], answer[1], toys);
  }
  close(ask[0]), close(answer[1]);
  ask_ = ask[1], answer_ = answer[0];
  if (child < 0) shut();
}

GuestDoor::~GuestDoor() { shut(); }

void GuestDoor::shut() {
  if (ask_ >= 0) close(ask_);
  if (answer_ >= 0) close(answer_);
  ask_ = answer_ = -1;
}

void GuestDoor::tell_quote(const uint8_t* data, const std::atomic<bool>& stop, const TellPart& tell) {
  const auto say = [&](const std::string& why) {
    tell(0, ReportPart::nothing, {reinterpret_cast<const uint8_t*>(why.data()), why.size()});
  };
  if (ask_ < 0) return say(why_none_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kMostWaitMs);
  // False: the answer did not come whole, and what comes later would be taken for that to another question.
  const auto take = [&](void* to, size_t size) {
    for (uint8_t* at = static_cast<uint8_t*>(to); size > 0;) {
      pollfd fd{answer_, POLLIN, 0};
      if (stop || std::chrono::steady_clock::now() > end) return false;
      if (poll(&fd, 1, 50) <= 0) continue;
      const ssize_t got = read(answer_, at, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  };
  bool whole = write_all(ask_, data, kDataBytes);
  for (;;) {
    uint8_t part = 0;
    uint32_t length = 0;
    std::vector<uint8_t> bytes;
    whole = whole && take(&part, 1) && take(&length, sizeof length) && length <= kMaxReportBytes + 1;
    if (whole) bytes.resize(length);
    if (!whole || !take(bytes.data(), bytes.size())) break;
    if (part == kEnd) return;
    tell(0, static_cast<ReportPart>(part), bytes);
  }
  shut();
  why_none_ = "the CPU gave no whole quote in time";
  if (!stop) say(why_none_);
}

}  // namespace assay
