#include "cpu/work/exact_product.hpp"

#include <algorithm>

#include "cpu/work/row_sums.hpp"

namespace assay {
namespace {

using namespace work;
using assay_kernels::ExactKernel;

// Entries of k at a time: two panels of two planes stay in 64 KiB of L1. Far below the 2^17 / 4 at which four
// products of bytes of one weight could leave 32 bits.
constexpr uint32_t kChunk = 1024;
// Packed bytes of either operand at a time.
constexpr uint64_t kMostPacked = 8 << 20;
// Panels of A and of B in a piece of work: about 64 by 128 elements.
constexpr uint32_t kRowPanels = 8, kColumnPanels = 16;

uint32_t parts(uint64_t whole, uint64_t part) { return static_cast<uint32_t>((whole + part - 1) / part); }

// One of the two operands: how its rows are cut into panels.
struct Side {
  ExactDigits digits;
  uint32_t matrices, rows, panel_rows, type_bytes, share;  // share: outputs in a row that use one matrix
  const uint8_t* from = nullptr;
  uint64_t panel_bytes = 0;   // of a chunk
  uint32_t block_panels = 1;  // panels of one matrix that are packed at a time
  uint8_t* packed = nullptr;
  std::vector<uint64_t> terms;  // what each packed row adds to its sums, for the offsets

  Side(const ExactKernel& kernel, const Op& op, const ExactDigits& d, size_t operand)
      : digits(d),
        matrices(op.operands[operand].dims[0]),
        rows(op.operands[operand].dims[1]),
        panel_rows(operand == 0 ? kernel.mr : kernel.nr),
        type_bytes(bytes_of(op.operands[operand].type)),
        share(op.dims[0] / matrices) {
    const uint32_t depth = std::min(op.operands[operand].dims[2], kChunk);
    panel_bytes = uint64_t{digits.digits} * parts(depth, kernel.kg) * kernel.kg * kernel.entry_bytes * panel_rows;
    block_panels = static_cast<uint32_t>(std::clamp<uint64_t>(kMostPacked / panel_bytes, 1, parts(rows, panel_rows)));
  }
  uint64_t block_bytes() const { return panel_bytes * block_panels; }
  uint32_t blocks() const { return parts(rows, uint64_t{block_panels} * panel_rows); }
  // Outputs in a row whose matrices are packed together.
  uint32_t most_together() const {
    if (blocks() > 1) return 1;
    const uint64_t fitting = std::min<uint64_t>(std::max<uint64_t>(kMostPacked / block_bytes(), 1), matrices);
    return static_cast<uint32_t>(fitting == matrices ? uint64_t{matrices} * share : std::max<uint64_t>((fitting - 1) * share, 1));
  }
  uint64_t packed_matrices() const { return std::min<uint64_t>(std::max<uint64_t>(kMostPacked / block_bytes(), 1), matrices); }
  uint64_t room_bytes() const { return packed_matrices() * block_bytes(); }
};

template <typename T>
uint64_t sum_of(const void* from, uint64_t count) {
  const T* x = static_cast<const T*>(from);
  int64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += x[i];
  return static_cast<uint64_t>(sum);
}
uint64_t row_sum(const void* from, uint32_t type_bytes, uint64_t count) {
  return type_bytes == 1 ? sum_of<int8_t>(from, count) : type_bytes == 2 ? sum_of<int16_t>(from, count) : sum_of<int32_t>(from, count);
}

template <typename T>
void store_row(T* out, const uint64_t* sums, uint64_t row_term, const uint64_t* column_terms, uint32_t count, bool adds) {
  // Modulo the type: the whole sum fits it, whatever a part of it does.
  if (adds)
    for (uint32_t j = 0; j < count; ++j) out[j] = static_cast<T>(static_cast<uint64_t>(out[j]) + sums[j] + row_term + column_terms[j]);
  else
    for (uint32_t j = 0; j < count; ++j) out[j] = static_cast<T>(sums[j] + row_term + column_terms[j]);
}

class Multiplication {
 public:
  Multiplication(ThreadPool& pool, const ExactKernel& kernel, const Op& op, const ExactProduct& product, uint8_t* room)
      : pool_(pool), kernel_(kernel), op_(op), a_(kernel, op, product.a, 0), b_(kernel, op, product.b, 1) {
    a_.packed = room;
    b_.packed = room + a_.room_bytes();
  }

