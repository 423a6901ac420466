// BN254: the scalars, the coordinates, and the points of both of its groups, y² = x³ + 3 and its twist.
// Numbers are kept in Montgomery's form, four words of 64 bits, always below the order, so that equal numbers
// are equal words. Portable for host and device; not in constant time: nothing here is a secret.
#pragma once
#include "portable.hpp"

#include "bn254_device.hpp"

namespace assay::inline ASSAY_CORE {

__extension__ typedef unsigned __int128 u128;

// `one`: 2^256 mod the order. `square`: 2^512 mod the order. `inverse`: -1/order mod 2^64.
struct ScalarOrder {
  static constexpr uint64_t order[4] = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029};
  static constexpr uint64_t one[4] = {0xac96341c4ffffffb, 0x36fc76959f60cd29, 0x666ea36f7879462e, 0x0e0a77c19a07df2f};
  static constexpr uint64_t square[4] = {0x1bb8e645ae216da7, 0x53fe3ab1e35c59e3, 0x8c49833d53bb8085, 0x0216d0b17f4e44a5};
  static constexpr uint64_t inverse = 0xc2e1f593efffffff;
};
struct CoordinateOrder {
  static constexpr uint64_t order[4] = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029};
  static constexpr uint64_t one[4] = {0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f};
  static constexpr uint64_t square[4] = {0xf32cfc5b538afa89, 0xb5e71911d44501fb, 0x47ab1eff0a417ff6, 0x06d89f71cab8351f};
  static constexpr uint64_t inverse = 0x87d20782e4866389;
};

template <typename Order>
struct Field {
  uint64_t w[4];

  ASSAY_HD bool operator==(const Field& other) const {
    return ((w[0] ^ other.w[0]) | (w[1] ^ other.w[1]) | (w[2] ^ other.w[2]) | (w[3] ^ other.w[3])) == 0;
  }
  ASSAY_HD bool is_zero() const { return (w[0] | w[1] | w[2] | w[3]) == 0; }

  // Takes the order away if the number, with a carry above it, is not below it.
  ASSAY_OFTEN ASSAY_HD static Field reduced(const uint64_t n[4], uint64_t carry) {
    Field less;
    uint64_t borrow = 0;
    for (int i = 0; i < 4; ++i) {
      const u128 d = static_cast<u128>(n[i]) - Order::order[i] - borrow;
      less.w[i] = static_cast<uint64_t>(d);
      borrow = static_cast<uint64_t>(d >> 64) & 1;
    }
    if (carry != 0 || borrow == 0) return less;
    return {{n[0], n[1], n[2], n[3]}};
  }

  ASSAY_OFTEN ASSAY_HD Field operator+(const Field& other) const {
#if defined(__CUDA_ARCH__)
    return of_words(device_words::plus<Order>(words(), other.words()));
#else
    uint64_t sum[4], carry = 0;
    for (int i = 0; i < 4; ++i) {
      const u128 s = static_cast<u128>(w[i]) + other.w[i] + carry;
      sum[i] = static_cast<uint64_t>(s);
      carry = static_cast<uint64_t>(s >> 64);
    }
    return reduced(sum, carry);
#endif
  }

  ASSAY_OFTEN ASSAY_HD Field operator-(const Field& other) const {
#if defined(__CUDA_ARCH__)
    return of_words(device_words::minus<Order>(words(), other.words()));
#else
    Field d;
    uint64_t borrow = 0;
    for (int i = 0; i < 4; ++i) {
      const u128 one = static_cast<u128>(w[i]) - other.w[i] - borrow;
      d.w[i] = static_cast<uint64_t>(one);
      borrow = static_cast<uint64_t>(one >> 64) & 1;
    }
    if (borrow == 0) return d;
    uint64_t carry = 0;
    for (int i = 0; i < 4; ++i) {
      const u128 s = static_cast<u128>(d.w[i]) + Order::order[i] + carry;
      d.w[i] = static_cast<uint64_t>(s);
      carry = static_cast<uint64_t>(s >> 64);
    }
    return d;
#endif
  }

