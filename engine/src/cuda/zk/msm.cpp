// See msm.hpp.
#include "msm.hpp"

#include <algorithm>
#include <bit>

#include "cpu/msm.hpp"
#include "cuda/kernels.hpp"
#include "powers_shape.hpp"

namespace assay::cuda {
namespace {

constexpr uint32_t kMostWidth = 21;
// Adding up buckets costs about so many additions into them for each, all in all.
constexpr uint64_t kBucketCost = 3;
constexpr uint32_t kWeighEach = 8;
// Lists that are summed at once: so many that a card is busy, and what they take, 16 bytes a digit, does not
// count.
constexpr uint64_t kMostDigits = uint64_t{1} << 28;
constexpr uint64_t kMostAtOnce = 16;

uint32_t blocks_of(uint64_t threads, uint32_t of) { return static_cast<uint32_t>((threads + of - 1) / of); }

// Points that a thread adds: as many as leave work for all units.
uint32_t points_each(const Context& context, const MsmShape& shape) {
  const uint64_t all = uint64_t{shape.count} * shape.windows;
  return static_cast<uint32_t>(std::clamp<uint64_t>(all / (uint64_t{context.units()} * 512 * 8), 8, 128));
}

uint64_t item_count(const Context& context, const MsmShape& shape) {
  const uint64_t all = uint64_t{shape.count} * shape.windows, threads = (all + points_each(context, shape) - 1) / points_each(context, shape);
  return 2 * uint64_t{blocks_of(threads, kAddThreads)} * kAddThreads;
}

// Of the group.
template <typename F>
struct Kernels {
  static constexpr const char *add = "zk_add_points", *join = "zk_join", *weigh = "zk_weigh", *multiples = "zk_multiples";
};
template <>
struct Kernels<Fp2> {
  static constexpr const char *add = "zk_add_points_2", *join = "zk_join_2", *weigh = "zk_weigh_2", *multiples = "zk_multiples_2";
};

}  // namespace

MsmShape msm_shape(uint32_t count, uint32_t bits) {
  MsmShape best{};
  uint64_t least = ~uint64_t{0};
  for (uint32_t width = 2; width <= kMostWidth; ++width) {
    // One bit more than the number has, for the last carry.
    const uint32_t windows = bits / width + 1;
    const uint64_t cost = windows * (count + (kBucketCost << (width - 1)));
    if (cost >= least) continue;
    least = cost;
    best = {count, width, windows, 0, 0};
  }
  const uint32_t buckets = best.buckets_log2();
  best.partition_bits = buckets <= kMostPartitionBits ? buckets : std::max(kPartitionBits, buckets - kMostRestBits);
  best.rest_bits = buckets - best.partition_bits;
  return best;
}

template <typename F>
MsmOf<F>::MsmOf(std::shared_ptr<const Context> context) : context_(std::move(context)) { context_->load_proofs(); }

template <typename F>
CUdeviceptr MsmOf<F>::take(uint64_t bytes) {
  const uint64_t at = taken_;
  taken_ += (bytes + 255) / 256 * 256;
  return room_.bytes() == 0 ? 0 : room_.at(at);
}

template <typename F>
std::vector<uint32_t> MsmOf<F>::widest(std::span<const CUdeviceptr> lists, uint32_t count) {
  const uint64_t bytes = lists.size() * sizeof(uint64_t);
  if (room_.bytes() < bytes) room_ = Buffer(context_, std::max<uint64_t>(256, bytes));
  ASSAY_CUDA_CALL(cuMemsetD32Async, room_.at(), 0u, 2 * lists.size(), nullptr);
  for (size_t i = 0; i < lists.size(); ++i)
    context_->launch({"zk_widest", std::min(blocks_of(count, 256), 8 * context_->units()), 256}, lists[i], count, room_.at(i * sizeof(uint64_t)));
  std::vector<uint64_t> bits(lists.size());
  ASSAY_CUDA_CALL(cuMemcpyDtoH, bits.data(), room_.at(), bytes);
  std::vector<uint32_t> widths;
  for (const uint64_t one : bits) widths.push_back(static_cast<uint32_t>(std::bit_width(one)));
  return widths;
}

template <typename F>
AffinePoint<F> MsmOf<F>::of_numbers(CUdeviceptr points, CUdeviceptr numbers, uint32_t count) { return of_numbers(points, std::span(&numbers, 1), count)[0]; }
template <typename F>
AffinePoint<F> MsmOf<F>::of_scalars(CUdeviceptr points, CUdeviceptr scalars, uint32_t count) { return of_scalars(points, std::span(&scalars, 1), count)[0]; }

template <typename F>
std::vector<AffinePoint<F>> MsmOf<F>::of_numbers(CUdeviceptr points, std::span<const CUdeviceptr> lists, uint32_t count) {
  std::vector<Affine> results(lists.size(), PointSum<F>::infinity().affine());
  if (count == 0 || lists.empty()) return results;
  // Those with the same width together.
  const std::vector<uint32_t> widths = widest(lists, count);
  for (uint32_t bits = 1; bits <= 64; ++bits) {
    std::vector<CUdeviceptr> own;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < lists.size(); ++i)
      if (widths[i] == bits) own.push_back(lists[i]), numbers.push_back(i);
    if (own.empty()) continue;
    const std::vector<Affine> made = sums(msm_shape(count, bits), points, own, "zk_small_digits");
    for (size_t i = 0; i < own.size(); ++i) results[numbers[i]] = made[i];
  }
  return results;
}

