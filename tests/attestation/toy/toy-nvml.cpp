// A toy of NVIDIA's libnvidia-ml.so.1 and libnvidia-nscq.so.2, for tests: GPUs and switches that sign reports
// under roots of our own. What it says is in `toy-nvml.bin` and `toy-nscq.bin` beside it, which
// toy-host.test-kit.ts writes: u32 devices, and for each u32 answer of NVML (mode of a switch), u32 length
// and body of a report (its nonce is put in at byte 4), u32 length and chain, 48 bytes of the leaf's secret.
// The arithmetic is textbook: slow, and of no use for real secrets.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

// ---- SHA-384 and numbers of 384 bits, the lowest word first

using Number = uint64_t[6];
constexpr Number kP = {0x00000000ffffffff, 0xffffffff00000000, 0xfffffffffffffffe, ~0ull, ~0ull, ~0ull};
constexpr Number kN = {0xecec196accc52973, 0x581a0db248b0a77a, 0xc7634d81f4372ddf, ~0ull, ~0ull, ~0ull};
constexpr Number kGx = {0x3a545e3872760ab7, 0x5502f25dbf55296c, 0x59f741e082542a38, 0x6e1d3b628ba79b98, 0x8eb1c71ef320ad74, 0xaa87ca22be8b0537};
constexpr Number kGy = {0x7a431d7c90ea0e5f, 0x0a60b1ce1d7e819d, 0xe9da3113b5f0b8c0, 0xf8f41dbd289a147c, 0x5d9e98bf9292dc29, 0x3617de4a96262c6f};

bool is_below(const uint64_t* a, const uint64_t* b) {
  for (int i = 5; i >= 0; --i)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}

uint64_t subtract(uint64_t* a, const uint64_t* b) {
  uint64_t borrow = 0;
  for (int i = 0; i < 6; ++i) {
    const unsigned __int128 d = static_cast<unsigned __int128>(a[i]) - b[i] - borrow;
    a[i] = static_cast<uint64_t>(d);
    borrow = static_cast<uint64_t>(d >> 64) & 1;
  }
  return borrow;
}

