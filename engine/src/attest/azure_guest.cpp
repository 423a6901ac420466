// See azure_guest.hpp. Commands of TPM 2.0 (TCG, part 3), big-endian, without a library: read an NV index,
// quote, read PCRs. Whatever answers is taken for hostile: every length is checked, every wait has an end.
#include "azure_guest.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>

#include "cpu/sha256_host.hpp"

namespace assay {

namespace {

using Bytes = std::vector<uint8_t>;
using Moment = std::chrono::steady_clock::time_point;

constexpr uint32_t kReportIndex = 0x01400001, kSigningKey = 0x81000003, kOwner = 0x40000001, kPassword = 0x40000009;
constexpr uint32_t kNvRead = 0x14e, kQuote = 0x158, kNvReadPublic = 0x169, kPcrRead = 0x17e;
constexpr uint16_t kPlain = 0x8001, kWithSession = 0x8002, kSha256 = 0x000b, kRsaSsa = 0x0014, kNoScheme = 0x0010;
constexpr unsigned kPcrs = 24, kTries = 3;
// Every TPM reads as many at once.
constexpr size_t kPieceBytes = 512;
constexpr size_t kHeadBytes = 32, kHardwareBytes = 1184, kLeastReport = kHeadBytes + kHardwareBytes + 20, kMostReport = 16 * 1024;
constexpr size_t kMostAnswer = 4096, kMostPage = 64 * 1024;
constexpr auto kCommandWait = std::chrono::seconds(10), kPageWait = std::chrono::seconds(5);

std::string hex(uint32_t value) {
  char text[16];
  snprintf(text, sizeof text, "0x%x", value);
  return text;
}

// ---- sockets and devices

bool is_ready(int fd, short what, Moment end) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd one{fd, what, 0};
    const int ready = poll(&one, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
  }
}

bool put_all(int fd, std::span<const uint8_t> bytes, Moment end) {
  while (!bytes.empty()) {
    if (!is_ready(fd, POLLOUT, end)) return false;
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return true;
}

// What is there, at most `most`; 0: the end; below: nothing in time.
ssize_t take_some(int fd, uint8_t* to, size_t most, Moment end) {
  for (;;) {
    if (!is_ready(fd, POLLIN, end)) return -1;
    const ssize_t got = read(fd, to, most);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
  }
}

class Opened {
 public:
  explicit Opened(int fd) : fd_(fd) {}
  ~Opened() {
    if (fd_ >= 0) close(fd_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

int connected(int family, const sockaddr* to, socklen_t size, Moment end) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = connect(fd, to, size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t length = sizeof error;
    if (!is_ready(fd, POLLOUT, end) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  }
  if (error == 0) return fd;
  close(fd);
  errno = error;
  return -1;
}

int connect_local(const std::string& path, Moment end) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) return errno = ENAMETOOLONG, -1;
  path.copy(to.sun_path, path.size());
  return connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&to), sizeof to, end);
}

// ---- the TPM

void add16(Bytes& to, uint32_t value) { to.push_back(static_cast<uint8_t>(value >> 8)), to.push_back(static_cast<uint8_t>(value)); }
void add32(Bytes& to, uint32_t value) { add16(to, value >> 16), add16(to, value & 0xffff); }

// Reads an answer from its beginning. What is not there is 0 or empty, and the answer is wrong from then on.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}
  std::span<const uint8_t> take(size_t size) {
    if (size > left_.size()) return is_good_ = false, std::span<const uint8_t>{};
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  uint32_t number(size_t size) {
    uint32_t value = 0;
    for (const uint8_t byte : take(size)) value = value << 8 | byte;
    return value;
  }
  std::span<const uint8_t> sized() { return take(number(2)); }
  bool is_good() const { return is_good_; }
  bool is_whole() const { return is_good_ && left_.empty(); }

 private:
  std::span<const uint8_t> left_;
  bool is_good_ = true;
};

class Tpm {
 public:
  explicit Tpm(int fd) : fd_(fd) {}

