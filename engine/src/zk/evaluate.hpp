// A tensor as a multilinear polynomial, at one point: what a proof says of bytes, computed from the bytes
// (docs/zk.md §6). Not here: which tensor, and where its bytes come from.
#pragma once
#include <atomic>
#include <functional>
#include <span>

#include "core/bn254.hpp"

namespace assay::zk {

// How an element is read.
//   numbers:  as it is.
//   entering: clamp(⌊(x + 2^(shift − 1))/2^shift⌋ + (in the last column) add, ±most).
//   classes:  a row of its own, with `add` at the place that the element names.
enum class Reading : uint8_t { numbers, entering, classes };

struct Evaluation {
  Reading reading = Reading::numbers;
  unsigned element_bytes = 0;  // 1, 2, 4 or 8
  uint64_t elements = 0, columns = 0;
  uint32_t shift = 0, add = 0, most = 0;
  // The first is the highest bit of a place. Rows and columns are padded to powers of two.
  std::span<const Fr> point;
};

// Throws EngineError bad_request when the sizes do not fit the point, tensor_range for a class that no row
// has, cancelled on `stop`. `read` fills bytes from an offset on.
Fr evaluate(const Evaluation& what, const std::function<void(uint64_t offset, std::span<uint8_t> bytes)>& read, const std::atomic<bool>& stop);

}  // namespace assay::zk
