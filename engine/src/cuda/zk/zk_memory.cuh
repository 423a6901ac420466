// Numbers and points between memory and registers, 16 bytes at a time.
#pragma once
#include "core/bn254.hpp"

namespace assay::cuda {

template <typename T>
__device__ __forceinline__ T load(const T* from) {
  static_assert(sizeof(T) % 16 == 0);
  T out;
  const uint4* words = reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (uint32_t i = 0; i < sizeof(T) / 16; ++i) {
    const uint4 four = words[i];
    uint64_t* to = reinterpret_cast<uint64_t*>(&out) + 2 * i;
    to[0] = static_cast<uint64_t>(four.y) << 32 | four.x;
    to[1] = static_cast<uint64_t>(four.w) << 32 | four.z;
  }
  return out;
}

template <typename T>
__device__ __forceinline__ void store(T* to, const T& value) {
  static_assert(sizeof(T) % 16 == 0);
  uint4* words = reinterpret_cast<uint4*>(to);
#pragma unroll
  for (uint32_t i = 0; i < sizeof(T) / 16; ++i) {
    const uint64_t* from = reinterpret_cast<const uint64_t*>(&value) + 2 * i;
    words[i] = make_uint4(static_cast<uint32_t>(from[0]), static_cast<uint32_t>(from[0] >> 32), static_cast<uint32_t>(from[1]),
                          static_cast<uint32_t>(from[1] >> 32));
  }
}

}  // namespace assay::cuda
