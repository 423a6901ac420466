// See evaluate.hpp.
#include "zk/evaluate.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/thread_pool.hpp"
#include "engine_error.hpp"
#include "zk/proof_plan.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

namespace {

constexpr uint64_t kReadBytes = uint64_t{64} << 20, kPieceElements = uint64_t{1} << 16;

// Σ number·scalar without reductions: 254 bits, 63 of a number, and at most 2^32 of them fit six words.
class LazySum {
 public:
  void add(uint64_t number, const Fr& scalar) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; ++i) {
      carry += static_cast<unsigned __int128>(scalar.w[i]) * number + words_[i];
      words_[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    carry += words_[4];
    words_[4] = static_cast<uint64_t>(carry);
    words_[5] += static_cast<uint64_t>(carry >> 64);
  }
  // The words are a number in Montgomery's form, longer than a scalar; each word is lifted into that form,
  // and one factor takes the lift away.
  Fr taken() {
    const Fr shift = Fr::of(uint64_t{1} << 32) * Fr::of(uint64_t{1} << 32);
    Fr sum = Fr::zero();
    for (int i = 5; i >= 0; --i) sum = sum * shift + Fr::of(words_[i]);
    memset(words_, 0, sizeof words_);
    return sum * Fr{{1, 0, 0, 0}};
  }

 private:
  uint64_t words_[6] = {};
};

int64_t element_at(const uint8_t* bytes, unsigned size, uint64_t i) {
  const auto as = [&](auto zero) {
    memcpy(&zero, bytes + i * size, sizeof zero);
    return static_cast<int64_t>(zero);
  };
  return size == 1 ? as(int8_t{}) : size == 2 ? as(int16_t{}) : size == 4 ? as(int32_t{}) : as(int64_t{});
}

struct Places {
  std::vector<Fr> high, low;
  unsigned low_bits, column_bits;
};

// Of the elements from `first` on.
Fr sum_of(const Evaluation& what, const Places& places, const uint8_t* bytes, uint64_t first, uint64_t count) {
  LazySum above, below;
  Fr sum = Fr::zero();
  uint64_t row = first / what.columns, column = first % what.columns, open = ~uint64_t{0};
  const uint64_t classes = uint64_t{1} << places.column_bits;
  const auto close = [&] {
    if (open != ~uint64_t{0}) sum = sum + (above.taken() - below.taken()) * places.high[open];
  };
  for (uint64_t i = 0; i < count; ++i, ++column) {
    if (column == what.columns) column = 0, ++row;
    int64_t value = element_at(bytes, what.element_bytes, i);
    uint64_t at = row << places.column_bits | column;
    if (what.reading == Reading::classes) {
      if (value < 0 || static_cast<uint64_t>(value) >= classes) throw EngineError(ErrorCode::tensor_range, "an element names no class");
      at = row << places.column_bits | static_cast<uint64_t>(value);
      value = what.add;
    } else if (what.reading == Reading::entering) {
      const int64_t half = int64_t{1} << what.shift >> 1, most = what.most;
      value = std::clamp((value >> what.shift) + ((value & ((int64_t{1} << what.shift) - 1)) >= half && half > 0) +
                             (column + 1 == what.columns ? int64_t{what.add} : 0), -most, most);
    }
    if (at >> places.low_bits != open) close(), open = at >> places.low_bits;
    const Fr& scalar = places.low[at & (places.low.size() - 1)];
    if (value < 0) below.add(uint64_t{0} - static_cast<uint64_t>(value), scalar);
    else above.add(static_cast<uint64_t>(value), scalar);
  }
  close();
  return sum;
}

}  // namespace

Fr evaluate(const Evaluation& what, const std::function<void(uint64_t, std::span<uint8_t>)>& read, const std::atomic<bool>& stop) {
  const size_t bits = what.point.size();
  const bool is_classes = what.reading == Reading::classes;
  if (what.columns == 0 || what.elements == 0 || what.elements % what.columns != 0 || (is_classes && what.columns != 1) || bits > 40 || what.shift > 32)
    throw EngineError(ErrorCode::bad_request, "no rows of this many columns");
  const unsigned row_bits = bits_for(what.elements / what.columns), column_bits = is_classes ? static_cast<unsigned>(bits) - row_bits : bits_for(what.columns);
  if (row_bits > bits || row_bits + column_bits != bits)
    throw EngineError(ErrorCode::bad_request, "a point of " + std::to_string(bits) + " variables for " + std::to_string(row_bits) + " of rows and " +
                                                  std::to_string(column_bits) + " of columns");
  const unsigned low_bits = static_cast<unsigned>(bits - bits / 2);
  const Places places{eqs_of(what.point.first(bits / 2)), eqs_of(what.point.subspan(bits / 2)), low_bits, column_bits};

  ThreadPool pool(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<uint8_t> bytes;
  Fr sum = Fr::zero();
  const uint64_t at_once = kReadBytes / what.element_bytes;
  for (uint64_t first = 0; first < what.elements; first += at_once) {
    if (stop) throw EngineError(ErrorCode::cancelled, "cancelled");
    const uint64_t count = std::min(at_once, what.elements - first), pieces = (count + kPieceElements - 1) / kPieceElements;
    bytes.resize(count * what.element_bytes);
    read(first * what.element_bytes, bytes);
    std::vector<Fr> parts(pieces);
    pool.run(pieces, [&](uint64_t piece) {
      const uint64_t from = piece * kPieceElements;
      parts[piece] = sum_of(what, places, bytes.data() + from * what.element_bytes, first + from, std::min(kPieceElements, count - from));
    });
    for (const Fr& part : parts) sum = sum + part;
  }
  return sum;
}

}  // namespace assay::zk