  // Montgomery's product, a word at a time. The order has two free bits, so no sum overflows five words.
  // Never inlined on the host: a call costs little beside it, and the prover took 100 s to compile where it
  // now takes 40.
#if !defined(__CUDACC__)
  __attribute__((noinline))
#endif
  ASSAY_OFTEN ASSAY_HD Field operator*(const Field& other) const {
#if defined(__CUDA_ARCH__)
    return of_words(device_words::times<Order>(words(), other.words()));
#else
    uint64_t t[5] = {};
    for (int i = 0; i < 4; ++i) {
      uint64_t carry = 0;
      for (int j = 0; j < 4; ++j) {
        const u128 p = static_cast<u128>(w[j]) * other.w[i] + t[j] + carry;
        t[j] = static_cast<uint64_t>(p);
        carry = static_cast<uint64_t>(p >> 64);
      }
      t[4] += carry;
      const uint64_t m = t[0] * Order::inverse;
      u128 p = static_cast<u128>(m) * Order::order[0] + t[0];
      carry = static_cast<uint64_t>(p >> 64);
      for (int j = 1; j < 4; ++j) {
        p = static_cast<u128>(m) * Order::order[j] + t[j] + carry;
        t[j - 1] = static_cast<uint64_t>(p);
        carry = static_cast<uint64_t>(p >> 64);
      }
      p = static_cast<u128>(t[4]) + carry;
      t[3] = static_cast<uint64_t>(p);
      t[4] = static_cast<uint64_t>(p >> 64);
    }
    return reduced(t, t[4]);
#endif
  }

#if defined(__CUDACC__)
  // By n / 2^64: a quarter of a product.
  __device__ __forceinline__ Field short_product(uint64_t n) const { return of_words(device_words::times_short<Order>(words(), n)); }
#endif

  // a·b + c·d: a card reduces both at once.
  ASSAY_HD static Field products(const Field& a, const Field& b, const Field& c, const Field& d) {
#if defined(__CUDA_ARCH__)
    return of_words(device_words::times_twice<Order>(a.words(), b.words(), c.words(), d.words()));
#else
    return a * b + c * d;
#endif
  }

  ASSAY_HD static Field zero() { return {{0, 0, 0, 0}}; }
  ASSAY_HD static Field of(uint64_t n) { return Field{{n, 0, 0, 0}} * squared_radix(); }
  ASSAY_HD static Field one() { return {{Order::one[0], Order::one[1], Order::one[2], Order::one[3]}}; }

  // 32 bytes, big-endian. False: not below the order; one number has one spelling.
  ASSAY_HD static bool from_bytes(const uint8_t* bytes, Field& out) {
    Field plain;
    for (int i = 0; i < 4; ++i) {
      plain.w[i] = 0;
      for (int j = 0; j < 8; ++j) plain.w[i] = plain.w[i] << 8 | bytes[8 * (3 - i) + j];
    }
    if (!(reduced(plain.w, 0) == plain)) return false;
    out = plain * squared_radix();
    return true;
  }

  // The number itself, lowest word first.
  ASSAY_HD Field plain() const { return *this * Field{{1, 0, 0, 0}}; }

  ASSAY_HD void to_bytes(uint8_t* bytes) const {
    const Field number = plain();
    for (int i = 0; i < 32; ++i) bytes[i] = static_cast<uint8_t>(number.w[3 - i / 8] >> (56 - 8 * (i % 8)));
  }

  // By Fermat; 0 for 0.
  ASSAY_HD Field inverted() const {
    Field result = one();
    for (int bit = 253; bit >= 0; --bit) {
      result = result * result;
      // The order minus 2: both orders end in 01 or 47, so that nothing is borrowed beyond the lowest word.
      constexpr uint64_t order[4] = {Order::order[0] - 2, Order::order[1], Order::order[2], Order::order[3]};
      if ((order[bit / 64] >> (bit % 64) & 1) != 0) result = result * *this;
    }
    return result;
  }

 private:
#if defined(__CUDACC__)
  __device__ __forceinline__ device_words::Words words() const { return device_words::words_of(w); }
  __device__ __forceinline__ static Field of_words(const device_words::Words& n) {
    Field out;
    device_words::to_longs(n, out.w);
    return out;
  }
#endif
  ASSAY_HD static Field squared_radix() { return {{Order::square[0], Order::square[1], Order::square[2], Order::square[3]}}; }
};

using Fr = Field<ScalarOrder>;
using Fp = Field<CoordinateOrder>;

// Coordinates of the second group: c0 + c1·i with i² = -1.
struct Fp2 {
  Fp c0, c1;

