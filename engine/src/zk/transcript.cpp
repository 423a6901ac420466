// See transcript.hpp.
#include "zk/transcript.hpp"

#include <cstring>

namespace assay::zk {

namespace {

Hash keccak_of(const std::vector<uint8_t>& bytes) { return keccak256(bytes.data(), bytes.size()); }

std::vector<uint8_t> bytes_of(const Hash& hash) { return {hash.b, hash.b + sizeof hash.b}; }

}  // namespace

Fr scalar_mod_order(const Hash& hash) {
  uint64_t words[4];
  for (int i = 0; i < 4; ++i) {
    words[i] = 0;
    for (int j = 0; j < 8; ++j) words[i] = words[i] << 8 | hash.b[8 * (3 - i) + j];
  }
  // 2^256 is less than six times the order.
  Fr plain{{words[0], words[1], words[2], words[3]}};
  for (int i = 0; i < 5; ++i) plain = Fr::reduced(plain.w, 0);
  return plain * Fr{{ScalarOrder::square[0], ScalarOrder::square[1], ScalarOrder::square[2], ScalarOrder::square[3]}};
}

void append(std::vector<uint8_t>& to, const Fr& scalar) {
  uint8_t bytes[32];
  scalar.to_bytes(bytes);
  to.insert(to.end(), bytes, bytes + 32);
}

void append(std::vector<uint8_t>& to, const G1Affine& point) {
  for (const Fp& one : {point.x, point.y}) {
    uint8_t bytes[32];
    one.to_bytes(bytes);
    to.insert(to.end(), bytes, bytes + 32);
  }
}

void append(std::vector<uint8_t>& to, const G2Affine& point) {
  append(to, G1Affine{point.x.c1, point.x.c0});
  append(to, G1Affine{point.y.c1, point.y.c0});
}

bool read_point(const uint8_t* bytes, G2Affine& out) {
  return Fp::from_bytes(bytes, out.x.c1) && Fp::from_bytes(bytes + 32, out.x.c0) && Fp::from_bytes(bytes + 64, out.y.c1) && Fp::from_bytes(bytes + 96, out.y.c0) &&
         out.is_on_curve();
}

bool read_point(const uint8_t* bytes, G1Affine& out) {
  return Fp::from_bytes(bytes, out.x) && Fp::from_bytes(bytes + 32, out.y) && out.is_on_curve();
}

Transcript::Transcript(const Hash& statement) {
  constexpr char kName[] = "assay/zk/1";
  std::vector<uint8_t> bytes(kName, kName + sizeof kName - 1);
  bytes.insert(bytes.end(), statement.b, statement.b + sizeof statement.b);
  state_ = keccak_of(bytes);
}

void Transcript::absorb(uint8_t kind, std::span<const uint8_t> bytes) {
  std::vector<uint8_t> all = bytes_of(state_);
  all.push_back(kind);
  for (int shift = 24; shift >= 0; shift -= 8) all.push_back(static_cast<uint8_t>(bytes.size() >> shift));
  all.insert(all.end(), bytes.begin(), bytes.end());
  state_ = keccak_of(all);
  has_drawn_ = false;
}

Fr Transcript::challenge() {
  if (has_drawn_) {
    std::vector<uint8_t> more = bytes_of(state_);
    more.push_back(0xff);
    state_ = keccak_of(more);
  }
  has_drawn_ = true;
  return scalar_mod_order(state_);
}

std::vector<Fr> Dialogue::challenges(size_t count) {
  std::vector<Fr> list;
  for (size_t i = 0; i < count; ++i) list.push_back(challenge());
  return list;
}

}  // namespace assay::zk
