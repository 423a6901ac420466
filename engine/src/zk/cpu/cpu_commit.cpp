// Commitments on the host's cores: Σ value·[τ^i] by buckets, each window of bits a task of its own. Numbers
// take as many windows as the largest of them has.
#include <algorithm>

#include "cpu/msm.hpp"
#include "zk/cpu/cpu_list.hpp"

namespace assay::zk {

namespace {

// Plain words of all values, lowest first, and who is below 0.
struct Digits {
  std::vector<uint64_t> words;
  std::vector<bool> is_negative;
  unsigned words_each = 0, bits = 0;

  uint64_t window(size_t i, unsigned at, unsigned width) const {
    const uint64_t* own = words.data() + i * words_each;
    uint64_t found = own[at / 64] >> (at % 64);
    if (at % 64 + width > 64 && at / 64 + 1 < words_each) found |= own[at / 64 + 1] << (64 - at % 64);
    return found & ((uint64_t{1} << width) - 1);
  }
};

unsigned bit_length(uint64_t word) {
  unsigned bits = 0;
  for (; word != 0; word >>= 1) ++bits;
  return bits;
}

Digits digits_of(const Slice& slice) {
  const Values values(slice);
  Digits digits;
  digits.words_each = values.scalars() == nullptr ? 1 : 4;
  digits.words.resize(slice.count * digits.words_each);
  digits.is_negative.resize(slice.count);
  uint64_t any = 0;
  for (size_t i = 0; i < slice.count; ++i) {
    if (values.scalars() != nullptr) {
      const Fr plain = values.scalars()[i].plain();
      std::copy_n(plain.w, 4, digits.words.data() + 4 * i);
      any |= plain.w[0] | plain.w[1] | plain.w[2] | plain.w[3];
    } else {
      const int64_t number = values.numbers()[i];
      digits.is_negative[i] = number < 0;
      digits.words[i] = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
      any |= digits.words[i];
    }
  }
  digits.bits = any == 0 ? 0 : values.scalars() != nullptr ? 254 : bit_length(any);
  return digits;
}

G1 window_sum(std::span<const G1Affine> powers, const Digits& digits, size_t count, unsigned at, unsigned width) {
  std::vector<G1> buckets(size_t{1} << width, G1::infinity());
  for (size_t i = 0; i < count; ++i) {
    const uint64_t own = digits.window(i, at, width);
    if (own != 0) buckets[own] = buckets[own] + (digits.is_negative[i] ? -powers[i] : powers[i]);
  }
  G1 running = G1::infinity(), sum = G1::infinity();
  for (size_t k = buckets.size(); --k > 0;) {
    running = running + buckets[k];
    sum = sum + running;
  }
  return sum;
}

}  // namespace

std::vector<G1Affine> cpu_commit(ThreadPool& pool, std::span<const G1Affine> powers, std::span<const Slice> slices) {
  struct Task {
    size_t slice;
    unsigned at;
    G1 sum;
  };
  std::vector<Digits> digits(slices.size());
  pool.run(slices.size(), [&](uint64_t i) { digits[i] = digits_of(slices[i]); });
  std::vector<Task> tasks;
  std::vector<unsigned> widths;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].count > powers.size()) throw std::out_of_range("more values than powers");
    widths.push_back(msm_window(slices[i].count));
    for (unsigned at = 0; at < digits[i].bits; at += widths[i]) tasks.push_back({i, at, G1::infinity()});
  }
  pool.run(tasks.size(), [&](uint64_t i) {
    Task& task = tasks[i];
    task.sum = window_sum(powers, digits[task.slice], slices[task.slice].count, task.at, widths[task.slice]);
  });
  std::vector<G1> sums(slices.size(), G1::infinity());
  for (size_t i = tasks.size(); i-- > 0;) {
    G1& sum = sums[tasks[i].slice];
    for (unsigned bit = 0; bit < widths[tasks[i].slice]; ++bit) sum = sum.doubled();
    sum = sum + tasks[i].sum;
  }
  std::vector<G1Affine> points;
  for (const G1& sum : sums) points.push_back(sum.affine());
  return points;
}

}  // namespace assay::zk
