// What a device must do to prove a segment (docs/zk.md §5): hold lists of numbers and scalars, commit to
// them, sum over them, fold them. Which lists these are, and what is said in which order, is
// segment_prover.cpp: the same for every device. All results are exact, so proofs are equal byte for byte on
// every device.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/bn254.hpp"
#include "zk/groth16/groth16.hpp"
#include "zk/segment_run.hpp"

namespace assay::zk {

// A list on the device: whole numbers that fit 64 bits, or scalars. Written when it is made; scalars may be
// added to (add_times, place).
class List {
 public:
  explicit List(size_t size) : size_(size) {}
  virtual ~List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  size_t size() const { return size_; }

 private:
  size_t size_;
};
using ListPtr = std::shared_ptr<List>;

// Part of a list.
struct Slice {
  ListPtr list;
  size_t at = 0, count = 0;
};
inline Slice all_of(const ListPtr& list) { return {list, 0, list->size()}; }

// A run's numbers on the device, as SegmentRun has them.
struct RunLists {
  std::array<ListPtr, kHelpers> groups;
  std::vector<ListPtr> z, q, entering, last, stepped;
  std::array<ListPtr, kSoftmaxLists> softmax;
  CubeOrder order;
  uint64_t first_place = 0;
};

// Values that stand at a place of a piece.
struct Kernel {
  Slice values;
  size_t at;
};

// What is looked up, seen from α: constant + Σ by[k]·values[k] + product·values[left]·values[right]. Never 0
// but for one α in 2^200.
struct Part {
  Fr constant;
  std::vector<Fr> by;
  Fr product;
  uint8_t left = 0, right = 0;
};

// Σ 1/part at each place of `values`, which stand from `at` on in another list.
struct InverseSums {
  size_t at;
  std::vector<Slice> values;
  std::vector<Part> parts;
};

// Σ over 2^variables corners. Columns have 2^variables values each, the first variable being the highest bit
// of an index.
//   lookup:  columns e, g, values…:  factor·e·(g·Π parts − Σ_k Π_(j≠k) part_j) + all·g
//            1 or 3 parts, 1 to 5 values; on a CPU 2 parts and 6 values too
//   table:   columns e, g, m, own:   factor·e·(g·own − m) − all·g
//   product: factor·(product of 2 or 3 columns)
struct Sum {
  enum class Kind : uint8_t { lookup, table, product };
  Kind kind;
  unsigned variables;
  unsigned degree;
  std::vector<Slice> columns;
  std::vector<Part> parts;
  Fr factor, all;
};

// Sums on their way through the rounds, each from its own first variable on.
class Sums {
 public:
  virtual ~Sums() = default;
  // Of the corners that are left.
  virtual Fr whole(size_t sum) = 0;
  // Values of the next round's polynomial at 0 … degree.
  virtual std::vector<Fr> round(size_t sum) = 0;
  // The first variable that is left becomes x.
  virtual void fold(size_t sum, const Fr& x) = 0;
  // Values of all columns once no variable is left.
  virtual std::vector<Fr> ends(size_t sum) = 0;
};

// Memory and powers of one session.
class ProofMemory {
 public:
  virtual ~ProofMemory() = default;

  // Leave to take so many bytes more than what was prepared, for as long as this lives. Throws EngineError
  // no_memory.
  virtual std::shared_ptr<const void> hold(uint64_t bytes) = 0;

  virtual ListPtr numbers(std::span<const int64_t> values) = 0;
  virtual ListPtr scalars(std::span<const Fr> values) = 0;
  virtual ListPtr zeros(size_t count) = 0;  // scalars
  virtual std::vector<Fr> read(const Slice& from) = 0;
  // Copies into a list of scalars.
  virtual void place(const ListPtr& into, size_t at, const Slice& from) = 0;

  // Runs a segment. Throws as run_segment does.
  virtual RunLists run(const ProofPlan& plan, const SegmentStart& start, const uint8_t seed[32], uint32_t first_step, const std::atomic<bool>& stop) = 0;

