// Sums over cubes on a card: sums.cu, round by round.
#include <algorithm>

#include "cuda_list.hpp"

namespace assay::cuda {
namespace {

// Pairs of corners that a thread takes, where there are many.
constexpr uint64_t kPairsEach = 16;

class CudaSum {
 public:
  CudaSum(RoomPtr room, zk::Sum sum) : room_(std::move(room)), sum_(std::move(sum)), left_(sum_.variables) {
    if (sum_.columns.size() > kMostColumns || sum_.degree >= kMostPoints) throw std::logic_error("a sum of too many columns");
    for (size_t k = 0; k < sum_.columns.size(); ++k) {
      if (sum_.columns[k].count != size_t{1} << left_) throw std::logic_error("a column of another size than its sum");
      columns_.column[k] = source_of(sum_.columns[k]);
    }
    count_ = sum_.columns.size();
    if (sum_.kind == zk::Sum::Kind::lookup) parts_ = parts_of(sum_.parts, count_ - 2);
  }

  Fr whole() {
    if (left_ == 0) return corner(ends());
    const std::vector<Fr> values = round();
    return values[0] + values[1];
  }

  std::vector<Fr> round() {
    if (!values_.empty()) return values_;
    const uint64_t half = uint64_t{1} << (left_ - 1);
    const uint32_t points = sum_.degree + 1, most = 8 * room_->context().units();
    const uint32_t blocks = std::min(most, std::max(list_blocks((half + kPairsEach - 1) / kPairsEach), std::min(list_blocks(half), most / 2)));
    const Taken each(room_, uint64_t{blocks} * kRoundResults * sizeof(Fr)), all(room_, kRoundResults * sizeof(Fr));
    launch_round(blocks, points, half, each.at());
    room_->context().launch({"zk_add_up", kRoundResults, kListThreads}, each.at(), blocks, all.at());
    Fr results[kRoundResults];
    ASSAY_CUDA_CALL(cuMemcpyDtoH, results, all.at(), sizeof results);
    values_.resize(points);
    Fr others = results[kMostPoints];
    for (Fr& value : values_) {
      value = sum_.factor * results[&value - values_.data()] + sum_.all * others;
      others = others + results[kMostPoints + 1];
    }
    return values_;
  }

  void fold(const Fr& x) {
    const uint64_t half = uint64_t{1} << (left_ - 1);
    auto next = std::make_unique<Taken>(room_, count_ * half * sizeof(Fr));
    room_->context().launch({"zk_fold", list_blocks(half), kListThreads, 0, Where::main, static_cast<uint32_t>(count_)}, columns_, half, x, next->at());
    for (size_t k = 0; k < count_; ++k) columns_.column[k] = next->scalars(k * half);
    folded_ = std::move(next);
    sum_.columns.clear();
    values_.clear();
    --left_;
  }

  std::vector<Fr> ends() const {
    std::vector<Fr> values(count_);
    const Taken list(room_, count_ * sizeof(Fr));
    for (size_t k = 0; k < count_; ++k)
      room_->context().launch({"zk_convert", 1, kListThreads}, columns_.column[k], uint64_t{1}, list.at(k * sizeof(Fr)));
    ASSAY_CUDA_CALL(cuMemcpyDtoH, values.data(), list.at(), count_ * sizeof(Fr));
    return values;
  }

 private:
  void launch_round(uint32_t blocks, uint32_t points, uint64_t half, CUdeviceptr out) const {
    const Context& card = room_->context();
    const uint32_t shared = points * kListThreads * sizeof(Fr);
    if (sum_.kind == zk::Sum::Kind::product) {
      const uint32_t many = static_cast<uint32_t>(count_);
      card.launch({"zk_round_product", blocks, kListThreads, shared}, columns_, many, points, half, out);
    } else if (sum_.kind == zk::Sum::Kind::table) {
      card.launch({"zk_round_table", blocks, kListThreads, shared}, columns_, points, half, out);
    } else {
      card.launch({parts_.count == 3 ? "zk_round_lookups" : "zk_round_lookup", blocks, kListThreads, shared}, columns_, parts_, points, half, out);
    }
  }

