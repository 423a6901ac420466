// BN254's arithmetic in the words of a card: 32 bits each, sums by chains of carries. The results are those
// of bn254.hpp, which uses these where device code is compiled.
#pragma once
#include <cstdint>

#if defined(__CUDACC__)
// Where nobody runs it (cuda/CMakeLists.txt), a product is compiled once.
#if defined(ASSAY_COMPILE_QUICKLY)
#define ASSAY_PRODUCT __device__ __noinline__
#else
#define ASSAY_PRODUCT __device__ __forceinline__
#endif

namespace assay::inline ASSAY_CORE::device_words {

// Eight words of 32 bits, lowest first.
struct Words {
  uint32_t w[8];
};

__device__ __forceinline__ Words words_of(const uint64_t n[4]) {
  Words out;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out.w[2 * i] = static_cast<uint32_t>(n[i]);
    out.w[2 * i + 1] = static_cast<uint32_t>(n[i] >> 32);
  }
  return out;
}

__device__ __forceinline__ void to_longs(const Words& n, uint64_t out[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = static_cast<uint64_t>(n.w[2 * i + 1]) << 32 | n.w[2 * i];
}

template <typename Order, int I>
constexpr uint32_t order_word = static_cast<uint32_t>(Order::order[I / 2] >> (32 * (I % 2)));

__device__ __forceinline__ Words sum(const Words& a, const Words& b) {
  Words s;
  asm("add.cc.u32 %0, %8, %16; addc.cc.u32 %1, %9, %17; addc.cc.u32 %2, %10, %18; addc.cc.u32 %3, %11, %19;"
      "addc.cc.u32 %4, %12, %20; addc.cc.u32 %5, %13, %21; addc.cc.u32 %6, %14, %22; addc.u32 %7, %15, %23;"
      : "=r"(s.w[0]), "=r"(s.w[1]), "=r"(s.w[2]), "=r"(s.w[3]), "=r"(s.w[4]), "=r"(s.w[5]), "=r"(s.w[6]), "=r"(s.w[7])
      : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(a.w[4]), "r"(a.w[5]), "r"(a.w[6]), "r"(a.w[7]), "r"(b.w[0]), "r"(b.w[1]),
        "r"(b.w[2]), "r"(b.w[3]), "r"(b.w[4]), "r"(b.w[5]), "r"(b.w[6]), "r"(b.w[7]));
  return s;
}

// `borrow`: all ones where b is more than a.
__device__ __forceinline__ Words difference(const Words& a, const Words& b, uint32_t& borrow) {
  Words d;
  asm("sub.cc.u32 %0, %9, %17; subc.cc.u32 %1, %10, %18; subc.cc.u32 %2, %11, %19; subc.cc.u32 %3, %12, %20;"
      "subc.cc.u32 %4, %13, %21; subc.cc.u32 %5, %14, %22; subc.cc.u32 %6, %15, %23; subc.cc.u32 %7, %16, %24; subc.u32 %8, 0, 0;"
      : "=r"(d.w[0]), "=r"(d.w[1]), "=r"(d.w[2]), "=r"(d.w[3]), "=r"(d.w[4]), "=r"(d.w[5]), "=r"(d.w[6]), "=r"(d.w[7]), "=r"(borrow)
      : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(a.w[4]), "r"(a.w[5]), "r"(a.w[6]), "r"(a.w[7]), "r"(b.w[0]), "r"(b.w[1]),
        "r"(b.w[2]), "r"(b.w[3]), "r"(b.w[4]), "r"(b.w[5]), "r"(b.w[6]), "r"(b.w[7]));
  return d;
}

template <typename Order>
__device__ __forceinline__ Words order_words() {
  return {{order_word<Order, 0>, order_word<Order, 1>, order_word<Order, 2>, order_word<Order, 3>, order_word<Order, 4>,
           order_word<Order, 5>, order_word<Order, 6>, order_word<Order, 7>}};
}

// Of a number below twice the order.
template <typename Order>
__device__ __forceinline__ Words reduced(const Words& n) {
  uint32_t borrow;
  const Words less = difference(n, order_words<Order>(), borrow);
  Words out;
#pragma unroll
  for (int i = 0; i < 8; ++i) out.w[i] = borrow != 0 ? n.w[i] : less.w[i];
  return out;
}

template <typename Order>
__device__ __forceinline__ Words plus(const Words& a, const Words& b) { return reduced<Order>(sum(a, b)); }

template <typename Order>
__device__ __forceinline__ Words minus(const Words& a, const Words& b) {
  uint32_t borrow;
  const Words d = difference(a, b, borrow);
  Words back = order_words<Order>();
#pragma unroll
  for (int i = 0; i < 8; ++i) back.w[i] &= borrow;
  return sum(d, back);
}

// A sum of products on its way: even + odd·2^32. So each product of two words lies in a pair of registers of
// its own, and a row of four is one chain of carries. It stays below 2^288: `even` may carry into the top of
// `odd`, `odd` into nothing.
struct Halves {
  uint32_t even[8], odd[8];
};

__device__ __forceinline__ void begin_row(Halves& v, const Words& a, uint32_t b) {
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    asm("mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;" : "=r"(v.even[i]), "=r"(v.even[i + 1]) : "r"(a.w[i]), "r"(b));
    asm("mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;" : "=r"(v.odd[i]), "=r"(v.odd[i + 1]) : "r"(a.w[i + 1]), "r"(b));
  }
}