  // What is wrong, or nothing. `out`: the answer's parameters.
  std::string ask(const char* name, uint32_t code, std::initializer_list<uint32_t> handles, bool with_session, const Bytes& parameters, Bytes& out) {
    Bytes command;
    add16(command, with_session ? kWithSession : kPlain);
    add32(command, 0);
    add32(command, code);
    for (const uint32_t handle : handles) add32(command, handle);
    if (with_session) {  // an empty password
      add32(command, 9);
      add32(command, kPassword);
      command.insert(command.end(), 5, 0);
    }
    command.insert(command.end(), parameters.begin(), parameters.end());
    Bytes size;
    add32(size, static_cast<uint32_t>(command.size()));
    std::copy(size.begin(), size.end(), command.begin() + 2);
    Bytes answer;
    if (const std::string why = exchange(command, answer); !why.empty()) return std::string(name) + ": " + why;
    return opened(name, answer, with_session, out);
  }

 private:
  std::string exchange(const Bytes& command, Bytes& answer) {
    const Moment end = std::chrono::steady_clock::now() + kCommandWait;
    if (!put_all(fd_, command, end)) return strerror(errno);
    answer.resize(kMostAnswer);
    size_t have = 0, due = 10;
    while (have < due) {
      const ssize_t got = take_some(fd_, answer.data() + have, answer.size() - have, end);
      if (got < 0) return strerror(errno);
      if (got == 0) return "the answer ends before its last byte";
      have += static_cast<size_t>(got);
      if (have < 10) continue;
      due = Reader(std::span(answer).subspan(2)).number(4);
      if (due < 10 || due > kMostAnswer) return "an answer of " + std::to_string(due) + " bytes";
    }
    if (have != due) return "more follows the answer";
    answer.resize(due);
    return "";
  }

  static std::string opened(const char* name, const Bytes& answer, bool with_session, Bytes& out) {
    Reader read(answer);
    const uint32_t tag = read.number(2);
    read.number(4);
    if (const uint32_t code = read.number(4); code != 0)
      return std::string(name) + " answered " + hex(code) + (code == 0x921 ? " (locked)" : code == 0x18b ? " (no such handle)" : "");
    const size_t size = with_session ? read.number(4) : answer.size() - 10;
    const auto parameters = read.take(size);
    if (with_session) {  // an empty nonce, attributes, an empty password
      const bool is_empty = read.sized().empty();
      read.number(1);
      if (!is_empty || !read.sized().empty()) return std::string(name) + ": an answer of another session";
    }
    if (tag != (with_session ? kWithSession : kPlain) || !read.is_whole()) return std::string(name) + ": an answer of another form";
    out.assign(parameters.begin(), parameters.end());
    return "";
  }