  void run(const void* a, const void* b, void* out) {
    a_.from = static_cast<const uint8_t*>(a), b_.from = static_cast<const uint8_t*>(b), out_ = out;
    const uint32_t batch = op_.dims[0], together = std::min({a_.most_together(), b_.most_together(), batch});
    depth_ = op_.operands[0].dims[2];
    for (first_k_ = 0; first_k_ < depth_; first_k_ += kChunk) {
      chunk_ = std::min(kChunk, depth_ - first_k_);
      for (first_ = 0; first_ < batch; first_ += together) {
        end_ = std::min(batch, first_ + together);
        for (uint32_t i = 0; i < a_.blocks(); ++i) {
          pack(a_, i, b_.digits.offset, 0);
          for (uint32_t j = 0; j < b_.blocks(); ++j) {
            pack(b_, j, a_.digits.offset, uint64_t{chunk_} * static_cast<uint64_t>(b_.digits.offset));
            multiply(i, j);
          }
        }
      }
    }
  }

 private:
  uint32_t panels_of(const Side& side, uint32_t block) const {
    return std::min(side.block_panels, parts(side.rows, side.panel_rows) - block * side.block_panels);
  }

  // Σ(a' + α)(b' + β) = Σa'b' + β·Σa + α·(Σb − K·β), with a = a' + α, b = b' + β.
  void pack(Side& side, uint32_t block, int64_t other_offset, uint64_t less) {
    const uint32_t first = first_ / side.share, count = (end_ - 1) / side.share + 1 - first, panels = panels_of(side, block);
    side.terms.assign(uint64_t{count} * panels * side.panel_rows, 0);
    // A few panels are one thread's.
    const uint64_t all = uint64_t{count} * panels, grain = std::max<uint64_t>(1, (1 << 16) / side.panel_bytes);
    share(pool_, parts(all, grain), [&](uint64_t piece) {
      for (uint64_t i = piece * grain; i < std::min(all, (piece + 1) * grain); ++i) {
        const uint64_t matrix = first + i / panels, row = (uint64_t{block} * side.block_panels + i % panels) * side.panel_rows;
        const auto rows = static_cast<uint32_t>(std::min<uint64_t>(side.panel_rows, side.rows - row));
        const uint8_t* from = side.from + ((matrix * side.rows + row) * depth_ + first_k_) * side.type_bytes;
        kernel_.pack(from, side.type_bytes, depth_, rows, side.panel_rows, chunk_, side.digits.add, side.digits.digits,
                     side.packed + i * side.panel_bytes);
        if (other_offset == 0) continue;
        for (uint32_t r = 0; r < rows; ++r)
          side.terms[i * side.panel_rows + r] = static_cast<uint64_t>(other_offset) *
                                                (row_sum(from + uint64_t{r} * depth_ * side.type_bytes, side.type_bytes, chunk_) - less);
      }
    });
  }

  void multiply(uint32_t a_block, uint32_t b_block) {
    const uint32_t a_panels = panels_of(a_, a_block), b_panels = panels_of(b_, b_block);
    const uint32_t across = parts(b_panels, kColumnPanels), down = parts(a_panels, kRowPanels);
    share(pool_, uint64_t{end_ - first_} * down * across, [&](uint64_t piece) {
      const auto in = static_cast<uint32_t>(first_ + piece / (uint64_t{down} * across));
      const auto i0 = static_cast<uint32_t>(piece / across % down) * kRowPanels, j0 = static_cast<uint32_t>(piece % across) * kColumnPanels;
      const uint64_t a_first = uint64_t{in / a_.share - first_ / a_.share} * a_panels;
      const uint64_t b_first = uint64_t{in / b_.share - first_ / b_.share} * b_panels;
      for (uint32_t j = j0; j < std::min(b_panels, j0 + kColumnPanels); ++j)
        for (uint32_t i = i0; i < std::min(a_panels, i0 + kRowPanels); ++i)
          tile(in, a_first + i, b_first + j, (uint64_t{a_block} * a_.block_panels + i) * a_.panel_rows,
               (uint64_t{b_block} * b_.block_panels + j) * b_.panel_rows);
    });
  }

