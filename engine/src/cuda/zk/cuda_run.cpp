// See cuda_run.hpp; kernels are in segment.cu. What is queued runs in order, and values that leave their
// range are found when all is done: the first of them, in the order of the host's run, is the one that is
// told.
#include "cuda_run.hpp"

#include <algorithm>

#include "run_shape.hpp"

namespace assay::cuda {
namespace {

using zk::Column;

uint32_t run_blocks(uint64_t threads) { return static_cast<uint32_t>((threads + kRunThreads - 1) / kRunThreads); }

class CardRun {
 public:
  CardRun(RoomPtr room, const zk::ProofPlan& plan, const zk::SegmentStart& start, zk::SegmentPlace place)
      : room_(std::move(room)), card_(room_->context()), plan_(plan), noted_(room_, sizeof(uint64_t)) {
    lists_.order = place.order;
    lists_.first_place = place.first;
    order_ = {place.first, place.order.mask, plan.row_bits, {}};
    std::copy(place.order.places.begin(), place.order.places.end(), order_.places);
    ASSAY_CUDA_CALL(cuMemsetD32Async, noted_.at(), ~0u, size_t{2}, nullptr);
    for (unsigned g = 0; g < zk::kHelpers; ++g) lists_.groups[g] = zeros(plan.groups[g].chunks << plan.chunk_bits);
    for (size_t l = 0; l < plan.links(); ++l) {
      const uint64_t units = plan.places() * plan.width(l + 1);
      lists_.z.push_back(zeros(units));
      lists_.entering.push_back(zeros(plan.places() * plan.width(l)));
      lists_.q.push_back(plan.is_last(l) ? nullptr : zeros(units));
      lists_.last.push_back(plan.is_last(l) ? nullptr : zeros(plan.places()));
    }
    fill(start);
  }

  void step(uint64_t number) {
    first_ = number << plan_.batch_bits;
    const uint64_t links = plan_.links();
    for (uint64_t l = 0; l < links; ++l) forth(l, key_of(number, l), key_of(number, l + 1));
    for (uint64_t l = links; l-- > 0;) back(l, key_of(number, 2 * links - 1 - l));
    for (uint64_t l = 0; l < links; ++l) change(l);
  }

  zk::RunLists finish() {
    for (size_t l = 0; l < plan_.links(); ++l) add_rest(l);
    uint64_t key = 0;
    ASSAY_CUDA_CALL(cuMemcpyDtoH, &key, noted_.at(), sizeof key);
    if (key != ~uint64_t{0}) tell(key);
    for (size_t l = 0; l < plan_.links(); ++l) count_units(l), count_weights(l);
    return std::move(lists_);
  }

 private:
  zk::ListPtr zeros(uint64_t count) {
    const auto list = std::make_shared<CudaList>(room_, count, true);
    if (count > 0) ASSAY_CUDA_CALL(cuMemsetD32Async, list->memory.at(), 0u, 2 * count, nullptr);
    return list;
  }

  static CUdeviceptr at(const zk::ListPtr& list, uint64_t from = 0) { return list ? static_cast<CudaList&>(*list).memory.at(8 * from) : 0; }
  CUdeviceptr column(Column name, size_t of, uint64_t from = 0) const {
    const zk::Block& block = plan_.block(name, of);
    const zk::GroupNumber group = zk::group_of(name);
    return at(lists_.groups[group], block.at - (plan_.groups[group].first_chunk << plan_.chunk_bits) + from);
  }

  // Keys grow as the host's run goes on: by step, then by link, forth and back, then by place.
  uint64_t key_of(uint64_t step, uint64_t stage) const { return (step * (2 * plan_.links() + 1) + stage) * kKeysOfPlace << plan_.batch_bits; }

  [[noreturn]] void tell(uint64_t key) const {
    const uint64_t links = plan_.links(), all = (key / kKeysOfPlace) >> plan_.batch_bits, step = all / (2 * links + 1), stage = all % (2 * links + 1);
    if (step == plan_.steps()) zk::left_range("a weight at the end", stage, step - 1);
    if (stage >= links) zk::left_range("a gradient", 2 * links - 1 - stage, step);
    zk::left_range(key % kKeysOfPlace == 0 ? "what enters" : "a sum", stage, step);
  }

  RunShape shape_of(uint64_t width, uint64_t key, uint64_t next_key) const {
    return {static_cast<uint32_t>(width), plan_.scale, plan_.low_bits, plan_.h, plan_.d, plan_.activation, plan_.gradient, key, next_key,
            reinterpret_cast<unsigned long long*>(noted_.at())};
  }

