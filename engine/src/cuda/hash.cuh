// Merkle trees on the device: leaves of 1 KiB, then level by level, then the top in one block; and the
// gathering of openings. docs/hardware-proof.md §1. Hashes are kept as eight words in SHA-256's own order;
// the host turns them into bytes. Levels lie one after the other from level 0; the root is the last node.
//
// What binds: the ALU pipe (shifts, LOP3, IADD3; 64 lanes a clock and multiprocessor) and turns to issue. A
// compression written plainly puts 1281 of its 1397 instructions on the ALU. So what can goes to the pipes of
// multiplications beside it:
//   additions, as x·1 + y with a 1 the compiler cannot see through; turns of the message by 17, 19 and 18.
//   The left part is a multiplication by a power of two, to which the right part is added: w >> 10, which is
//   needed anyway and fits a float's 24 bits, shifted on as a product of floats.
// That leaves 909 on the ALU, 731 integer multiplications and 131 of floats: 0.971 TB/s on an H200 at 1980
// MHz, where additions alone gave 0.910. The ALU is 88 % busy and 85 % of all turns to issue are taken: a
// warp's next instruction is often for the pipe that is taken. Tried there: other orders of the sums (leaves
// at 0.975, but the whole tree slower); without a gain turns of the state as products, sums of three, 9 to 12
// blocks with fewer registers, larger blocks, rounds in a loop, barriers. Shifts by a double's fma run into
// the card's power limit, and a multiplication that gives the upper word (IMAD.HI, IMAD.WIDE) blocks both
// pipes for its two turns. Beside a product the tensor cores and the card's power bind, not the ALU: there
// the plain compression, with fewer instructions, is the better one (gemm_wgmma.cu).
#pragma once
#include "core/sha256.hpp"

namespace assay::cuda {

struct Node {
  uint4 lo, hi;
};

__device__ __forceinline__ Node node_of(const Sha256State& s) {
  return {make_uint4(s.h[0], s.h[1], s.h[2], s.h[3]), make_uint4(s.h[4], s.h[5], s.h[6], s.h[7])};
}

__device__ __forceinline__ Sha256State state_of(const Node& n) {
  return {{n.lo.x, n.lo.y, n.lo.z, n.lo.w, n.hi.x, n.hi.y, n.hi.z, n.hi.w}};
}

// byte_swap32 in one instruction.
__device__ __forceinline__ uint32_t swapped(uint32_t x) { return __byte_perm(x, 0, 0x0123); }

// round_constants() with the message of a padding block added: a one bit, zeros, and the number of bits
// hashed, the tag's block included. Its schedule depends on nothing, so such a block costs its rounds alone.
__host__ __device__ constexpr RoundWords padding_words(uint32_t bits) {
  RoundWords out = round_constants();
  uint32_t w[64] = {};
  w[0] = 0x80000000u;
  w[15] = bits;
  for (int i = 16; i < 64; ++i) {
    const uint32_t w15 = w[i - 15], w2 = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + ((w15 >> 7 | w15 << 25) ^ (w15 >> 18 | w15 << 14) ^ w15 >> 3) +
           ((w2 >> 17 | w2 << 15) ^ (w2 >> 19 | w2 << 13) ^ w2 >> 10);
  }
  for (int i = 0; i < 64; ++i) out.w[i] += w[i];
  return out;
}

// A lane's number is below 32, which the compiler does not know.
__device__ __forceinline__ uint32_t one_in_register() {
  uint32_t lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return (lane >> 5) + 1;
}

__device__ __forceinline__ uint32_t turned(uint32_t x, uint32_t by) { return __funnelshift_r(x, x, by); }

struct PlainSums {
  __device__ __forceinline__ static uint32_t plus(uint32_t x, uint32_t y) { return x + y; }
  __device__ __forceinline__ static uint32_t plus_number(uint32_t x, uint32_t number, uint32_t) { return x + number; }
  __device__ __forceinline__ static uint32_t first_sigma(uint32_t w) { return turned(w, 7) ^ turned(w, 18) ^ (w >> 3); }
  __device__ __forceinline__ static uint32_t first_sigma(uint32_t w, uint32_t) { return first_sigma(w); }
  __device__ __forceinline__ static uint32_t second_sigma(uint32_t w, uint32_t&) { return turned(w, 17) ^ turned(w, 19) ^ (w >> 10); }
};

#if __CUDA_ARCH__ < 1000
// Not const: the host could write it, so the compiler must take it for unknown and keep the multiplication.
__constant__ uint32_t kUnseenOne = 1;
struct SpreadSums {
  __device__ __forceinline__ static uint32_t plus(uint32_t x, uint32_t y) {
    uint32_t sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(kUnseenOne), "r"(y));
    return sum;
  }
  // An instruction has room for one operand that is no register: beside a number the 1 must lie in a register
  // of its own. It must not be the same 1: that one would then lie in a register everywhere, and reading
  // three registers costs a sixth of the speed.
  __device__ __forceinline__ static uint32_t plus_number(uint32_t x, uint32_t number, uint32_t one) {
    uint32_t sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(one), "r"(number));
    return sum;
  }
  __device__ __forceinline__ static uint32_t first_sigma(uint32_t w) { return PlainSums::first_sigma(w); }
  __device__ __forceinline__ static uint32_t first_sigma(uint32_t w, uint32_t top) {
    return turned(w, 7) ^ shifted_plus<14>(w, top) ^ (w >> 3);
  }
  __device__ __forceinline__ static uint32_t second_sigma(uint32_t w, uint32_t& top) {
    const uint32_t high = w >> 10;
    top = lowered<8>(high);
    return shifted_plus<15>(w, lowered<7>(high)) ^ shifted_plus<13>(w, lowered<9>(high)) ^ high;
  }

 private:
  // x >> BY for x below 2^24: the bits of a float that is x times the least one above 0. A product rounded
  // towards 0 shifts it.
  template <uint32_t BY>
  __device__ __forceinline__ static uint32_t lowered(uint32_t x) {
    float product;
    asm("mul.rz.f32 %0, %1, %2;" : "=f"(product) : "f"(__uint_as_float(x)), "f"(1.0f / (1u << BY)));
    return __float_as_uint(product);
  }
  template <uint32_t BY>
  __device__ __forceinline__ static uint32_t shifted_plus(uint32_t x, uint32_t y) {
    uint32_t sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "n"(1u << BY), "r"(y));
    return sum;
  }
};
#else
// From Blackwell on additions run on twice as many lanes as multiplications (data sheets; not measured).
using SpreadSums = PlainSums;
#endif