  // [τ^0], [τ^1] …, once.
  virtual void set_powers(std::span<const G1Affine> powers) = 0;
  // Those of a known τ.
  virtual void make_powers(const Fr& tau, size_t count, const std::atomic<bool>& stop) = 0;
  // Σ value_i·[τ^i], for each slice; no longer than the powers.
  virtual std::vector<G1Affine> commit(std::span<const Slice> slices) = 0;

  // eq(point, i) for all i; the first of the point is the highest bit.
  virtual ListPtr eqs(std::span<const Fr> point) = 0;
  // Each value `times` times in a row.
  virtual ListPtr repeated(const Slice& from, size_t times) = 0;
  virtual Fr dot(const Slice& a, const Slice& b) = 0;
  // Σ_i kernel(i)·piece(at + i), for each kernel and each piece: (kernel, piece).
  virtual std::vector<Fr> dots(std::span<const Slice> pieces, std::span<const Kernel> kernels) = 0;
  // Σ_j factor_j·slice_j, of slices of one length.
  virtual ListPtr combined(std::span<const Slice> slices, std::span<const Fr> factors) = 0;
  // Σ_j from(i, j, k)·by(j) of a list (a, b, c): a·c values.
  virtual ListPtr folded(const Slice& from, size_t a, size_t b, size_t c, const Slice& by) = 0;
  // What was there before each of `steps` steps: at (t, k) base(k) − Σ_(s<t) Σ_b column(s, b, k)·by(s, b).
  virtual ListPtr before_steps(const Slice& base, const Slice& column, size_t steps, size_t batch, const Slice& by) = 0;
  // Σ 1/part at each place, into a list of scalars; several of them.
  virtual void place_inverse_sums(const ListPtr& into, std::span<const InverseSums> sums) = 0;
  // above_i / below_i; 0 where above_i is 0.
  virtual ListPtr quotients(const Slice& above, const Slice& below) = 0;
  // into_(at + i) += factor·from_i; `into` is a list of scalars.
  virtual void add_times(const ListPtr& into, size_t at, const Slice& from, const Fr& factor) = 0;
  virtual std::unique_ptr<Sums> sums(std::vector<Sum> sums) = 0;

  // Polynomials by their coefficients, lowest first.
  virtual Fr at(const ListPtr& poly, const Fr& x) = 0;
  // By X − x, without what remains; the same length, its last one 0.
  virtual ListPtr divided(const ListPtr& poly, const Fr& x) = 0;
  // Σ_i a_i·b_(i+k) + a_(i+k)·b_i at k − 1, for k = 1 … ; as long as a, its last one being 0. b is no longer
  // than a. By values at roots of 1, so up to 2^26 + 1 of them.
  virtual ListPtr crossed(const ListPtr& a, const ListPtr& b) = 0;
};

// Brings a run that was done on the host to the device; its numbers go as soon as they are there.
RunLists lists_of(ProofMemory& memory, const ProofPlan& plan, SegmentRun& run);

class ProofKernels {
 public:
  virtual ~ProofKernels() = default;
  // Whether it runs plans with convolutions and softmax.
  virtual bool runs_wide_plans() const = 0;
  // `bytes`: what the plan will take at most, counting 32 bytes a value. Throws EngineError no_memory.
  virtual std::unique_ptr<ProofMemory> prepare(uint64_t bytes) = 0;
  // Leave to take so many bytes of the host, and of a card if it is one, for as long as this lives. Throws
  // EngineError no_memory.
  virtual std::shared_ptr<const void> hold(uint64_t host_bytes, uint64_t card_bytes) = 0;
  // Proofs of circuits (groth16/groth16.hpp); the key outlives it.
  virtual std::unique_ptr<Groth16Device> groth16(const Groth16Key& key) = 0;
  virtual std::unique_ptr<PointMaker> point_maker() = 0;
  // Null: it has no threads of its own.
  virtual ThreadPool* host_pool() = 0;
};

}  // namespace assay::zk