  template <typename... Arguments>
  void over(uint64_t places, const char* kernel, const Arguments&... arguments) const {
    if (places > 0) card_.launch({kernel, run_blocks(places), kRunThreads}, arguments...);
  }

  template <typename T>
  void widen(const std::vector<T>& from, uint64_t columns, uint64_t width, CUdeviceptr out) const {
    if (from.empty()) return;
    const Taken sent(room_, from.size() * sizeof(T));
    ASSAY_CUDA_CALL(cuMemcpyHtoD, sent.at(), from.data(), from.size() * sizeof(T));
    over(from.size(), "zk_run_widen", sent.at(), static_cast<uint32_t>(sizeof(T)), uint64_t{from.size()}, columns, width, out);
  }

  void fill(const zk::SegmentStart& start) {
    widen(start.features, plan_.sizes[0], plan_.width(0), column(Column::features, 0));
    const Taken labels(room_, start.labels.size() * sizeof(int32_t));
    ASSAY_CUDA_CALL(cuMemcpyHtoD, labels.at(), start.labels.data(), start.labels.size() * sizeof(int32_t));
    over(plan_.rows(), "zk_run_labels", labels.at(), plan_.rows(), plan_.width(plan_.links()), int64_t{1} << plan_.activation, column(Column::labels, 0));
    for (size_t l = 0; l < plan_.links(); ++l)
      for (const Column name : {Column::before, Column::after}) widen(start.weights[l], plan_.sizes[l], plan_.width(l), column(name, l));
    const uint64_t count = plan_.places() * plan_.width(0);
    over(count, "zk_run_enter", order_, column(Column::features, 0), plan_.width(0), count, at(lists_.entering[0]));
  }

  void multiply(const char* kernel, ProductShape shape, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, bool in_pieces) const {
    const uint64_t tiles = uint64_t{(shape.rows + kTile - 1) / kTile} * ((shape.columns + kTile - 1) / kTile);
    const uint64_t wanted = in_pieces ? std::max<uint64_t>(1, 4 * card_.units() / tiles) : 1;
    const uint64_t pieces = std::clamp<uint64_t>(wanted, 1, (shape.deep + kTileDeep - 1) / kTileDeep);
    shape.each = static_cast<uint32_t>((shape.deep + pieces * kTileDeep - 1) / (pieces * kTileDeep) * kTileDeep);
    const uint32_t rows = (shape.deep + shape.each - 1) / shape.each;
    card_.launch({kernel, static_cast<uint32_t>(tiles), kRunThreads, 0, Where::main, rows}, shape, a, b, c);
  }

  uint32_t batch() const { return static_cast<uint32_t>(plan_.batch()); }
  uint32_t width(size_t layer) const { return static_cast<uint32_t>(plan_.width(layer)); }

  void forth(size_t l, uint64_t key, uint64_t next_key) {
    const uint32_t n = width(l + 1), k = width(l);
    const bool is_last = plan_.is_last(l);
    const CUdeviceptr z = at(lists_.z[l], first_ * n);
    multiply("zk_run_product", {batch(), n, k, 0, k, 1, 1, k}, at(lists_.entering[l], first_ * k), column(Column::after, l), z, true);
    const CUdeviceptr none = 0, a = is_last ? none : column(Column::a, l, first_ * n), m = is_last ? none : column(Column::m, l, first_ * n);
    const CUdeviceptr entering = is_last ? none : at(lists_.entering[l + 1], first_ * n), last = is_last ? none : at(lists_.last[l], first_);
    const uint64_t count = uint64_t{batch()} * n;
    over(count, "zk_run_take", shape_of(n, key, next_key), z, count, plan_.sizes[l + 1] - 1, column(Column::h, l, first_ * n), a, m, entering, last);
  }

  void back(size_t l, uint64_t key) {
    const uint32_t n = width(l + 1);
    const uint64_t count = uint64_t{batch()} * n;
    const CUdeviceptr d = column(Column::d, l, first_ * n);
    if (plan_.is_last(l))
      return over(count, "zk_run_loss", shape_of(n, key, 0), order_, first_, column(Column::h, l, first_ * n), column(Column::labels, 0), count, d);
    const uint32_t next = width(l + 2);
    const CUdeviceptr q = at(lists_.q[l], first_ * n);
    multiply("zk_run_product", {batch(), n, next, 0, next, 1, n, 1}, column(Column::d, l + 1, first_ * next), column(Column::after, l + 1), q, true);
    over(count, "zk_run_back", shape_of(n, key, 0), q, column(Column::m, l, first_ * n), count, d);
  }

