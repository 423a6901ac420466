// Merkle trees on the device: leaves of 1 KiB, then level by level, then the top in one block; and the
// gathering of openings. docs/hardware-proof.md §1. Hashes are kept as eight words in SHA-256's own order;
// the host turns them into bytes. Levels lie one after the other from level 0; the root is the last node.
//
// What binds: the ALU pipe (shifts, LOP3, IADD3; 64 lanes a clock and multiprocessor). A compression written
// plainly puts 1281 of its 1397 instructions there, and ncu shows that pipe 95 % busy. So every addition goes
// to the multiplier pipe beside it, as x·1 + y, with a 1 the compiler cannot see through: 1040 on the ALU,
// 600 on the multipliers. Rotations and shifts stay: a multiplication that gives the upper word (IMAD.HI,
// IMAD.WIDE) blocks both pipes for its two turns, and a shift by a double's fma (2^52 + x, times 2^-r, rounded
// down) costs registers; both were measured on an H200 as a loss (0.84 to 0.90 instead of 0.91 TB/s). There the
// ALU pipe is 93 % busy at 1965 MHz, and the card at its power limit. A leaf's 16 blocks and its padding are 17,280 instructions of that
// pipe: 0.99 TB/s at 1980 MHz if no clock of it were lost, so 1.0 TB/s needs fewer of them, not a better order. Beside a product the tensor cores and
// the card's power bind, not the ALU: there the plain compression, with fewer instructions, is the better one
// (gemm_wgmma.cu).
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

struct PlainSums {
  __device__ __forceinline__ static uint32_t plus(uint32_t x, uint32_t y) { return x + y; }
  __device__ __forceinline__ static uint32_t plus_number(uint32_t x, uint32_t number, uint32_t) { return x + number; }
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
};
#else
// From Blackwell on additions run on twice as many lanes as multiplications (data sheets; not measured).
using SpreadSums = PlainSums;
#endif

__device__ __forceinline__ uint32_t turned(uint32_t x, uint32_t by) { return __funnelshift_r(x, x, by); }

// One compression; equals sha256_compress of core/. FIXED: a padding block after BITS bits; `w` is not read.
template <typename Sums, bool FIXED, uint32_t BITS>
__device__ __forceinline__ void compress(Sha256State& state, uint32_t (&w)[16], uint32_t one) {
  constexpr RoundWords kWords = FIXED ? padding_words(BITS) : round_constants();
  uint32_t a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3];
  uint32_t e = state.h[4], f = state.h[5], g = state.h[6], h = state.h[7];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    uint32_t sum;
    if constexpr (FIXED) {
      sum = Sums::plus_number(h, kWords.w[i], one);
    } else {
      if (i >= 16) {
        const uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
        const uint32_t s0 = turned(w15, 7) ^ turned(w15, 18) ^ (w15 >> 3), s1 = turned(w2, 17) ^ turned(w2, 19) ^ (w2 >> 10);
        w[i & 15] = Sums::plus(s1, Sums::plus(s0, Sums::plus(w[(i + 9) & 15], w[i & 15])));
      }
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