  // The sum where no variable is left.
  Fr corner(const std::vector<Fr>& now) const {
    if (sum_.kind == zk::Sum::Kind::product) return sum_.factor * now[0] * now[1] * (count_ == 3 ? now[2] : Fr::one());
    if (sum_.kind == zk::Sum::Kind::table) return sum_.factor * now[0] * (now[1] * now[3] - now[2]) - sum_.all * now[1];
    Fr above = Fr::zero(), below = Fr::one();
    for (const zk::Part& part : sum_.parts) {
      Fr own = part.constant;
      for (size_t k = 0; k < part.by.size(); ++k) own = own + part.by[k] * now[2 + k];
      if (!part.product.is_zero()) own = own + part.product * now[2 + part.left] * now[2 + part.right];
      above = above * own + below;
      below = below * own;
    }
    return sum_.factor * now[0] * (now[1] * below - above) + sum_.all * now[1];
  }

  RoomPtr room_;
  zk::Sum sum_;
  unsigned left_;
  size_t count_ = 0;
  Columns columns_{};
  Parts parts_{};
  std::unique_ptr<Taken> folded_;
  std::vector<Fr> values_;  // of this round, once they are known
};

class CudaSums final : public zk::Sums {
 public:
  CudaSums(const RoomPtr& room, std::vector<zk::Sum> sums) : room_(room) {
    for (zk::Sum& sum : sums) sums_.emplace_back(room, std::move(sum));
  }
  Fr whole(size_t sum) override { return entered(sum).whole(); }
  std::vector<Fr> round(size_t sum) override { return entered(sum).round(); }
  void fold(size_t sum, const Fr& x) override { entered(sum).fold(x); }
  std::vector<Fr> ends(size_t sum) override { return entered(sum).ends(); }

 private:
  CudaSum& entered(size_t sum) {
    room_->context().enter();
    return sums_[sum];
  }
  RoomPtr room_;
  std::vector<CudaSum> sums_;
};

}  // namespace

// Kernels take a product in the last of three parts alone; the sum is the same in any order of parts.
Parts parts_of(std::span<const zk::Part> parts, size_t values) {
  const auto products = std::count_if(parts.begin(), parts.end(), [](const zk::Part& part) { return !part.product.is_zero(); });
  if (values > kMostValues || (parts.size() != 1 && parts.size() != kMostParts) || products > 1) throw std::logic_error("lookups of no known shape");
  const Fr radix = Fr::of(uint64_t{1} << 32) * Fr::of(uint64_t{1} << 32);
  Parts out{};
  out.count = static_cast<uint32_t>(parts.size());
  out.values = static_cast<uint32_t>(values);
  size_t first = 0;
  for (const zk::Part& part : parts) {
    if (part.by.size() > values) throw std::logic_error("a lookup of more values than there are");
    PartShape& own = out.part[part.product.is_zero() ? first++ : parts.size() - 1];
    own.constant = part.constant;
    own.product = part.product;
    own.short_product = part.product * radix;
    own.shortest_product = own.short_product * radix;
    own.has_product = part.product.is_zero() ? 0 : 1;
    own.left = part.left;
    own.right = part.right;
    for (size_t k = 0; k < part.by.size(); ++k) {
      own.by[k] = part.by[k];
      own.short_by[k] = part.by[k] * radix;
      own.has_by[k] = part.by[k].is_zero() ? 0 : 1;
    }
  }
  return out;
}

std::unique_ptr<zk::Sums> cuda_sums(const RoomPtr& room, std::vector<zk::Sum> sums) { return std::make_unique<CudaSums>(room, std::move(sums)); }

}  // namespace assay::cuda
