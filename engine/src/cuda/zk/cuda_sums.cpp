// Sums over cubes on a card: sums.cu, round by round, those of one kind and size at once.
#include <algorithm>
#include <optional>
#include <string_view>

#include "cuda_list.hpp"

namespace assay::cuda {
namespace {

const char* kernel_of(const zk::Sum& sum) {
  if (sum.kind == zk::Sum::Kind::product) return "zk_round_product";
  if (sum.kind == zk::Sum::Kind::table) return "zk_round_table";
  return sum.parts.size() == 3 ? "zk_round_lookups" : "zk_round_lookup";
}

struct CudaSum {
  CudaSum(zk::Sum of) : sum(std::move(of)), left(sum.variables), count(static_cast<uint32_t>(sum.columns.size())) {
    if (count > kMostColumns || sum.degree >= kMostPoints) throw std::logic_error("a sum of too many columns");
    for (uint32_t k = 0; k < count; ++k) {
      if (sum.columns[k].count != size_t{1} << left) throw std::logic_error("a column of another size than its sum");
      shape.columns.column[k] = source_of(sum.columns[k]);
    }
    kernel = kernel_of(sum);
    if (sum.kind == zk::Sum::Kind::lookup) shape.parts = parts_of(sum.parts, count - 2);
  }

  // Sums that are done at once are of one kind and size.
  bool goes_with(const CudaSum& other) const {
    return left == other.left && count == other.count && sum.degree == other.sum.degree && kernel == other.kernel;
  }

  void take(const Fr* results) {
    values.resize(sum.degree + 1);
    Fr others = results[kMostPoints];
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = sum.factor * results[i] + sum.all * others;
      others = others + results[kMostPoints + 1];
    }
  }

  // The sum where no variable is left.
  Fr corner(const std::vector<Fr>& now) const {
    if (sum.kind == zk::Sum::Kind::product) return sum.factor * now[0] * now[1] * (count == 3 ? now[2] : Fr::one());
    if (sum.kind == zk::Sum::Kind::table) return sum.factor * now[0] * (now[1] * now[3] - now[2]) - sum.all * now[1];
    Fr above = Fr::zero(), below = Fr::one();
    for (const zk::Part& part : sum.parts) {
      Fr own = part.constant;
      for (size_t k = 0; k < part.by.size(); ++k) own = own + part.by[k] * now[2 + k];
      if (!part.product.is_zero()) own = own + part.product * now[2 + part.left] * now[2 + part.right];
      above = above * own + below;
      below = below * own;
    }
    return sum.factor * now[0] * (now[1] * below - above) + sum.all * now[1];
  }

  zk::Sum sum;
  unsigned left;
  uint32_t count;
  std::string_view kernel;
  SumShape shape{};
  std::unique_ptr<Taken> folded;
  std::vector<Fr> values;         // of this round, once they are known
  std::optional<Fr> to_fold_at;  // not done yet
};

class CudaSums final : public zk::Sums {
 public:
  CudaSums(const RoomPtr& room, std::vector<zk::Sum> sums) : room_(room) {
    for (zk::Sum& sum : sums) sums_.emplace_back(std::move(sum));
  }

  Fr whole(size_t number) override {
    if (sums_[number].left == 0 || (sums_[number].left == 1 && sums_[number].to_fold_at)) return sums_[number].corner(ends(number));
    const std::vector<Fr> values = round(number);
    return values[0] + values[1];
  }

  // Values of all sums at once: those whose turn comes later are kept until then.
  std::vector<Fr> round(size_t number) override {
    if (!sums_[number].values.empty()) return sums_[number].values;
    do_folds();
    std::vector<CudaSum*> wanted;
    for (CudaSum& sum : sums_)
      if (sum.values.empty() && sum.left > 0) wanted.push_back(&sum);
    const Taken results(room_, wanted.size() * kRoundResults * sizeof(Fr));
    CUdeviceptr out = results.at();
    in_groups(wanted, [](const CudaSum& a, const CudaSum& b) { return a.goes_with(b); }, [&](std::span<CudaSum* const> group) {
      do_round(group, out);
      out += group.size() * kRoundResults * sizeof(Fr);
    });
    std::vector<Fr> values(wanted.size() * kRoundResults);
    ASSAY_CUDA_CALL(cuMemcpyDtoH, values.data(), results.at(), values.size() * sizeof(Fr));
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i]->take(values.data() + i * kRoundResults);
    return sums_[number].values;
  }

