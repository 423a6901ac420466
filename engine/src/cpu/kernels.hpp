// The inner loops of the CPU device, compiled once for each instruction set and chosen at run time. Plain
// pointers and numbers only: whatever inline function this header brought in would be compiled with the flags
// of every set, and the linker would keep just one of them, for all CPUs.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace assay_kernels {

// A tile of C is mr rows by nr columns. Both operands come packed in panels of `mr` (A) or `nr` (B) rows: run
// after run of kg entries of k, each of entry_bytes, for all rows of the panel, as the tile likes it.
struct GemmKernel {
  uint32_t mr, nr, kg, entry_bytes;
  // Rows row0 … row0+rows-1 (one panel) of matrix A (0) or B (1), made from the key and packed.
  void (*pack)(uint8_t precision, uint32_t key0, uint32_t key1, uint32_t matrix, uint32_t k, uint32_t row0, uint32_t rows,
               void* out);
  // C = or += A·Bᵀ over k_count entries, modulo 2^16; `stride` in elements.
  void (*tile)(const void* a, const void* b, uint32_t k_count, bool add, uint16_t* c, size_t stride);
};

// Exact products of programs, kernels_exact.inc: operands as planes of signed bytes, digits to the base 256,
// packed like those above.
struct ExactKernel {
  uint32_t mr, nr, kg, entry_bytes;
  // `rows` rows of k elements, `stride` elements apart, as a panel of panel_rows (mr or nr): the digits of x
  // + add, each less 128.
  void (*pack)(const void* from, uint32_t type_bytes, size_t stride, uint32_t rows, uint32_t panel_rows, uint32_t k, uint32_t add,
               uint32_t digits, void* out);
  // Sums of the products of what two panels stand for, over `runs` runs of kg entries: mr rows of nr, modulo
  // 2^64. 32 bits must hold the sum over the products of digits of any one weight.
  void (*tile)(const void* a, const void* b, uint32_t runs, uint32_t a_digits, uint32_t b_digits, uint64_t* sums);
};

// Maps and reductions of programs, kernels_lanes.inc: loops over lane arrays of 32 (0) or 64 (1) bits. Input
// and output never overlap. Types and reductions by their codes in docs/work.md.
struct LaneKernels {
  // By code of the instruction and widths: bit 0 of a, bit 1 of b (and c), bit 2 of the output. Null: not in
  // this mix; 0 and 7 always are.
  void (*op[29][8])(const void* a, const void* b, const void* c, void* out, uint32_t count, int64_t bits);
  // Elements of a type, `stride` apart, into lanes; those at index[i], 0 where that is negative; those at
  // base + index[i].
  void (*load[4][2])(const void* from, int64_t stride, uint32_t count, void* out);
  void (*gather[4][2])(const void* from, const int64_t* index, uint32_t count, void* out);
  void (*look_up[4][2])(const void* from, int64_t base, const int32_t* index, uint32_t count, void* out);
  void (*store[2][4])(const void* lane, uint32_t count, void* out);
  // Clamped, from one width to another.
  void (*within[2][2])(const void* from, int64_t lo, int64_t hi, uint32_t count, void* out);
  void (*ramp[2])(int64_t first, int64_t by, uint32_t count, void* out);
  // Into 64 bits.
  void (*rand[2])(uint32_t key0, uint32_t key1, uint32_t when, uint32_t domain, const void* a, uint32_t count, void* out);
  int64_t (*reduce[4][5])(const void* row, uint32_t count);
};

struct Kernels {
  const char* name;
  GemmKernel gemm8;   // entries of 8 bits: int8, fp8
  GemmKernel gemm16;  // entries of 16 bits: fp16, bf16, tf32
  ExactKernel exact;
  LaneKernels lanes;
  // One 64-bit digest a leaf of 1024 bytes: digests[2i], [2i+1] of the leaves from kept_leaf on.
  void (*mix)(const uint8_t nonce[32], const uint8_t* leaves, uint32_t kept_leaf, uint32_t count, uint32_t* digests);
  // 64 hops of each of the chains (at most 4), side by side: `states` before and after; `targets` may be
  // null, else it is given where each hop read, chain after chain. `rounds` are products of `leaves` leaves
  // each.
  void (*hop)(const uint8_t nonce[32], const uint8_t* const* rounds, uint32_t round_count, uint32_t leaves, uint64_t* states,
              uint32_t chains, uint64_t* targets);
  // Final bits of `count` lanes (a multiple of 128) from `first` on; fp64 writes 8 bytes a lane, the others
  // 4. Gives up, with nothing of use written, when stopped(context) says so; asked every 512 steps.
  void (*fma)(uint8_t precision, uint32_t key0, uint32_t key1, uint32_t first, uint32_t count, uint32_t steps, void* out,
              bool (*stopped)(const void* context), const void* context);
};

#if defined(__aarch64__)
extern const Kernels kernels_base, kernels_dotprod;
#elif defined(__x86_64__)
extern const Kernels kernels_base, kernels_v3, kernels_v4;
#else
extern const Kernels kernels_base;
#endif

constexpr size_t kMaxSets = 3;
// Those that this CPU runs, the plainest first; returns how many.
size_t usable_kernels(const Kernels* out[kMaxSets]);
const Kernels& best_kernels();

}  // namespace assay_kernels