  ASSAY_HD bool operator==(const Fp2& other) const { return c0 == other.c0 && c1 == other.c1; }
  ASSAY_HD bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  ASSAY_HD Fp2 operator+(const Fp2& other) const { return {c0 + other.c0, c1 + other.c1}; }
  ASSAY_HD Fp2 operator-(const Fp2& other) const { return {c0 - other.c0, c1 - other.c1}; }
  // Where nobody runs it (cuda/CMakeLists.txt), it is compiled once.
#if defined(__CUDACC__) && defined(ASSAY_COMPILE_QUICKLY)
  __noinline__ __host__ __device__
#else
  ASSAY_HD
#endif
  Fp2 operator*(const Fp2& other) const {
    return {Fp::products(c0, other.c0, Fp::zero() - c1, other.c1), Fp::products(c0, other.c1, c1, other.c0)};
  }
  // a·b + c·d
  ASSAY_HD static Fp2 products(const Fp2& a, const Fp2& b, const Fp2& c, const Fp2& d) { return a * b + c * d; }
  ASSAY_HD static Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
  ASSAY_HD static Fp2 one() { return {Fp::one(), Fp::zero()}; }
  // 0 for 0.
  ASSAY_HD Fp2 inverted() const {
    const Fp back = Fp::products(c0, c0, c1, c1).inverted();
    return {c0 * back, (Fp::zero() - c1) * back};
  }
};

// What is added to x³: 3, and 3/(9 + i) in the second group.
ASSAY_HD Fp curve_constant(const Fp&) { return Fp::of(3); }
ASSAY_HD Fp2 curve_constant(const Fp2&) { return Fp2{Fp::of(3), Fp::zero()} * Fp2{Fp::of(9), Fp::one()}.inverted(); }

// x = 0, y = 0 is the point at infinity: the curve has no such point.
template <typename F>
struct AffinePoint {
  F x, y;
  ASSAY_HD bool is_infinity() const { return x.is_zero() && y.is_zero(); }
  ASSAY_HD bool is_on_curve() const { return is_infinity() || y * y == x * x * x + curve_constant(x); }
  ASSAY_HD AffinePoint operator-() const { return {x, F::zero() - y}; }
  ASSAY_HD bool operator==(const AffinePoint& other) const { return x == other.x && y == other.y; }
};

// x / zz, y / zzz with zz³ = zzz²: sums without divisions. zz = 0 is the point at infinity.
template <typename F>
struct PointSum {
  using Affine = AffinePoint<F>;
  F x, y, zz, zzz;

  ASSAY_HD static PointSum infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
  ASSAY_HD static PointSum of(const Affine& p) { return p.is_infinity() ? infinity() : PointSum{p.x, p.y, F::one(), F::one()}; }
  ASSAY_HD bool is_infinity() const { return zz.is_zero(); }

  ASSAY_HD_RARE PointSum doubled() const {
    // No point of the curves has y = 0.
    const F u = y + y, v = u * u, w = u * v, s = x * v, squared = x * x;
    const F m = squared + squared + squared, x3 = m * m - s - s;
    return {x3, F::products(m, s - x3, F::zero() - w, y), v * zz, w * zzz};
  }

  ASSAY_HD PointSum operator+(const PointSum& other) const {
    if (is_infinity()) return other;
    if (other.is_infinity()) return *this;
    const F u1 = x * other.zz, s1 = y * other.zzz;
    return summed(u1, other.x * zz - u1, s1, other.y * zzz - s1, zz * other.zz, zzz * other.zzz);
  }

  ASSAY_HD PointSum operator+(const Affine& other) const {
    if (other.is_infinity()) return *this;
    if (is_infinity()) return of(other);
    return summed(x, other.x * zz - x, y, other.y * zzz - y, zz, zzz);
  }

  ASSAY_HD Affine affine() const {
    if (is_infinity()) return {F::zero(), F::zero()};
    // 1/zzz gives 1/zz: (zz/zzz)² = 1/zz.
    const F back = zzz.inverted(), root = back * zz;
    return {x * root * root, y * back};
  }

 private:
  // p and r: by how much both points differ, brought to one denominator.
  ASSAY_HD PointSum summed(const F& u, const F& p, const F& s, const F& r, const F& both2, const F& both3) const {
    if (p.is_zero()) return r.is_zero() ? doubled() : infinity();
    const F pp = p * p, ppp = p * pp, q = u * pp, x3 = r * r - ppp - q - q;
    return {x3, F::products(r, q - x3, F::zero() - s, ppp), both2 * pp, both3 * ppp};
  }
};

using G1Affine = AffinePoint<Fp>;
using G1 = PointSum<Fp>;
using G2Affine = AffinePoint<Fp2>;
using G2 = PointSum<Fp2>;

}  // namespace assay::ASSAY_CORE
