#include "work/run_op.hpp"

#include <algorithm>

#include "work/run_map.hpp"

namespace assay::work {
namespace {

// Calls `f` with a null pointer of the element type.
template <typename F>
void with_type(Type type, F f) {
  switch (type) {
    case Type::i8: return f(static_cast<int8_t*>(nullptr));
    case Type::i16: return f(static_cast<int16_t*>(nullptr));
    case Type::i32: return f(static_cast<int32_t*>(nullptr));
    case Type::i64: return f(static_cast<int64_t*>(nullptr));
  }
}

void store(const Op& op, void* out, uint64_t at, int64_t value) {
  with_type(op.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    static_cast<T*>(out)[at] = static_cast<T>(value);
  });
}

template <typename A, typename B>
int64_t dot(const A* a, const B* b, uint32_t depth) {
  int64_t sum = 0;
  for (uint32_t k = 0; k < depth; ++k) sum += static_cast<int64_t>(a[k]) * b[k];
  return sum;
}

void run_matmul(const Op& op, const void* const* operands, void* out, Part part) {
  const Dims &a_dims = op.operands[0].dims, &b_dims = op.operands[1].dims;
  const uint32_t batch = op.dims[0], rows = op.dims[1], columns = op.dims[2], depth = a_dims[2];
  with_type(op.operands[0].type, [&](auto* a_type) {
    with_type(op.operands[1].type, [&](auto* b_type) {
      const auto* a = static_cast<decltype(a_type)>(const_cast<void*>(operands[0]));
      const auto* b = static_cast<decltype(b_type)>(const_cast<void*>(operands[1]));
      for (uint64_t at = part.first; at < part.end; ++at) {
        const uint64_t column = at % columns, row = at / columns % rows, in = at / columns / rows;
        const uint64_t a_row = in / (batch / a_dims[0]) * rows + row, b_row = in / (batch / b_dims[0]) * columns + column;
        store(op, out, at, dot(a + a_row * depth, b + b_row * depth, depth));
      }
    });
  });
}

void run_reduce(const Op& op, const void* const* operands, void* out, Part part) {
  const uint32_t count = op.operands[0].dims[1];
  with_type(op.operands[0].type, [&](auto* type) {
    const auto* all = static_cast<decltype(type)>(const_cast<void*>(operands[0]));
    for (uint64_t row = part.first; row < part.end; ++row) {
      const auto *from = all + row * count, *to = from + count;
      int64_t value = 0;
      switch (op.reduction) {
        case Reduction::sum:
          for (const auto* x = from; x < to; ++x) value += *x;
          break;
        case Reduction::max: value = *std::max_element(from, to); break;
        case Reduction::min: value = *std::min_element(from, to); break;
        case Reduction::argmax: value = std::max_element(from, to) - from; break;  // the first of equals
        case Reduction::argmin: value = std::min_element(from, to) - from; break;
      }
      store(op, out, row, value);
    }
  });
}

// Whole rows of the output: part.first and part.end are multiples of its width.
void run_scatter(const Op& op, const void* const* operands, void* out, Part part) {
  const uint32_t width = op.dims[1], terms = op.operands[0].dims[1];
  const uint64_t first_row = part.first / width, rows = part.end / width - first_row;
  std::vector<int64_t> sums(rows * width, 0);
  with_type(op.operands[0].type, [&](auto* x_type) {
    with_type(op.operands[1].type, [&](auto* i_type) {
      const auto* x = static_cast<decltype(x_type)>(const_cast<void*>(operands[0]));
      const auto* index = static_cast<decltype(i_type)>(const_cast<void*>(operands[1]));
      for (uint32_t r = 0; r < terms; ++r) {
        const auto row = static_cast<uint64_t>(index[r]) - first_row;
        if (row >= rows) continue;
        for (uint32_t c = 0; c < width; ++c) sums[row * width + c] += x[uint64_t{c} * terms + r];
      }
    });
  });
  for (uint64_t i = 0; i < sums.size(); ++i) store(op, out, part.first + i, sums[i]);
}

}  // namespace

void run_op(const Op& op, const void* const* operands, void* out, const Moment& moment, Part part) {
  switch (op.op) {
    case Operator::matmul: return run_matmul(op, operands, out, part);
    case Operator::map: return run_map(op, operands, out, moment, part);
    case Operator::reduce: return run_reduce(op, operands, out, part);
    case Operator::scatter_add: return run_scatter(op, operands, out, part);
  }
}

}  // namespace assay::work
