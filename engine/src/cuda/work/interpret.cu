// `map` of docs/work.md §3, interpreted: a thread makes an element at a time, its registers side by side with
// the other threads' in memory. Far slower than the PTX of map_ptx.cpp: for drivers that compile none, and as
// its twin in tests.
#include "core/philox.hpp"
#include "cuda/work/elements.cuh"
#include "cuda/work/map_code.hpp"
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {

// One thread's view of a map.
struct Machine {
  const uint8_t* code;
  const MapHead& head;
  const MapOperands& operands;
  const uint32_t* moment;  // segment, step, third word of rand's counter, key
  int64_t* registers;
  uint64_t stride;  // from one register to the thread's next
  uint32_t coordinates[6];
  uint32_t turn;

  template <typename T>
  __device__ const T* table(uint32_t at) const {
    return reinterpret_cast<const T*>(code + at);
  }
  __device__ int64_t& reg(uint32_t number) { return registers[number * stride]; }

  __device__ void find_coordinates(uint64_t element) {
    for (uint32_t axis = head.rank; axis-- > 0;) {
      coordinates[axis] = static_cast<uint32_t>(element % head.dims[axis]);
      element /= head.dims[axis];
    }
  }
  __device__ int64_t variable(uint32_t of) const {
    if (of < 6) return coordinates[of];
    return of == 8 ? turn : moment[of - 6];
  }

  __device__ int64_t load(const MapInstruction& one) {
    bool is_outside = false;
    uint64_t index = 0;
    for (uint32_t axis = 0; axis < one.axes; ++axis) {
      const MapPlace& place = table<MapPlace>(head.places_at)[one.first_place + axis];
      // Sums of a place fit, in whatever order: as unsigned numbers they may wrap on the way.
      uint64_t sum = static_cast<uint64_t>(static_cast<int64_t>(place.constant));
      if (place.reg >= 0) sum += static_cast<uint64_t>(reg(place.reg));
      for (uint32_t i = 0; i < place.terms; ++i) {
        const MapTerm& term = table<MapTerm>(head.terms_at)[place.first_term + i];
        sum += static_cast<uint64_t>(static_cast<int64_t>(term.times) * variable(term.of));
      }
      auto p = static_cast<int64_t>(sum);
      const int64_t dim = place.dim;
      if (p < 0 || p >= dim) {
        if (place.edge == 1) is_outside = true;
        if (place.edge == 2) p = (p % dim + dim) % dim;
        else p = p < 0 ? 0 : dim - 1;
      }
      index = index * static_cast<uint64_t>(dim) + static_cast<uint64_t>(p);
    }
    return is_outside ? 0 : element(operands.at[one.operand], one.operand_type, index);
  }

  __device__ int64_t run(const MapInstruction& one);
  __device__ uint32_t run_section(uint32_t first, uint32_t count, uint32_t number) {
    for (uint32_t i = 0; i < count; ++i, ++number) reg(number) = run(table<MapInstruction>(head.instructions_at)[first + i]);
    return number;
  }
  __device__ int64_t run_all();
};

__device__ int64_t floor_divided(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a - q * b < 0 ? q - 1 : q;
}
__device__ int64_t shifted(int64_t a, int64_t k) {
  if (k <= 0) return static_cast<int64_t>(static_cast<uint64_t>(a) << -k);
  return (a >> k) + (a >> (k - 1) & 1);
}
// ⌊√x⌋: the nearest double is off by one at most.
__device__ int64_t square_root(int64_t x) {
  const auto value = static_cast<uint64_t>(x);
  auto root = static_cast<uint64_t>(__dsqrt_rn(static_cast<double>(x)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return static_cast<int64_t>(root);
}

__device__ int64_t Machine::run(const MapInstruction& one) {
  // Instructions that read fewer registers have a zero there: register 0, read for nothing.
  const int64_t a = reg(one.a), b = reg(one.b), c = reg(one.c);
  switch (one.code) {
    case 0: return load(one);
    case 1: return one.value;
    case 2: return coordinates[one.axis];
    case 3: return moment[0];
    case 4: return moment[1];
    case 5: return turn;
    case 6: {
      const auto x = static_cast<uint64_t>(a);
      return philox4x32_10({moment[3], moment[4]}, static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32), moment[2], one.domain).w[0];
    }
    case 7: return a + b;
    case 8: return a - b;
    case 9: return a * b;
    case 10: return -a;
    case 11: return a < 0 ? -a : a;
    case 12: return min(a, b);
    case 13: return max(a, b);
    case 14: return shifted(a, -static_cast<int64_t>(one.bits));
    case 15: return a >> one.bits;
    case 16: return shifted(a, one.bits);
    case 17: return shifted(a, b);
    case 18: return floor_divided(a, b);
    case 19: {
      const int64_t q = floor_divided(a, b), rest = a - q * b;
      return rest >= b - rest ? q + 1 : q;
    }
    case 20: return square_root(a);
    case 21: return 64 - __clzll(static_cast<long long>(a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a)));
    case 22: return a == b;
    case 23: return a < b;
    case 24: return a & b;
    case 25: return a | b;
    case 26: return a ^ b;
    case 27: return a != 0 ? b : c;
    default: return min(max(a, b), c);
  }
}

__device__ int64_t Machine::run_all() {
  const uint32_t carried_at = run_section(0, head.before, 0), body_at = carried_at + head.carried;
  if (head.turns == 0) return reg(carried_at - 1);
  const MapCarried* carried = table<MapCarried>(head.carried_at);
  const auto clamped = [&](uint32_t i, uint32_t from) { return min(max(reg(from), carried[i].lo), carried[i].hi); };
  for (uint32_t i = 0; i < head.carried; ++i) reg(carried_at + i) = clamped(i, carried[i].from);
  for (turn = 0; turn < head.turns; ++turn) {
    run_section(head.before, head.body, body_at);
    int64_t next[16];  // all of them from the same turn: one may be another's next
    bool is_settled = head.may_settle;
    for (uint32_t i = 0; i < head.carried; ++i) next[i] = clamped(i, carried[i].next), is_settled &= next[i] == reg(carried_at + i);
    if (is_settled) break;
    for (uint32_t i = 0; i < head.carried; ++i) reg(carried_at + i) = next[i];
  }
  const uint32_t end = run_section(head.before + head.body, head.after, body_at + head.body);
  return reg(end - 1);
}

}  // namespace assay::cuda

using namespace assay::cuda;

extern "C" __global__ void __launch_bounds__(kInterpretThreads)
    interpret_map(const uint8_t* code, const __grid_constant__ MapOperands operands, void* out, const uint32_t* moment, int64_t* registers) {
  const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x, thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const MapHead& head = *reinterpret_cast<const MapHead*>(code);
  Machine machine{code, head, operands, moment, registers + thread, stride, {}, 0};
  machine.reg(0) = 0;  // the first instruction reads it for nothing
  for (uint64_t i = thread; i < head.count; i += stride) {
    machine.find_coordinates(i);
    put(out, head.type, i, machine.run_all());
  }
}
