// Sums of points on a card: commitments (docs/zk.md §1). All addresses are the card's; the caller has entered
// the context.
#pragma once
#include <span>
#include <vector>

#include "core/bn254.hpp"
#include "cuda/context.hpp"
#include "msm_shape.hpp"

namespace assay::cuda {

// Digits for `count` scalars below 2^bits, so that additions into buckets and of buckets are fewest.
MsmShape msm_shape(uint32_t count, uint32_t bits);

template <typename F>
class MsmOf {
 public:
  using Affine = AffinePoint<F>;
  explicit MsmOf(std::shared_ptr<const Context> context);
  // Σ scalar_i·point_i of scalars in Montgomery's form, or of whole numbers of 64 bits with a sign.
  Affine of_scalars(CUdeviceptr points, CUdeviceptr scalars, uint32_t count);
  Affine of_numbers(CUdeviceptr points, CUdeviceptr numbers, uint32_t count);
  // Several lists of one length, by the same points.
  std::vector<Affine> of_scalars(CUdeviceptr points, std::span<const CUdeviceptr> lists, uint32_t count);
  std::vector<Affine> of_numbers(CUdeviceptr points, std::span<const CUdeviceptr> lists, uint32_t count);
  // Forgets the room that sums were made in.
  void let_go() { room_ = Buffer(); }

 private:
  // `shape`: of one of them. As many at once as have room: their windows count as windows of one sum.
  std::vector<Affine> sums(const MsmShape& shape, CUdeviceptr points, std::span<const CUdeviceptr> lists, const char* to_digits);
  void make_room(const MsmShape& shape);
  std::vector<uint32_t> widest(std::span<const CUdeviceptr> lists, uint32_t count);
  void sort(const MsmShape& shape);
  void add(const MsmShape& shape, CUdeviceptr points);
  std::vector<PointSum<F>> weigh(const MsmShape& shape);
  CUdeviceptr take(uint64_t bytes);

  std::shared_ptr<const Context> context_;
  Buffer room_;
  uint64_t taken_ = 0;
  // Within the room: of the sum that is being made.
  CUdeviceptr digits_ = 0, counts_ = 0, partition_starts_ = 0, cursors_ = 0, partitioned_ = 0, places_ = 0, bucket_starts_ = 0, buckets_ = 0,
              items_ = 0, keys_ = 0, more_items_ = 0, more_keys_ = 0, weighed_ = 0, sums_ = 0;
};
using Msm = MsmOf<Fp>;

// scalar_i·point of many scalars, at `out`.
template <typename F>
void make_multiples(const std::shared_ptr<const Context>& context, const AffinePoint<F>& point, CUdeviceptr scalars, uint64_t count, CUdeviceptr out);

// [τ^0], [τ^1] … of a known τ, at `out`.
void make_powers(const std::shared_ptr<const Context>& context, const Fr& tau, uint64_t count, CUdeviceptr out);

}  // namespace assay::cuda
