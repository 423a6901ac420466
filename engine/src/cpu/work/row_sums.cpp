#include "cpu/work/row_sums.hpp"

#include <algorithm>

namespace assay {
namespace {

using namespace work;

// Elements of a piece of work.
constexpr uint64_t kPiece = 1 << 15;
// Sums that one thread keeps at a time: 512 KiB, of L2.
constexpr uint64_t kMostSums = 1 << 16;

void store(Type type, void* out, uint64_t at, int64_t value) {
  with_type(type, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    static_cast<T*>(out)[at] = static_cast<T>(value);
  });
}

int64_t element(Type type, const void* from, uint64_t at) {
  int64_t found = 0;
  with_type(type, [&](auto* element) { found = static_cast<decltype(element)>(const_cast<void*>(from))[at]; });
  return found;
}

// What two parts of a row give together, the first one's first.
int64_t joined(Reduction which, int64_t a, int64_t b, Type type, const void* row) {
  switch (which) {
    case Reduction::sum: return a + b;
    case Reduction::max: return std::max(a, b);
    case Reduction::min: return std::min(a, b);
    case Reduction::argmax: return element(type, row, static_cast<uint64_t>(b)) > element(type, row, static_cast<uint64_t>(a)) ? b : a;
    case Reduction::argmin: return element(type, row, static_cast<uint64_t>(b)) < element(type, row, static_cast<uint64_t>(a)) ? b : a;
  }
  return 0;
}

}  // namespace

void reduce_rows(ThreadPool& pool, const assay_kernels::LaneKernels& kernels, const Op& op, const void* from, void* out) {
  const uint64_t rows = op.dims[0], width = op.operands[0].dims[1];
  const Type type = op.operands[0].type;
  const auto reduce = kernels.reduce[static_cast<size_t>(type)][static_cast<size_t>(op.reduction)];
  const auto at = [&](uint64_t element) { return static_cast<const uint8_t*>(from) + element * bytes_of(type); };
  if (rows >= 2 * pool.threads() || width <= kPiece) {
    const uint64_t grain = std::max<uint64_t>(1, kPiece / width);
    return share(pool, (rows + grain - 1) / grain, [&](uint64_t piece) {
      for (uint64_t row = piece * grain; row < std::min(rows, (piece + 1) * grain); ++row)
        store(op.type, out, row, reduce(at(row * width), static_cast<uint32_t>(width)));
    });
  }
  const uint64_t parts = (width + kPiece - 1) / kPiece;
  std::vector<int64_t> found(rows * parts);
  const bool is_place = op.reduction == Reduction::argmax || op.reduction == Reduction::argmin;
  share(pool, found.size(), [&](uint64_t piece) {
    const uint64_t first = piece % parts * kPiece, count = std::min(kPiece, width - first);
    found[piece] = reduce(at(piece / parts * width + first), static_cast<uint32_t>(count)) + static_cast<int64_t>(is_place ? first : 0);
  });
  for (uint64_t row = 0; row < rows; ++row) {
    int64_t value = found[row * parts];
    for (uint64_t part = 1; part < parts; ++part) value = joined(op.reduction, value, found[row * parts + part], type, at(row * width));
    store(op.type, out, row, value);
  }
}

void scatter_rows(ThreadPool& pool, const Op& op, const void* from, const void* index, void* out) {
  const uint64_t height = op.dims[0], width = op.dims[1], terms = op.operands[0].dims[1];
  // A few columns of the output at a time, and all its rows if they are not too many: X is read along its
  // rows.
  const uint64_t stripe = std::min(height, kMostSums);
  const uint64_t grain = std::clamp<uint64_t>(kMostSums / stripe, 1, std::max<uint64_t>(1, width / pool.threads()));
  const uint64_t across = (width + grain - 1) / grain, down = (height + stripe - 1) / stripe;
  share(pool, across * down, [&](uint64_t piece) {
    const uint64_t first = piece % across * grain, columns = std::min(grain, width - first);
    const uint64_t top = piece / across * stripe, rows = std::min(stripe, height - top);
    std::vector<int64_t> sums(rows * columns, 0);
    with_type(op.operands[0].type, [&](auto* x_type) {
      with_type(op.operands[1].type, [&](auto* i_type) {
        const auto* places = static_cast<decltype(i_type)>(const_cast<void*>(index));
        for (uint64_t c = 0; c < columns; ++c) {
          const auto* x = static_cast<decltype(x_type)>(const_cast<void*>(from)) + (first + c) * terms;
          for (uint64_t r = 0; r < terms; ++r) {
            const uint64_t row = static_cast<uint64_t>(places[r]) - top;
            if (row < rows) sums[row * columns + c] += x[r];
          }
        }
      });
    });
    with_type(op.type, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      for (uint64_t row = 0; row < rows; ++row) {
        T* to = static_cast<T*>(out) + (top + row) * width + first;
        for (uint64_t c = 0; c < columns; ++c) to[c] = static_cast<T>(sums[row * columns + c]);
      }
    });
  });
}

}  // namespace assay