uint64_t add(uint64_t* a, const uint64_t* b) {
  unsigned __int128 carry = 0;
  for (int i = 0; i < 6; ++i) {
    carry += static_cast<unsigned __int128>(a[i]) + b[i];
    a[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return static_cast<uint64_t>(carry);
}

struct Value {
  Number w = {};
};

Value number(const uint64_t* from) {
  Value v;
  memcpy(v.w, from, sizeof v.w);
  return v;
}

Value from_bytes(const uint8_t* bytes) {
  Value v;
  for (int i = 0; i < 48; ++i) v.w[(47 - i) / 8] |= static_cast<uint64_t>(bytes[i]) << (8 * ((47 - i) % 8));
  return v;
}

void to_bytes(const Value& v, uint8_t* bytes) {
  for (int i = 0; i < 48; ++i) bytes[i] = static_cast<uint8_t>(v.w[(47 - i) / 8] >> (8 * ((47 - i) % 8)));
}

bool is_zero(const Value& v) {
  uint64_t any = 0;
  for (const uint64_t w : v.w) any |= w;
  return any == 0;
}

Value plus(Value a, const Value& b, const uint64_t* m) {
  if (add(a.w, b.w) != 0 || !is_below(a.w, m)) subtract(a.w, m);
  return a;
}

Value minus(Value a, const Value& b, const uint64_t* m) {
  if (subtract(a.w, b.w) != 0) add(a.w, m);
  return a;
}

// Bit by bit from the top: double, and add.
Value times(const Value& a, const Value& b, const uint64_t* m) {
  Value out;
  for (int bit = 383; bit >= 0; --bit) {
    out = plus(out, out, m);
    if (b.w[bit / 64] >> (bit % 64) & 1) out = plus(out, a, m);
  }
  return out;
}

// By Fermat: a to the power m − 2.
Value inverse(const Value& a, const uint64_t* m) {
  Value power = number(m), out;
  power.w[0] -= 2;
  out.w[0] = 1;
  for (int bit = 383; bit >= 0; --bit) {
    out = times(out, out, m);
    if (power.w[bit / 64] >> (bit % 64) & 1) out = times(out, a, m);
  }
  return out;
}

struct Point {
  Value x, y, z;  // Jacobian; z = 0 is no point
};

Point twice(const Point& p) {
  const Value zz = times(p.z, p.z, kP), yy = times(p.y, p.y, kP);
  const Value beta = times(p.x, yy, kP), slope = times(minus(p.x, zz, kP), plus(p.x, zz, kP), kP);
  const Value alpha = plus(plus(slope, slope, kP), slope, kP);
  Value beta4 = plus(beta, beta, kP);
  beta4 = plus(beta4, beta4, kP);
  Point out;
  out.x = minus(times(alpha, alpha, kP), plus(beta4, beta4, kP), kP);
  const Value sum = plus(p.y, p.z, kP);
  out.z = minus(minus(times(sum, sum, kP), yy, kP), zz, kP);
  Value y4 = times(yy, yy, kP);
  for (int i = 0; i < 3; ++i) y4 = plus(y4, y4, kP);
  out.y = minus(times(alpha, minus(beta4, out.x, kP), kP), y4, kP);
  return out;
}

Point joined(const Point& p, const Point& q) {
  if (is_zero(p.z)) return q;
  const Value pz = times(p.z, p.z, kP), qz = times(q.z, q.z, kP);
  const Value u1 = times(p.x, qz, kP), u2 = times(q.x, pz, kP);
  const Value s1 = times(p.y, times(q.z, qz, kP), kP), s2 = times(q.y, times(p.z, pz, kP), kP);
  const Value h = minus(u2, u1, kP), r = minus(s2, s1, kP);
  if (is_zero(h)) return is_zero(r) ? twice(p) : Point{};
  const Value hh = times(h, h, kP), hhh = times(h, hh, kP), v = times(u1, hh, kP);
  Point out;
  out.x = minus(minus(times(r, r, kP), hhh, kP), plus(v, v, kP), kP);
  out.y = minus(times(r, minus(v, out.x, kP), kP), times(s1, hhh, kP), kP);
  out.z = times(h, times(p.z, q.z, kP), kP);
  return out;
}

// Round constants: the first 64 bits of the fractions of the cube roots of the first 80 primes.
std::vector<uint64_t> round_constants() {
  std::vector<uint64_t> out;
  for (unsigned n = 2; out.size() < 80; ++n) {
    bool is_prime = true;
    for (unsigned d = 2; d * d <= n; ++d) is_prime = is_prime && n % d != 0;
    if (!is_prime) continue;
    // The largest r with r³ ≤ n · 2^192, bit by bit, in words of 32 bits.
    unsigned __int128 root = 0;
    for (int bit = 67; bit >= 0; --bit) {
      const unsigned __int128 next = root | (static_cast<unsigned __int128>(1) << bit);
      uint32_t a[3] = {static_cast<uint32_t>(next), static_cast<uint32_t>(next >> 32), static_cast<uint32_t>(next >> 64)}, cube[9] = {}, square[6] = {};
      for (int i = 0; i < 3; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < 3; ++j) {
          carry += square[i + j] + static_cast<uint64_t>(a[i]) * a[j];
          square[i + j] = static_cast<uint32_t>(carry), carry >>= 32;
        }
        square[i + 3] = static_cast<uint32_t>(carry);
      }
      for (int i = 0; i < 6; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < 3; ++j) {
          carry += cube[i + j] + static_cast<uint64_t>(square[i]) * a[j];
          cube[i + j] = static_cast<uint32_t>(carry), carry >>= 32;
        }
        cube[i + 3] = static_cast<uint32_t>(carry);
      }
      const uint32_t top[3] = {cube[6], cube[7], cube[8]};
      if (top[2] == 0 && top[1] == 0 && top[0] < n) root = next;
    }
    out.push_back(static_cast<uint64_t>(root));
  }
  return out;
}