__device__ __forceinline__ void add_even(Halves& v, uint32_t a0, uint32_t a2, uint32_t a4, uint32_t a6, uint32_t b) {
  asm("mad.lo.cc.u32 %0, %9, %13, %0; madc.hi.cc.u32 %1, %9, %13, %1; madc.lo.cc.u32 %2, %10, %13, %2; madc.hi.cc.u32 %3, %10, %13, %3;"
      "madc.lo.cc.u32 %4, %11, %13, %4; madc.hi.cc.u32 %5, %11, %13, %5; madc.lo.cc.u32 %6, %12, %13, %6; madc.hi.cc.u32 %7, %12, %13, %7;"
      "addc.u32 %8, %8, 0;"
      : "+r"(v.even[0]), "+r"(v.even[1]), "+r"(v.even[2]), "+r"(v.even[3]), "+r"(v.even[4]), "+r"(v.even[5]), "+r"(v.even[6]),
        "+r"(v.even[7]), "+r"(v.odd[7])
      : "r"(a0), "r"(a2), "r"(a4), "r"(a6), "r"(b));
}

__device__ __forceinline__ void add_odd(Halves& v, uint32_t a1, uint32_t a3, uint32_t a5, uint32_t a7, uint32_t b) {
  asm("mad.lo.cc.u32 %0, %8, %12, %0; madc.hi.cc.u32 %1, %8, %12, %1; madc.lo.cc.u32 %2, %9, %12, %2; madc.hi.cc.u32 %3, %9, %12, %3;"
      "madc.lo.cc.u32 %4, %10, %12, %4; madc.hi.cc.u32 %5, %10, %12, %5; madc.lo.cc.u32 %6, %11, %12, %6; madc.hi.u32 %7, %11, %12, %7;"
      : "+r"(v.odd[0]), "+r"(v.odd[1]), "+r"(v.odd[2]), "+r"(v.odd[3]), "+r"(v.odd[4]), "+r"(v.odd[5]), "+r"(v.odd[6]), "+r"(v.odd[7])
      : "r"(a1), "r"(a3), "r"(a5), "r"(a7), "r"(b));
}

// Adds a·b.
__device__ __forceinline__ void add_row(Halves& v, const Words& a, uint32_t b) {
  add_odd(v, a.w[1], a.w[3], a.w[5], a.w[7], b);
  add_even(v, a.w[0], a.w[2], a.w[4], a.w[6], b);
}