  void change(size_t l) {
    const uint32_t n = width(l + 1), k = width(l);
    multiply("zk_run_change", {n, k, batch(), 0, 1, n, k, 1}, column(Column::d, l, first_ * n), at(lists_.entering[l], first_ * k), column(Column::after, l), false);
  }

  int64_t lowest_weight() const { return int64_t{1} << (plan_.limbs[0] + plan_.limbs[1] + plan_.limbs[2] - 1); }

  void add_rest(size_t l) {
    const uint64_t units = plan_.places() * width(l + 1), weights = uint64_t{width(l)} * width(l + 1);
    const CUdeviceptr none = 0;
    const bool is_last = plan_.is_last(l);
    const RunShape shape = shape_of(width(l + 1), key_of(plan_.steps(), l), 0);
    over(units, "zk_run_rest", shape, at(lists_.z[l]), column(Column::h, l), at(lists_.q[l]), is_last ? none : column(Column::m, l), column(Column::d, l), units,
         column(Column::low, l), is_last ? none : column(Column::low_back, l));
    const uint32_t all = plan_.limbs[0] + plan_.limbs[1] + plan_.limbs[2], none_yet = 0;
    over(weights, "zk_run_limb", shape, column(Column::after, l), lowest_weight(), all, none_yet, uint32_t{plan_.limbs[0]}, weights, column(Column::limb0, l));
    over(weights, "zk_run_limb", shape, column(Column::after, l), lowest_weight(), all, uint32_t{plan_.limbs[0]}, uint32_t{plan_.limbs[1]}, weights,
         column(Column::limb1, l));
  }

  void count(unsigned table, CountShape shape, CUdeviceptr x, CUdeviceptr y = 0, CUdeviceptr w = 0) const {
    shape.table_bits = plan_.tables[table].bits;
    const uint32_t blocks = std::clamp(run_blocks(shape.count / 16), 1u, 4 * card_.units());
    const uint32_t rows = static_cast<uint32_t>(((uint64_t{1} << shape.table_bits) + kCountedRows - 1) / kCountedRows);
    if (shape.count > 0) card_.launch({"zk_run_count", blocks, kRunThreads, 0, Where::main, rows}, shape, x, y, w, column(Column::multiplicity, table));
  }

  void count_units(size_t l) {
    const uint64_t units = plan_.places() * width(l + 1);
    const unsigned low = plan_.range_table(plan_.low_bits), high = plan_.range_table(plan_.scale - plan_.low_bits);
    const auto shape = [&](CountShape::Kind kind, int64_t by = 0) { return CountShape{kind, 0, plan_.scale, plan_.low_bits, 0, by, units}; };
    count(low, shape(CountShape::plain), column(Column::low, l));
    count(high, shape(CountShape::rest), at(lists_.z[l]), column(Column::h, l));
    count(plan_.is_last(l) ? plan_.h_table() : plan_.relu_table(), shape(CountShape::with_sign), column(Column::h, l));
    count(plan_.d_table(), shape(CountShape::with_sign), column(Column::d, l));
    if (plan_.is_last(l)) return;
    count(low, shape(CountShape::plain), column(Column::low_back, l));
    count(high, shape(CountShape::rest_back), at(lists_.q[l]), column(Column::d, l), column(Column::m, l));
    CountShape last = shape(CountShape::with_sign, int64_t{1} << plan_.activation);
    last.count = plan_.places();
    count(plan_.h_table(), last, at(lists_.last[l]));
  }

  void count_weights(size_t l) {
    uint32_t shift = 0;
    for (const unsigned bits : plan_.limbs) {
      const uint64_t weights = uint64_t{width(l)} * width(l + 1);
      count(plan_.range_table(bits), {CountShape::limb, 0, 1, 0, shift, lowest_weight(), weights}, column(Column::after, l));
      shift += bits;
    }
  }

  RoomPtr room_;
  const Context& card_;
  const zk::ProofPlan& plan_;
  Taken noted_;
  RowOrder order_{};
  zk::RunLists lists_;
  uint64_t first_ = 0;  // place of the batch
};

}  // namespace

zk::RunLists run_on_card(const RoomPtr& room, const zk::ProofPlan& plan, const zk::SegmentStart& start, const uint8_t seed[32], uint32_t first_step,
                         const std::atomic<bool>& stop) {
  room->context().enter();
  CardRun run(room, plan, start, zk::place_of_segment(plan, seed, first_step));
  for (uint64_t step = 0; step < plan.steps(); ++step) {
    throw_if(stop);
    run.step(step);
  }
  return run.finish();
}

}  // namespace assay::cuda