// Word i of the message, from 16 on, in place of word i − 16. `tops`: the upper 14 bits of words that had
// their second sigma.
template <typename Sums>
__device__ __forceinline__ void extend(uint32_t (&w)[16], uint32_t (&tops)[16], int i) {
  const uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
  const uint32_t s0 = i < 29 ? Sums::first_sigma(w15) : Sums::first_sigma(w15, tops[(i + 1) & 15]);
  const uint32_t s1 = Sums::second_sigma(w2, tops[(i + 14) & 15]);
  w[i & 15] = Sums::plus(s1, Sums::plus(s0, Sums::plus(w[(i + 9) & 15], w[i & 15])));
}

// One compression; equals sha256_compress of core/. FIXED: a padding block after BITS bits; `w` is not read.
template <typename Sums, bool FIXED, uint32_t BITS>
__device__ __forceinline__ void compress(Sha256State& state, uint32_t (&w)[16], uint32_t one) {
  constexpr RoundWords kWords = FIXED ? padding_words(BITS) : round_constants();
  uint32_t a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3];
  uint32_t e = state.h[4], f = state.h[5], g = state.h[6], h = state.h[7];
  uint32_t tops[16];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    uint32_t sum;
    if constexpr (FIXED) {
      sum = Sums::plus_number(h, kWords.w[i], one);
    } else {
      if (i >= 16) extend<Sums>(w, tops, i);
      sum = Sums::plus(h, Sums::plus_number(w[i & 15], kWords.w[i], one));
    }
    sum = Sums::plus((e & f) ^ (~e & g), sum);
    sum = Sums::plus(turned(e, 6) ^ turned(e, 11) ^ turned(e, 25), sum);
    const uint32_t next = Sums::plus(turned(a, 2) ^ turned(a, 13) ^ turned(a, 22), Sums::plus((a & b) ^ (a & c) ^ (b & c), sum));
    h = g;
    g = f;
    f = e;
    e = Sums::plus(d, sum);
    d = c;
    c = b;
    b = a;
    a = next;
  }
  const uint32_t out[8] = {a, b, c, d, e, f, g, h};
#pragma unroll
  for (int i = 0; i < 8; ++i) state.h[i] = Sums::plus(out[i], state.h[i]);
}

// Stays where it is written, so that loading ahead does. Not __ldg: this block may just have written it.
__device__ __forceinline__ uint4 load_four(const uint4* from) {
  uint4 four;
  asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w) : "l"(from) : "memory");
  return four;
}

// One thread a leaf. A thread's four loads share two sectors. AHEAD: the next block's words are loaded before
// this one's are hashed, for where few warps run beside each other; otherwise the other warps of the
// scheduler hash while they are on their way.
template <typename Sums, bool AHEAD>
__device__ __forceinline__ void hash_leaf(const uint4* leaf, Sha256State state, Node* out) {
  const uint32_t one = one_in_register();
  uint32_t words[16];
  uint4 fours[4];
  const auto load = [&](int block) {
#pragma unroll
    for (int j = 0; j < 4; ++j) fours[j] = load_four(leaf + 4 * block + j);
  };
  if constexpr (AHEAD) load(0);
#pragma unroll 1
  for (int block = 0; block < 16; ++block) {
    if constexpr (!AHEAD) load(block);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      words[4 * j] = swapped(fours[j].x);
      words[4 * j + 1] = swapped(fours[j].y);
      words[4 * j + 2] = swapped(fours[j].z);
      words[4 * j + 3] = swapped(fours[j].w);
    }
    if constexpr (AHEAD) load(block < 15 ? block + 1 : block);
    compress<Sums, false, 0>(state, words, one);
  }
  compress<Sums, true, (64 + 1024) * 8>(state, words, one);
  *out = node_of(state);
}

__device__ __forceinline__ Node hash_node(Sha256State state, const Node& left, const Node& right) {
  const Sha256State l = state_of(left), r = state_of(right);
  const uint32_t one = one_in_register();
  uint32_t words[16];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    words[j] = l.h[j];
    words[8 + j] = r.h[j];
  }
  compress<SpreadSums, false, 0>(state, words, one);
  compress<SpreadSums, true, (64 + 64) * 8>(state, words, one);
  return node_of(state);
}

// Node i of the level above `level`, which has `count` nodes.
__device__ __forceinline__ void make_parent(const Node* level, uint32_t count, Node* above, uint32_t i, Sha256State midstate) {
  if (2 * i + 1 < count) above[i] = hash_node(midstate, level[2 * i], level[2 * i + 1]);
  else above[i] = level[2 * i];  // no neighbour: promoted unchanged
}

}  // namespace assay::cuda
