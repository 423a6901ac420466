// What the two ways to multiply (gemm_mma.cu, gemm_wgmma.cu) and the hashing of their tiles (hash.cu) share:
// the type of a sum, and where a tile lies in C.
#pragma once
#include "launch_shape.hpp"

namespace assay::cuda {

template <Precision P>
struct Accumulator {
  using type = float;
};
template <>
struct Accumulator<Precision::int8> {
  using type = int32_t;
};

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

struct Tile {
  uint32_t row, column;  // of C, in elements
};

__device__ __forceinline__ Tile tile_place(uint32_t tile, uint32_t m, uint32_t n, uint32_t tile_n) {
  const uint32_t rows = m / kTileM, columns = n / tile_n;
  const uint32_t band = tile / (kRasterRows * columns), first = band * kRasterRows;
  const uint32_t in_band = tile - band * kRasterRows * columns;
  const uint32_t height = rows - first < kRasterRows ? rows - first : kRasterRows;
  return {(first + in_band % height) * kTileM, (in_band / height) * tile_n};
}

}  // namespace assay::cuda