std::vector<uint8_t> sha384(std::vector<uint8_t> message) {
  static const std::vector<uint64_t> constants = round_constants();
  uint64_t state[8] = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
                       0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};
  const uint64_t bits = 8 * message.size();
  message.push_back(0x80);
  while (message.size() % 128 != 120) message.push_back(0);
  for (int i = 7; i >= 0; --i) message.push_back(static_cast<uint8_t>(bits >> (8 * i)));
  const auto turn = [](uint64_t x, int by) { return x >> by | x << (64 - by); };
  for (size_t at = 0; at < message.size(); at += 128) {
    uint64_t w[80], s[8];
    for (int i = 0; i < 16; ++i) {
      w[i] = 0;
      for (int j = 0; j < 8; ++j) w[i] = w[i] << 8 | message[at + 8 * i + j];
    }
    for (int i = 16; i < 80; ++i)
      w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 1) ^ turn(w[i - 15], 8) ^ w[i - 15] >> 7) +
             (turn(w[i - 2], 19) ^ turn(w[i - 2], 61) ^ w[i - 2] >> 6);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 80; ++i) {
      const uint64_t t1 = s[7] + (turn(s[4], 14) ^ turn(s[4], 18) ^ turn(s[4], 41)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
      const uint64_t t2 = (turn(s[0], 28) ^ turn(s[0], 34) ^ turn(s[0], 39)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      memmove(s + 1, s, 7 * sizeof *s);
      s[4] += t1;
      s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) state[i] += s[i];
  }
  std::vector<uint8_t> out(48);
  for (int i = 0; i < 48; ++i) out[i] = static_cast<uint8_t>(state[i / 8] >> (8 * (7 - i % 8)));
  return out;
}

Value below_n(const std::vector<uint8_t>& hash) {
  Value v = from_bytes(hash.data());
  if (!is_below(v.w, kN)) subtract(v.w, kN);
  return v;
}

// r ‖ s
void sign(const std::vector<uint8_t>& message, const uint8_t* secret, uint8_t* out) {
  const std::vector<uint8_t> hash = sha384(message);
  std::vector<uint8_t> drawn(secret, secret + 48);
  drawn.insert(drawn.end(), hash.begin(), hash.end());
  const Value k = below_n(sha384(drawn)), d = from_bytes(secret);
  Point base{number(kGx), number(kGy), {}}, sum;
  base.z.w[0] = 1;
  for (int bit = 383; bit >= 0; --bit) {
    if (!is_zero(sum.z)) sum = twice(sum);
    if (k.w[bit / 64] >> (bit % 64) & 1) sum = joined(sum, base);
  }
  const Value z = inverse(sum.z, kP);
  Value r = times(sum.x, times(z, z, kP), kP);
  if (!is_below(r.w, kN)) subtract(r.w, kN);
  const Value s = times(inverse(k, kN), plus(below_n(hash), times(r, d, kN), kN), kN);
  to_bytes(r, out);
  to_bytes(s, out + 48);
}

// ---- what the file says

struct ToyDevice {
  uint32_t answer = 0;
  std::vector<uint8_t> body, chain;
  uint8_t secret[48] = {};
};

std::vector<ToyDevice> read_devices(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&read_devices), &info) == 0) return {};
  const std::string path = info.dli_fname;
  std::ifstream file(path.substr(0, path.rfind('/') + 1) + name, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  size_t at = 0;
  const auto take = [&](void* to, size_t size) {
    if (bytes.size() - at < size) return false;
    memcpy(to, bytes.data() + at, size);
    at += size;
    return true;
  };
  const auto take_list = [&](std::vector<uint8_t>& to) {
    uint32_t size = 0;
    if (!take(&size, 4) || size > bytes.size() - at) return false;
    to.resize(size);
    return take(to.data(), size);
  };
  uint32_t count = 0;
  std::vector<ToyDevice> devices;
  take(&count, 4);
  for (ToyDevice one; devices.size() < count; devices.push_back(one))
    if (!take(&one.answer, 4) || !take_list(one.body) || !take_list(one.chain) || !take(one.secret, 48)) return {};
  return devices;
}

const std::vector<ToyDevice>& devices() {
  static const std::vector<ToyDevice> all = read_devices("toy-nvml.bin");
  return all;
}

const std::vector<ToyDevice>& switches() {
  static const std::vector<ToyDevice> all = read_devices("toy-nscq.bin");
  return all;
}

// The body with this nonce, and its signature behind it.
std::vector<uint8_t> report_of(const ToyDevice& device, const uint8_t* nonce) {
  std::vector<uint8_t> body = device.body;
  memcpy(body.data() + 4, nonce, 32);
  const size_t size = body.size();
  std::vector<uint8_t> report = body;
  report.resize(size + 96);
  sign(body, device.secret, report.data() + size);
  return report;
}