  int fd_;
};

std::string read_report(Tpm& tpm, Bytes& report) {
  Bytes answer;
  if (const std::string why = tpm.ask("TPM2_NV_ReadPublic", kNvReadPublic, {kReportIndex}, false, {}, answer); !why.empty()) return why;
  Reader read(answer);
  Reader index(read.sized());
  read.sized();  // its name
  const bool is_ours = index.number(4) == kReportIndex;
  index.take(6);  // hash of names, attributes
  index.sized();  // policy
  const size_t size = index.number(2);
  if (!is_ours || !index.is_whole() || !read.is_whole()) return "TPM2_NV_ReadPublic: an answer of another form";
  if (size < kLeastReport || size > kMostReport) return "NV " + hex(kReportIndex) + " has " + std::to_string(size) + " bytes: no report of Azure's paravisor";
  while (report.size() < size) {
    const size_t piece = std::min(kPieceBytes, size - report.size());
    Bytes asked;
    add16(asked, static_cast<uint32_t>(piece));
    add16(asked, static_cast<uint32_t>(report.size()));
    if (const std::string why = tpm.ask("TPM2_NV_Read", kNvRead, {kOwner, kReportIndex}, true, asked, answer); !why.empty()) return why;
    Reader data(answer);
    const auto bytes = data.sized();
    if (!data.is_whole() || bytes.size() != piece) return "TPM2_NV_Read gave other bytes than were asked for";
    report.insert(report.end(), bytes.begin(), bytes.end());
  }
  if (memcmp(report.data(), "HCLA", 4) != 0) return "NV " + hex(kReportIndex) + " holds no report of Azure's paravisor";
  // Little-endian. Microsoft's TDs leave SEPT_VE_DISABLE out, for which validators refuse a quote: it would
  // cost the host its probe.
  if (report[kHeadBytes + kHardwareBytes + 8] != 2) return "an Azure guest that is not SNP: only SNP is asked there";
  return "";
}

void select_pcrs(Bytes& to, uint32_t which) {
  add32(to, 1);
  add16(to, kSha256);
  to.push_back(kPcrs / 8);
  for (unsigned i = 0; i < kPcrs / 8; ++i) to.push_back(static_cast<uint8_t>(which >> (8 * i)));
}

std::string read_pcrs(Tpm& tpm, std::vector<Bytes>& pcrs) {
  pcrs.assign(kPcrs, {});
  for (uint32_t left = (1u << kPcrs) - 1; left != 0;) {
    Bytes asked, answer;
    select_pcrs(asked, left);
    if (const std::string why = tpm.ask("TPM2_PCR_Read", kPcrRead, {}, false, asked, answer); !why.empty()) return why;
    Reader read(answer);
    read.number(4);  // how often they were changed
    const bool is_one = read.number(4) == 1 && read.number(2) == kSha256 && read.number(1) == kPcrs / 8;
    uint32_t given = 0;
    for (unsigned i = 0; i < kPcrs / 8; ++i) given |= read.number(1) << (8 * i);
    const uint32_t count = read.number(4);
    if (!is_one || given == 0 || (given & ~left) != 0 || count != static_cast<uint32_t>(__builtin_popcount(given))) return "TPM2_PCR_Read gave other registers";
    for (unsigned i = 0; i < kPcrs; ++i) {
      if ((given >> i & 1) == 0) continue;
      const auto value = read.sized();
      if (value.size() != 32) return "TPM2_PCR_Read gave registers of another length";
      pcrs[i].assign(value.begin(), value.end());
    }
    if (!read.is_whole()) return "TPM2_PCR_Read: an answer of another form";
    left &= ~given;
  }
  return "";
}

struct Quote {
  Bytes message, signature;
  std::vector<Bytes> pcrs;
};

// The registers are those that were signed, or there is no quote: a program may extend one between the two.
std::string quote_of(Tpm& tpm, std::span<const uint8_t> qualifying, Quote& out) {
  Bytes asked, answer;
  add16(asked, static_cast<uint32_t>(qualifying.size()));
  asked.insert(asked.end(), qualifying.begin(), qualifying.end());
  add16(asked, kNoScheme);  // the key's own
  select_pcrs(asked, (1u << kPcrs) - 1);
  for (unsigned i = 0; i < kTries; ++i) {
    if (const std::string why = tpm.ask("TPM2_Quote", kQuote, {kSigningKey}, true, asked, answer); !why.empty()) return why;
    Reader read(answer);
    const auto message = read.sized();
    const bool is_rsa = read.number(2) == kRsaSsa && read.number(2) == kSha256;
    const auto signature = read.sized();
    if (!is_rsa || !read.is_whole() || message.size() < 34 || signature.empty()) return "TPM2_Quote: not a quote signed by RSA with SHA-256";
    if (const std::string why = read_pcrs(tpm, out.pcrs); !why.empty()) return why;
    Bytes all;
    for (const Bytes& one : out.pcrs) all.insert(all.end(), one.begin(), one.end());
    const Hash digest = sha256_bytes(all);
    if (!std::equal(digest.b, digest.b + 32, message.end() - 32)) continue;
    out.message.assign(message.begin(), message.end());
    out.signature.assign(signature.begin(), signature.end());
    return "";
  }
  return "the TPM's registers are not those that it signed, three times over";
}

// ---- the chip's certificate

std::string fetch_page(const std::string& toy, std::string& body) {
  constexpr std::string_view kAsked =
      "GET /metadata/THIM/amd/certification HTTP/1.0\r\nHost: 169.254.169.254\r\nMetadata: true\r\nConnection: close\r\n\r\n";
  const Moment end = std::chrono::steady_clock::now() + kPageWait;
  sockaddr_in service{};
  service.sin_family = AF_INET;
  service.sin_port = htons(80);
  service.sin_addr.s_addr = htonl(0xa9fea9fe);  // 169.254.169.254
  const Opened to(toy.empty() ? connected(AF_INET, reinterpret_cast<const sockaddr*>(&service), sizeof service, end) : connect_local(toy + "/metadata", end));
  if (to.fd() < 0) return strerror(errno);
  if (!put_all(to.fd(), {reinterpret_cast<const uint8_t*>(kAsked.data()), kAsked.size()}, end)) return strerror(errno);
  std::string page;
  for (;;) {
    uint8_t some[4096];
    const ssize_t got = take_some(to.fd(), some, sizeof some, end);
    if (got < 0) return strerror(errno);
    if (got == 0) break;
    if (page.size() + static_cast<size_t>(got) > kMostPage) return "an answer without end";
    page.append(reinterpret_cast<const char*>(some), static_cast<size_t>(got));
  }
  const size_t head = page.find("\r\n\r\n");
  if (head == std::string::npos || page.compare(0, 7, "HTTP/1.") != 0 || page.compare(8, 4, " 200") != 0)
    return "answered " + page.substr(0, std::min<size_t>(page.find('\r'), 40));
  body = page.substr(head + 4);
  return "";
}

// The text of a field: PEM, so that the only escapes are line ends. Empty: not there, or something else.
std::string pem_field(const std::string& json, const char* name) {
  const std::string key = std::string("\"") + name + "\"";
  size_t at = json.find(key);
  if (at == std::string::npos) return "";
  at = json.find_first_not_of(" \t\r\n:", at + key.size());
  if (at == std::string::npos || json[at] != '"') return "";
  std::string text;
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] != '\\') text += json[at];
    else if (const char next = ++at < json.size() ? json[at] : 0; next == 'n') text += '\n';
    else if (next == '/') text += '/';
    else if (next != 'r') return "";
  }
  return at < json.size() && text.starts_with("-----BEGIN CERTIFICATE-----") ? text : "";
}