// Divides by 2^32, the lowest word being 0, and adds a·b: what was odd is even now.
__device__ __forceinline__ void shift_and_add_row(Halves& v, const Words& a, uint32_t b) {
  Halves next;
#pragma unroll
  for (int i = 0; i < 8; ++i) next.even[i] = v.odd[i];
  asm("add.cc.u32 %8, %8, %9; madc.lo.cc.u32 %0, %16, %20, %10; madc.hi.cc.u32 %1, %16, %20, %11; madc.lo.cc.u32 %2, %17, %20, %12;"
      "madc.hi.cc.u32 %3, %17, %20, %13; madc.lo.cc.u32 %4, %18, %20, %14; madc.hi.cc.u32 %5, %18, %20, %15; madc.lo.cc.u32 %6, %19, %20, 0;"
      "madc.hi.u32 %7, %19, %20, 0;"
      : "=&r"(next.odd[0]), "=&r"(next.odd[1]), "=&r"(next.odd[2]), "=&r"(next.odd[3]), "=&r"(next.odd[4]), "=&r"(next.odd[5]),
        "=&r"(next.odd[6]), "=&r"(next.odd[7]), "+r"(next.even[0])
      : "r"(v.even[1]), "r"(v.even[2]), "r"(v.even[3]), "r"(v.even[4]), "r"(v.even[5]), "r"(v.even[6]), "r"(v.even[7]), "r"(a.w[1]),
        "r"(a.w[3]), "r"(a.w[5]), "r"(a.w[7]), "r"(b));
  add_even(next, a.w[0], a.w[2], a.w[4], a.w[6], b);
  v = next;
}

// Adds as many times the order as make the lowest word 0.
template <typename Order>
__device__ __forceinline__ void clear_lowest(Halves& v) {
  const uint32_t m = v.even[0] * static_cast<uint32_t>(Order::inverse);
  add_odd(v, order_word<Order, 1>, order_word<Order, 3>, order_word<Order, 5>, order_word<Order, 7>, m);
  add_even(v, order_word<Order, 0>, order_word<Order, 2>, order_word<Order, 4>, order_word<Order, 6>, m);
}

// Divides by 2^32 a last time and brings both halves together.
template <typename Order>
__device__ __forceinline__ Words joined(const Halves& v) {
  const Words low{{v.odd[0], v.odd[1], v.odd[2], v.odd[3], v.odd[4], v.odd[5], v.odd[6], v.odd[7]}};
  const Words high{{v.even[1], v.even[2], v.even[3], v.even[4], v.even[5], v.even[6], v.even[7], 0}};
  return reduced<Order>(sum(low, high));
}

template <typename Order>
ASSAY_PRODUCT Words times(const Words& a, const Words& b) {
  Halves v;
  begin_row(v, a, b.w[0]);
  clear_lowest<Order>(v);
#pragma unroll
  for (int i = 1; i < 8; ++i) {
    shift_and_add_row(v, a, b.w[i]);
    clear_lowest<Order>(v);
  }
  return joined<Order>(v);
}

// a·b / 2^64, for a b of two words: a quarter of a product.
template <typename Order>
ASSAY_PRODUCT Words times_short(const Words& a, uint64_t b) {
  Halves v;
  begin_row(v, a, static_cast<uint32_t>(b));
  clear_lowest<Order>(v);
  shift_and_add_row(v, a, static_cast<uint32_t>(b >> 32));
  clear_lowest<Order>(v);
  return joined<Order>(v);
}

// a·b + c·d, reduced once: 2·order²/2^256 + order is less than twice the order.
template <typename Order>
ASSAY_PRODUCT Words times_twice(const Words& a, const Words& b, const Words& c, const Words& d) {
  Halves v;
  begin_row(v, a, b.w[0]);
  add_row(v, c, d.w[0]);
  clear_lowest<Order>(v);
#pragma unroll
  for (int i = 1; i < 8; ++i) {
    shift_and_add_row(v, a, b.w[i]);
    add_row(v, c, d.w[i]);
    clear_lowest<Order>(v);
  }
  return joined<Order>(v);
}

}  // namespace assay::ASSAY_CORE::device_words
#endif