struct Report {
  unsigned has_cec, size, cec_size;
  uint8_t nonce[32], report[0x2000], cec[0x1000];
};
struct Certificate {
  unsigned size, attestation_size;
  uint8_t chain[0x1000], attestation_chain[0x1400];
};

struct SessionResult {
  int8_t code;
  void* session;
};
struct SwitchReport {
  uint32_t size;
  uint8_t bytes[0x2000];
};
struct SwitchChain {
  uint8_t bytes[0x1400];
  uint32_t size;
};
uint8_t nscq_nonce[32];

const ToyDevice& of(void* handle) { return devices()[reinterpret_cast<uintptr_t>(handle) - 1]; }

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int result) { return result == 3 ? "Not Supported" : "Toy Error"; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = static_cast<unsigned>(devices().size()), 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) { return *handle = reinterpret_cast<void*>(uintptr_t{index} + 1), 0; }
int nvmlSystemGetConfComputeState(unsigned* state) { return state[0] = state[2] = 0, state[1] = 1, 0; }
int nvmlDeviceGetConfComputeGpuAttestationReport(void* handle, Report* out) {
  const ToyDevice& device = of(handle);
  if (device.answer != 0) return static_cast<int>(device.answer);
  const std::vector<uint8_t> report = report_of(device, out->nonce);
  memcpy(out->report, report.data(), report.size());
  out->size = static_cast<unsigned>(report.size());
  return 0;
}
int nvmlDeviceGetConfComputeGpuCertificate(void* handle, Certificate* out) {
  const ToyDevice& device = of(handle);
  memcpy(out->attestation_chain, device.chain.data(), device.chain.size());
  out->attestation_size = static_cast<unsigned>(device.chain.size());
  return 0;
}

// ---- NSCQ. A switch's UUID is its number; a mode above 127 is an error of the library.

SessionResult nscq_session_create(uint32_t) { return {0, nscq_nonce}; }
int8_t nscq_session_set_input(void* session, uint32_t, void* data, uint32_t size) { return size == 32 ? memcpy(session, data, 32), 0 : -5; }
int8_t nscq_uuid_to_label(const uint8_t* uuid, char* label, uint32_t) { return snprintf(label, 64, "toy-%u", unsigned{uuid[0]}), 0; }
int8_t nscq_session_path_observe(void* session, const char* path, void (*callback)(), void* to, uint32_t) {
  if (strcmp(path, "/drv/nvswitch/{device}/uuid") == 0) {
    for (size_t i = 0; i < switches().size(); ++i) {
      const uint8_t uuid[16] = {static_cast<uint8_t>(i)};
      reinterpret_cast<void (*)(const uint8_t*, int8_t, const uint8_t*, void*)>(callback)(uuid, 0, uuid, to);
    }
    return 0;
  }
  unsigned index = 0;
  char rest[64] = {};
  if (sscanf(path, "/toy-%u/config/%63s", &index, rest) != 2 || index >= switches().size()) return -2;
  const ToyDevice& device = switches()[index];
  const std::string what = rest;
  const auto mode = static_cast<int8_t>(device.answer);
  if (what == "pcie_mode") {
    if (mode >= 0) reinterpret_cast<void (*)(const uint8_t*, int8_t, int8_t, void*)>(callback)(nullptr, 0, mode, to);
    return mode < 0 ? mode : 0;
  }
  if (what == "certificate") {
    SwitchChain chain{};
    chain.size = static_cast<uint32_t>(device.chain.size());
    memcpy(chain.bytes, device.chain.data(), device.chain.size());
    return reinterpret_cast<void (*)(const uint8_t*, int8_t, SwitchChain, void*)>(callback)(nullptr, 0, chain, to), 0;
  }
  const std::vector<uint8_t> signed_report = report_of(device, static_cast<const uint8_t*>(session));
  SwitchReport report{};
  report.size = static_cast<uint32_t>(signed_report.size());
  memcpy(report.bytes, signed_report.data(), signed_report.size());
  return reinterpret_cast<void (*)(const uint8_t*, int8_t, SwitchReport, void*)>(callback)(nullptr, 0, report, to), 0;
}
}