// The base64 of the first certificate of a PEM text, without its line ends.
std::string base64_of(const std::string& pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  const size_t end = pem.find(kEnd);
  if (end == std::string::npos) return "";
  std::string out = pem.substr(kBegin.size(), end - kBegin.size());
  std::erase(out, '\n');
  const bool is_clean = out.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == std::string::npos;
  return is_clean ? out : "";
}

// ---- as JSON

std::string base64_url(const Bytes& bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const uint8_t byte : bytes) {
    held = held << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6) out += kLetters[held >> (bits - 6) & 63];
  }
  if (bits > 0) out += kLetters[held << (6 - bits) & 63];
  return out;
}

std::string hex_of(const Bytes& bytes) {
  std::string out;
  for (const uint8_t byte : bytes) out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
  return out;
}

Bytes json_of(const Bytes& report, const std::string& certificate, const Quote& quote) {
  std::string text = "{\"version\":1,\"hcl_report\":\"" + base64_url(report) + "\"";
  if (!certificate.empty()) text += ",\"vcek\":\"" + certificate + "\"";
  text += ",\"tpm_quote\":{\"message\":\"" + hex_of(quote.message) + "\",\"signature\":\"" + hex_of(quote.signature) + "\",\"pcrs\":[";
  for (const Bytes& pcr : quote.pcrs) text += (&pcr == &quote.pcrs.front() ? "\"" : ",\"") + hex_of(pcr) + "\"";
  text += "]}}";
  return {text.begin(), text.end()};
}

}  // namespace

std::string ask_azure(const std::string& toy, const uint8_t* data, AzureEvidence& out) {
  const Moment end = std::chrono::steady_clock::now() + kCommandWait;
  const Opened device(toy.empty() ? open(kTpm, O_RDWR | O_CLOEXEC) : connect_local(toy + "/tpm", end));
  const auto told = [](const std::string& why) { return std::string(kTpm) + ": " + why; };
  if (device.fd() < 0) return told(strerror(errno));
  Tpm tpm(device.fd());
  Bytes report;
  if (const std::string why = read_report(tpm, report); !why.empty()) return told(why);
  const Hash all = sha256_bytes({data, 64});
  Bytes qualifying(data, data + 16);
  qualifying.insert(qualifying.end(), all.b, all.b + 32);
  Quote quote;
  if (const std::string why = quote_of(tpm, qualifying, quote); !why.empty()) return told(why);
  std::string page, certificate;
  if (const std::string why = fetch_page(toy, page); !why.empty()) out.no_certificate = why;
  else if (certificate = base64_of(pem_field(page, "vcekCert")); certificate.empty()) out.no_certificate = "no certificate in its answer";
  const std::string chain = pem_field(page, "certificateChain");
  out.chain.assign(chain.begin(), chain.end());
  out.json = json_of(report, certificate, quote);
  return "";
}

}  // namespace assay
