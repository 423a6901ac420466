// Scalars of lists, and sums over the threads of a block.
#pragma once
#include "list_shape.hpp"
#include "zk_memory.cuh"

namespace assay::cuda {

// What makes up for a short product: 2^64, in Montgomery's form.
__device__ __forceinline__ Fr short_radix() { return {{0xb4c6edf97c5fb586, 0x708c8d50bfeb93be, 0x9ffd1de404f7e0ef, 0x215b02ac9a392866}}; }

__device__ __forceinline__ uint64_t size_of(int64_t number) { return number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number); }

// sum + by·number / 2^64
__device__ __forceinline__ Fr plus_short(const Fr& sum, const Fr& by, int64_t number) {
  const Fr term = by.short_product(size_of(number));
  return number < 0 ? sum - term : sum + term;
}

__device__ __forceinline__ Fr scalar_of(int64_t number) {
  const Fr size = short_radix().short_product(size_of(number));
  return number < 0 ? Fr::zero() - size : size;
}

__device__ __forceinline__ Fr value_at(const Source& from, uint64_t i) {
  return from.is_numbers != 0 ? scalar_of(static_cast<const int64_t*>(from.at)[i]) : load(static_cast<const Fr*>(from.at) + i);
}

// Σ from(at(i))·by(i) for i = first, first + step, … below end: short products where `from` has numbers.
template <typename At>
__device__ __forceinline__ Fr sum_of_products(const Source& from, const Source& by, uint64_t first, uint64_t end, uint64_t step, const At& at) {
  Fr sum = Fr::zero();
  if (from.is_numbers != 0) {
    const int64_t* numbers = static_cast<const int64_t*>(from.at);
#pragma unroll 1
    for (uint64_t i = first; i < end; i += step) sum = plus_short(sum, value_at(by, i), numbers[at(i)]);
    return sum * short_radix();
  }
#pragma unroll 1
  for (uint64_t i = first; i < end; i += step) sum = sum + value_at(from, at(i)) * value_at(by, i);
  return sum;
}

// What this row of blocks has to do, brought near.
template <typename T>
__device__ __forceinline__ void take_shape(const T* shapes, T& own) {
  const uint32_t* from = reinterpret_cast<const uint32_t*>(shapes + blockIdx.y);
  for (uint32_t i = threadIdx.x; i < sizeof(T) / 4; i += kListThreads) reinterpret_cast<uint32_t*>(&own)[i] = from[i];
  __syncthreads();
}

// Of all threads of a block of kListThreads, known to the first one.
__device__ __forceinline__ Fr block_sum(Fr own, Fr* shared) {
  __syncthreads();
  shared[threadIdx.x] = own;
  for (uint32_t step = kListThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      own = own + shared[threadIdx.x + step];
      shared[threadIdx.x] = own;
    }
  }
  return own;
}

}  // namespace assay::cuda