template <typename F>
std::vector<AffinePoint<F>> MsmOf<F>::of_scalars(CUdeviceptr points, std::span<const CUdeviceptr> lists, uint32_t count) {
  if (count == 0 || lists.empty()) return std::vector<Affine>(lists.size(), PointSum<F>::infinity().affine());
  return sums(msm_shape(count, 254), points, lists, "zk_digits");
}

template <typename F>
void MsmOf<F>::make_room(const MsmShape& shape) {
  const uint64_t all = uint64_t{shape.count} * shape.windows, items = item_count(*context_, shape), buckets = shape.buckets();
  const auto lay_out = [&] {
    taken_ = 0;
    counts_ = take(uint64_t{shape.partitions()} * 4);
    partition_starts_ = take((uint64_t{shape.partitions()} + 1) * 4);
    cursors_ = take(uint64_t{shape.partitions()} * 4);
    bucket_starts_ = shape.rest_bits == 0 ? partition_starts_ : take((buckets + 1) * 4);
    places_ = take(all * 4);
    digits_ = take(all * 4);
    partitioned_ = take(shape.rest_bits == 0 ? 0 : all * 8);
    buckets_ = take(buckets * sizeof(PointSum<F>));
    items_ = take(items * sizeof(PointSum<F>));
    keys_ = take(items * 4);
    const uint64_t joined = 2 * ((items + kJoinEach - 1) / kJoinEach);
    more_items_ = take(joined * sizeof(PointSum<F>));
    more_keys_ = take(joined * 4);
    const uint64_t groups = std::max<uint64_t>(1, buckets / 2);  // all levels together
    sums_ = take(groups * sizeof(PointSum<F>));
    weighed_ = take(groups * sizeof(PointSum<F>));
  };
  lay_out();
  if (room_.bytes() >= taken_) return;
  room_ = Buffer();
  room_ = Buffer(context_, taken_);
  lay_out();
}

template <typename F>
std::vector<AffinePoint<F>> MsmOf<F>::sums(const MsmShape& shape, CUdeviceptr points, std::span<const CUdeviceptr> lists, const char* to_digits) {
  const uint64_t each = uint64_t{shape.count} * shape.windows;
  const size_t at_once = static_cast<size_t>(std::clamp<uint64_t>(kMostDigits / each, 1, kMostAtOnce));
  std::vector<Affine> results;
  for (size_t from = 0; from < lists.size(); from += at_once) {
    const std::span<const CUdeviceptr> some = lists.subspan(from, std::min(at_once, lists.size() - from));
    MsmShape together = shape;
    together.windows *= static_cast<uint32_t>(some.size());
    make_room(together);
    for (size_t i = 0; i < some.size(); ++i)
      context_->launch({to_digits, blocks_of(shape.count, 256), 256}, shape, some[i], digits_ + i * each * sizeof(uint32_t));
    sort(together);
    add(together, points);
    const std::vector<PointSum<F>> of_windows = weigh(together);
    for (size_t i = 0; i < some.size(); ++i) {
      PointSum<F> result = PointSum<F>::infinity();
      for (size_t window = shape.windows; window-- > 0;) {
        for (uint32_t k = 0; k < shape.width; ++k) result = result.doubled();
        result = result + of_windows[i * shape.windows + window];
      }
      results.push_back(result.affine());
    }
  }
  return results;
}

template <typename F>
void MsmOf<F>::sort(const MsmShape& shape) {
  const uint32_t shared = 4u << shape.partition_bits, partitions = shape.partitions();
  ASSAY_CUDA_CALL(cuMemsetD32Async, counts_, 0u, size_t{partitions}, nullptr);
  const uint32_t tiles = blocks_of(shape.count, kTileDigits), counters = std::min(tiles, std::max(1u, 16 * context_->units() / shape.windows));
  context_->launch({"zk_count", counters, kTileThreads, shared, Where::main, shape.windows}, shape, digits_, counts_);
  context_->launch({"zk_scan", 1, kScanThreads}, partitions, counts_, partition_starts_, cursors_);
  context_->launch({"zk_partition", tiles, kTileThreads, shared, Where::main, shape.windows}, shape, digits_, cursors_, partitioned_, places_);
  if (shape.rest_bits == 0) return;
  context_->launch({"zk_sort", partitions, kSortThreads}, shape, partition_starts_, partitioned_, bucket_starts_, places_);
}

