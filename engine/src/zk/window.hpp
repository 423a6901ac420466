// A window that slides over a picture, docs/zk.md §14: which number of the picture [height, width, channels]
// stands in which column of a place's patch. A patch has the channels, each with the window's rows and
// columns, then one column for the bias.
#pragma once
#include <cstdint>

namespace assay::zk {

struct Window {
  uint32_t channels, height, width, size, stride, pad;

  uint64_t down() const { return (uint64_t{height} + 2 * pad - size) / stride + 1; }
  uint64_t across() const { return (uint64_t{width} + 2 * pad - size) / stride + 1; }
  uint64_t places() const { return down() * across(); }
  // Of a patch, the bias among them.
  uint64_t columns() const { return uint64_t{channels} * size * size + 1; }
  // -1: the bias, or a zero around the picture.
  int64_t pixel(uint64_t place, uint64_t column) const {
    const uint64_t inside = column % (uint64_t{size} * size), channel = column / (uint64_t{size} * size);
    if (channel >= channels) return -1;
    const int64_t row = static_cast<int64_t>(place / across() * stride + inside / size) - pad;
    const int64_t x = static_cast<int64_t>(place % across() * stride + inside % size) - pad;
    if (row < 0 || row >= height || x < 0 || x >= width) return -1;
    return (row * width + x) * channels + static_cast<int64_t>(channel);
  }
};

}  // namespace assay::zk
