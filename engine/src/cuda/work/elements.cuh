// One element of a tensor, whatever its type: 0 i8, 1 i16, 2 i32, 3 i64.
#pragma once
#include <cstdint>

namespace assay::cuda {

__device__ __forceinline__ int64_t element(const void* from, uint32_t type, uint64_t index) {
  switch (type) {
    case 0: return static_cast<const int8_t*>(from)[index];
    case 1: return static_cast<const int16_t*>(from)[index];
    case 2: return static_cast<const int32_t*>(from)[index];
    default: return static_cast<const int64_t*>(from)[index];
  }
}

__device__ __forceinline__ void put(void* to, uint32_t type, uint64_t index, int64_t value) {
  switch (type) {
    case 0: static_cast<int8_t*>(to)[index] = static_cast<int8_t>(value); break;
    case 1: static_cast<int16_t*>(to)[index] = static_cast<int16_t>(value); break;
    case 2: static_cast<int32_t*>(to)[index] = static_cast<int32_t>(value); break;
    default: static_cast<int64_t*>(to)[index] = value;
  }
}

}  // namespace assay::cuda