template <typename F>
void MsmOf<F>::add(const MsmShape& shape, CUdeviceptr points) {
  const uint32_t buckets = shape.buckets(), each = points_each(*context_, shape);
  uint32_t items = static_cast<uint32_t>(item_count(*context_, shape));
  ASSAY_CUDA_CALL(cuMemsetD32Async, buckets_, 0u, size_t{buckets} * sizeof(PointSum<F>) / 4, nullptr);
  context_->launch({Kernels<F>::add, items / 2 / kAddThreads, kAddThreads}, points, places_, bucket_starts_, buckets, each, buckets_, items_, keys_);
  CUdeviceptr from = items_, from_keys = keys_, to = more_items_, to_keys = more_keys_;
  for (uint32_t is_last = 0; is_last == 0;) {
    const uint32_t threads = blocks_of(items, kJoinEach);
    is_last = threads == 1 ? 1 : 0;
    context_->launch({Kernels<F>::join, blocks_of(threads, kAddThreads), kAddThreads}, from, from_keys, items, is_last, buckets_, to, to_keys);
    items = 2 * threads;
    std::swap(from, to);
    std::swap(from_keys, to_keys);
  }
}

// Of each window, Σ number·bucket: the buckets are numbered from 1.
template <typename F>
std::vector<PointSum<F>> MsmOf<F>::weigh(const MsmShape& shape) {
  CUdeviceptr sums = buckets_, weighed = 0, next_sums = sums_, next_weighed = weighed_;
  uint32_t scale = 0;
  for (uint32_t count = 1u << shape.buckets_log2(); count > 1;) {
    const uint32_t each = std::min(count, kWeighEach), groups = count / each;
    context_->launch({Kernels<F>::weigh, blocks_of(groups, kAddThreads), kAddThreads, 0, Where::main, shape.windows}, sums, weighed, count, each, scale,
                     next_sums, next_weighed);
    // What comes next is at most half of it, and goes behind.
    const uint64_t made = uint64_t{shape.windows} * groups;
    sums = next_sums, weighed = next_weighed;
    next_sums += made * sizeof(PointSum<F>), next_weighed += made * sizeof(PointSum<F>);
    count = groups;
    scale += static_cast<uint32_t>(std::countr_zero(each));
  }
  std::vector<PointSum<F>> plain(shape.windows), result(shape.windows);
  ASSAY_CUDA_CALL(cuMemcpyDtoH, plain.data(), sums, plain.size() * sizeof(PointSum<F>));
  ASSAY_CUDA_CALL(cuMemcpyDtoH, result.data(), weighed, result.size() * sizeof(PointSum<F>));
  for (size_t i = 0; i < result.size(); ++i) result[i] = result[i] + plain[i];
  return result;
}

template class MsmOf<Fp>;
template class MsmOf<Fp2>;

template <typename F>
void make_multiples(const std::shared_ptr<const Context>& context, const AffinePoint<F>& point, CUdeviceptr scalars, uint64_t count, CUdeviceptr out) {
  context->load_proofs();
  const std::vector<AffinePoint<F>> table = multiples_table<F>(point);
  const Buffer multiples(context, table.size() * sizeof(AffinePoint<F>));
  ASSAY_CUDA_CALL(cuMemcpyHtoD, multiples.at(), table.data(), multiples.bytes());
  context->launch({Kernels<F>::multiples, blocks_of(count, 128 * kMultiplesEach), 128}, multiples.at(), scalars, count, out);
  context->synchronize();
}
template void make_multiples<Fp>(const std::shared_ptr<const Context>&, const G1Affine&, CUdeviceptr, uint64_t, CUdeviceptr);
template void make_multiples<Fp2>(const std::shared_ptr<const Context>&, const G2Affine&, CUdeviceptr, uint64_t, CUdeviceptr);

void make_powers(const std::shared_ptr<const Context>& context, const Fr& tau, uint64_t count, CUdeviceptr out) {
  context->load_proofs();
  const Buffer scalars(context, count * sizeof(Fr));
  context->launch({"zk_powers", blocks_of(count, 256 * kPowersEach), 256}, Fr::one(), tau, count, scalars.at());
  make_multiples<Fp>(context, {Fp::one(), Fp::of(2)}, scalars.at(), count, out);
}

}  // namespace assay::cuda