  void fold(size_t number, const Fr& x) override {
    if (sums_[number].to_fold_at) do_folds();
    sums_[number].to_fold_at = x;
    sums_[number].values.clear();
  }

  std::vector<Fr> ends(size_t number) override {
    do_folds();
    const CudaSum& sum = sums_[number];
    std::vector<Fr> values(sum.count);
    const Taken list(room_, sum.count * sizeof(Fr));
    for (uint32_t k = 0; k < sum.count; ++k)
      room_->context().launch({"zk_convert", 1, kListThreads}, sum.shape.columns.column[k], uint64_t{1}, list.at(k * sizeof(Fr)));
    ASSAY_CUDA_CALL(cuMemcpyDtoH, values.data(), list.at(), values.size() * sizeof(Fr));
    return values;
  }

 private:
  // Sorts them so that those that go together stand together.
  template <typename Same, typename Act>
  static void in_groups(std::vector<CudaSum*>& sums, const Same& same, const Act& act) {
    for (auto first = sums.begin(); first != sums.end();) {
      const auto end = std::stable_partition(first, sums.end(), [&, leader = *first](const CudaSum* one) { return same(*leader, *one); });
      act(std::span<CudaSum* const>(first, end));
      first = end;
    }
  }

  template <typename T>
  Taken given(const std::vector<T>& list) const {
    Taken out(room_, list.size() * sizeof(T));
    ASSAY_CUDA_CALL(cuMemcpyHtoD, out.at(), list.data(), list.size() * sizeof(T));
    return out;
  }

  void do_round(std::span<CudaSum* const> group, CUdeviceptr out) {
    const CudaSum& first = *group[0];
    std::vector<SumShape> shapes;
    for (const CudaSum* sum : group) shapes.push_back(sum->shape);
    const uint64_t half = uint64_t{1} << (first.left - 1);
    const uint32_t points = first.sum.degree + 1, many = static_cast<uint32_t>(group.size()), most = 16 * room_->context().units();
    const uint32_t blocks = std::clamp((most + many - 1) / many, 1u, list_blocks(half)), shared = points * kListThreads * sizeof(Fr);
    const Taken given_shapes = given(shapes), each(room_, uint64_t{many} * blocks * kRoundResults * sizeof(Fr));
    const Launch launch{first.kernel.data(), blocks, kListThreads, shared, Where::main, many};
    if (first.sum.kind == zk::Sum::Kind::product) room_->context().launch(launch, given_shapes.at(), first.count, points, half, each.at());
    else room_->context().launch(launch, given_shapes.at(), points, half, each.at());
    room_->context().launch({"zk_add_up", kRoundResults, kListThreads, 0, Where::main, many}, each.at(), blocks, out);
  }

  void do_folds() {
    room_->context().enter();
    std::vector<CudaSum*> waiting;
    for (CudaSum& sum : sums_)
      if (sum.to_fold_at) waiting.push_back(&sum);
    const auto same = [](const CudaSum& a, const CudaSum& b) { return a.left == b.left && a.count == b.count && *a.to_fold_at == *b.to_fold_at; };
    in_groups(waiting, same, [&](std::span<CudaSum* const> group) {
      const uint32_t count = group[0]->count, many = static_cast<uint32_t>(group.size());
      const uint64_t half = uint64_t{1} << (group[0]->left - 1);
      std::vector<FoldShape> shapes;
      std::vector<std::unique_ptr<Taken>> next;
      for (const CudaSum* sum : group) {
        next.push_back(std::make_unique<Taken>(room_, count * half * sizeof(Fr)));
        shapes.push_back({sum->shape.columns, reinterpret_cast<Fr*>(next.back()->at())});
      }
      const Taken given_shapes = given(shapes);
      room_->context().launch({"zk_fold", list_blocks(half), kListThreads, 0, Where::main, count * many}, given_shapes.at(), count, half, *group[0]->to_fold_at);
      for (uint32_t i = 0; i < many; ++i) {
        CudaSum& sum = *group[i];
        for (uint32_t k = 0; k < count; ++k) sum.shape.columns.column[k] = next[i]->scalars(k * half);
        sum.folded = std::move(next[i]);
        sum.sum.columns.clear();
        sum.to_fold_at.reset();
        --sum.left;
      }
    });
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
