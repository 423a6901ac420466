// See poseidon.hpp.
#include "zk/run/poseidon.hpp"

#include <algorithm>
#include <bitset>

namespace assay::zk {

namespace {

constexpr size_t kFullRounds = 8, kPartialRounds = 60, kRounds = kFullRounds + kPartialRounds, kRate = kLanes - 1;
constexpr unsigned kOrderBits = 254;
// Of the first lane, before any message.
constexpr uint64_t kName = 0x6173736179;
// Messages of points: values and helpers of a segment.
constexpr uint8_t kLastPoints = 2;

// 80 bits that feed back; of pairs of bits the second counts where the first is 1.
class Grain {
 public:
  Grain() {
    size_t at = 0;
    const auto put = [&](uint64_t value, unsigned size) {
      for (unsigned bit = size; bit-- > 0;) state_[at++] = (value >> bit & 1) != 0;
    };
    put(1, 2);
    put(0, 4);
    put(kOrderBits, 12);
    put(kLanes, 12);
    put(kFullRounds, 10);
    put(kPartialRounds, 10);
    put((uint64_t{1} << 30) - 1, 30);
    for (int i = 0; i < 160; ++i) next();
  }

  // 254 bits; not always below the order.
  Fr plain() {
    Fr number = Fr::zero();
    for (unsigned bit = kOrderBits; bit-- > 0;)
      if (counted()) number.w[bit / 64] |= uint64_t{1} << (bit % 64);
    return number;
  }

 private:
  bool next() {
    const auto bit = [&](size_t i) { return state_[(at_ + i) % 80]; };
    const bool made = bit(62) ^ bit(51) ^ bit(38) ^ bit(23) ^ bit(13) ^ bit(0);
    state_[at_] = made;
    at_ = (at_ + 1) % 80;
    return made;
  }
  bool counted() {
    for (;;) {
      const bool counts = next(), bit = next();
      if (counts) return bit;
    }
  }
  std::bitset<80> state_;
  size_t at_ = 0;
};

Fr of_plain(const Fr& plain) { return plain * Fr{{ScalarOrder::square[0], ScalarOrder::square[1], ScalarOrder::square[2], ScalarOrder::square[3]}}; }

struct Parameters {
  std::array<Lanes, kRounds> constants;
  std::array<Lanes, kLanes> matrix;

  Parameters() {
    Grain grain;
    for (Lanes& own : constants)
      for (Fr& one : own)
        for (Fr plain = grain.plain();; plain = grain.plain())
          if (Fr::reduced(plain.w, 0) == plain) {
            one = of_plain(plain);
            break;
          }
    // Below 2^254, so at most once the order too much.
    const auto drawn = [&] {
      const Fr plain = grain.plain();
      return of_plain(Fr::reduced(plain.w, 0));
    };
    Lanes xs, ys;
    for (Fr& one : xs) one = drawn();
    for (Fr& one : ys) one = drawn();
    for (size_t i = 0; i < kLanes; ++i)
      for (size_t j = 0; j < kLanes; ++j) matrix[i][j] = (xs[i] + ys[j]).inverted();
  }
};

const Parameters& parameters() {
  static const Parameters all;
  return all;
}

Fr fifth(const Fr& one) {
  const Fr square = one * one;
  return square * square * one;
}

}  // namespace

void permute(Lanes& lanes) {
  const Parameters& own = parameters();
  for (size_t round = 0; round < kRounds; ++round) {
    const bool is_full = round < kFullRounds / 2 || round >= kFullRounds / 2 + kPartialRounds;
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = lanes[i] + own.constants[round][i];
      if (is_full || i == 0) lanes[i] = fifth(lanes[i]);
    }
    Lanes mixed;
    for (size_t i = 0; i < kLanes; ++i) {
      mixed[i] = own.matrix[i][0] * lanes[0];
      for (size_t j = 1; j < kLanes; ++j) mixed[i] = mixed[i] + own.matrix[i][j] * lanes[j];
    }
    lanes = mixed;
  }
}

std::vector<Fr> halves_of(std::span<const uint8_t> bytes) {
  std::vector<Fr> list;
  for (size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    uint8_t whole[32] = {};
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), 16, whole + 16);
    Fr::from_bytes(whole, list.emplace_back());
  }
  return list;
}

PoseidonTranscript::PoseidonTranscript() {
  lanes_.fill(Fr::zero());
  lanes_[0] = Fr::of(kName);
}

void PoseidonTranscript::absorb(uint8_t kind, std::span<const uint8_t> bytes) {
  if (kind <= kLastPoints) return hear(kind, halves_of(bytes));
  std::vector<Fr> list;
  for (size_t at = 0; at + 32 <= bytes.size(); at += 32) Fr::from_bytes(bytes.data() + at, list.emplace_back());
  hear(kind, list);
}

void PoseidonTranscript::hear(uint8_t kind, std::span<const Fr> list) {
  lanes_[0] = lanes_[0] + Fr::of((uint64_t{kind} << 32) + list.size());
  for (size_t at = 0; at < list.size(); at += kRate) {
    for (size_t i = 0; i < std::min(kRate, list.size() - at); ++i) lanes_[i + 1] = lanes_[i + 1] + list[at + i];
    permute(lanes_);
  }
  drawn_ = 0;
}

Fr PoseidonTranscript::challenge() {
  if (drawn_ == kRate) {
    permute(lanes_);
    drawn_ = 0;
  }
  return lanes_[++drawn_];
}

}  // namespace assay::zk