  void tile(uint32_t in, uint64_t a_panel, uint64_t b_panel, uint64_t row, uint64_t column) {
    alignas(64) uint64_t sums[kMostTile];
    kernel_.tile(a_.packed + a_panel * a_.panel_bytes, b_.packed + b_panel * b_.panel_bytes, parts(chunk_, kernel_.kg), a_.digits.digits,
                 b_.digits.digits, sums);
    const uint64_t rows = std::min<uint64_t>(a_.panel_rows, a_.rows - row);
    const auto columns = static_cast<uint32_t>(std::min<uint64_t>(b_.panel_rows, b_.rows - column));
    for (uint64_t r = 0; r < rows; ++r) {
      const uint64_t at = (in * uint64_t{a_.rows} + row + r) * b_.rows + column, row_term = a_.terms[a_panel * a_.panel_rows + r];
      const uint64_t *from = sums + r * b_.panel_rows, *terms = b_.terms.data() + b_panel * b_.panel_rows;
      if (op_.type == Type::i32) store_row(static_cast<int32_t*>(out_) + at, from, row_term, terms, columns, first_k_ > 0);
      else store_row(static_cast<int64_t*>(out_) + at, from, row_term, terms, columns, first_k_ > 0);
    }
  }

  static constexpr uint32_t kMostTile = 8 * 32;
  ThreadPool& pool_;
  const ExactKernel& kernel_;
  const Op& op_;
  Side a_, b_;
  void* out_ = nullptr;
  uint32_t depth_ = 0, first_k_ = 0, chunk_ = 0, first_ = 0, end_ = 0;
};

}  // namespace

ExactDigits exact_digits(const Interval& interval) {
  ExactDigits found;
  const uint64_t span = static_cast<uint64_t>(interval.hi) - static_cast<uint64_t>(interval.lo);
  while (found.digits < 4 && span >> (8 * found.digits) != 0) ++found.digits;
  int64_t half = 0, most = 0;  // of what the digits stand for: −half … most
  for (uint32_t i = 0; i < found.digits; ++i) half = half << 8 | 128, most = most << 8 | 127;
  if (interval.lo < -half || interval.hi > most) found.offset = interval.hi - most;
  found.add = static_cast<uint32_t>(half - found.offset);
  return found;
}

ExactProduct exact_product(const Program& program, Phase phase, const Op& op) {
  const auto digits = [&](size_t operand) { return exact_digits(interval_of(program, phase, op.operands[operand])); };
  return {digits(0), digits(1), std::min(op.dims[1], op.dims[2]) <= 2};
}

uint64_t ExactRoom::bytes_for(const ExactKernel& kernel, const Op& op, const ExactProduct& product) {
  if (product.is_plain) return 0;
  return Side(kernel, op, product.a, 0).room_bytes() + Side(kernel, op, product.b, 1).room_bytes();
}

void multiply_plain(const Op& op, const void* a, const void* b, void* out, uint64_t first, uint64_t end) {
  const Dims &a_dims = op.operands[0].dims, &b_dims = op.operands[1].dims;
  const uint32_t batch = op.dims[0], rows = op.dims[1], columns = op.dims[2], depth = a_dims[2];
  with_type(op.operands[0].type, [&](auto* a_type) {
    with_type(op.operands[1].type, [&](auto* b_type) {
      with_type(op.type, [&](auto* out_type) {
        for (uint64_t at = first; at < end; ++at) {
          const uint64_t column = at % columns, row = at / columns % rows, in = at / columns / rows;
          const auto* x = static_cast<decltype(a_type)>(const_cast<void*>(a)) + (in / (batch / a_dims[0]) * rows + row) * depth;
          const auto* y = static_cast<decltype(b_type)>(const_cast<void*>(b)) + (in / (batch / b_dims[0]) * columns + column) * depth;
          int64_t sum = 0;
          for (uint32_t k = 0; k < depth; ++k) sum += static_cast<int64_t>(x[k]) * y[k];
          static_cast<decltype(out_type)>(out)[at] = static_cast<std::remove_pointer_t<decltype(out_type)>>(sum);
        }
      });
    });
  });
}

void multiply_exact(ThreadPool& pool, const ExactKernel& kernel, const Op& op, const ExactProduct& product, const void* a, const void* b,
                    void* out, ExactRoom& room) {
  Multiplication(pool, kernel, op, product, room.data()).run(a, b, out);
}

}  // namespace assay
