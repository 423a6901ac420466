// See cuda_proof.hpp. Sums over cubes are in cuda_sums.cpp, sums of points in msm.cpp.
#include "cuda_proof.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "cpu/host_info.hpp"
#include "cuda/groth16/ntt.hpp"
#include "cuda_list.hpp"
#include "cuda_run.hpp"
#include "msm.hpp"
#include "zk/groth16/roots.hpp"

namespace assay::cuda {
namespace {

// Coefficients that a thread takes of a polynomial.
constexpr uint64_t kEach = 32;
// Tables of eq up to here are made factor by factor, larger ones of two.
constexpr size_t kSmallEq = 8;

CudaList& cuda_list(const zk::ListPtr& list) { return dynamic_cast<CudaList&>(*list); }

class CudaProofMemory final : public zk::ProofMemory {
 public:
  explicit CudaProofMemory(const std::shared_ptr<const Context>& context)
      : room_(std::make_shared<ListRoom>(context)), card_(*context), msm_(context) {}

  // Whoever takes what is not there is told so then.
  std::shared_ptr<const void> hold(uint64_t) override { return nullptr; }

  zk::ListPtr numbers(std::span<const int64_t> values) override { return sent(values.data(), values.size(), true); }
  zk::ListPtr scalars(std::span<const Fr> values) override { return sent(values.data(), values.size(), false); }

  zk::ListPtr zeros(size_t count) override {
    const auto list = made(count);
    if (count > 0) ASSAY_CUDA_CALL(cuMemsetD32Async, list->memory.at(), 0u, count * sizeof(Fr) / 4, nullptr);
    return list;
  }

  std::vector<Fr> read(const zk::Slice& from) override {
    std::vector<Fr> values(from.count);
    if (from.count == 0) return values;
    card_.enter();
    Source source = source_of(from);
    const Taken converted(room_, source.is_numbers != 0 ? from.count * sizeof(Fr) : 0);
    if (source.is_numbers != 0) {
      over(from.count, "zk_convert", source, uint64_t{from.count}, converted.at());
      source = converted.scalars();
    }
    ASSAY_CUDA_CALL(cuMemcpyDtoH, values.data(), reinterpret_cast<CUdeviceptr>(source.at), from.count * sizeof(Fr));
    return values;
  }

  void place(const zk::ListPtr& into, size_t at, const zk::Slice& from) override {
    const CUdeviceptr to = place_in(into, at, from.count);
    over(from.count, "zk_convert", source_of(from), uint64_t{from.count}, to);
  }

  zk::RunLists run(const zk::ProofPlan& plan, const zk::SegmentStart& start, const uint8_t seed[32], uint32_t first_step,
                   const std::atomic<bool>& stop) override {
    if (!plan.is_plain()) throw std::logic_error("a plan that a card does not run");
    return run_on_card(room_, plan, start, seed, first_step, stop);
  }

  void set_powers(std::span<const G1Affine> powers) override {
    make_room_for_powers(powers.size());
    if (!powers.empty()) ASSAY_CUDA_CALL(cuMemcpyHtoD, powers_.at(), powers.data(), powers.size() * sizeof(G1Affine));
  }

  void make_powers(const Fr& tau, size_t count, const std::atomic<bool>&) override {
    make_room_for_powers(count);
    cuda::make_powers(room_->shared_context(), tau, count, powers_.at());
  }

  std::vector<G1Affine> commit(std::span<const zk::Slice> slices) override {
    card_.enter();
    std::vector<G1Affine> points;
    // Neighbours of one kind and length are summed at once.
    for (size_t from = 0; from < slices.size();) {
      const Source first = source_of(slices[from]);
      std::vector<CUdeviceptr> lists;
      size_t to = from;
      for (; to < slices.size() && slices[to].count == slices[from].count; ++to) {
        const Source source = source_of(slices[to]);
        if (source.is_numbers != first.is_numbers) break;
        lists.push_back(reinterpret_cast<CUdeviceptr>(source.at));
      }
      if (slices[from].count > count_of_powers_) throw std::out_of_range("more values than powers");
      const uint32_t count = static_cast<uint32_t>(slices[from].count);
      const auto made = first.is_numbers != 0 ? msm_.of_numbers(powers_.at(), lists, count) : msm_.of_scalars(powers_.at(), lists, count);
      points.insert(points.end(), made.begin(), made.end());
      from = to;
    }
    return points;
  }

  zk::ListPtr eqs(std::span<const Fr> point) override {
    const size_t variables = point.size();
    const auto list = made(size_t{1} << variables);
    const Taken given(room_, (variables + 1) * sizeof(Fr));
    if (variables > 0) ASSAY_CUDA_CALL(cuMemcpyHtoD, given.at(), point.data(), variables * sizeof(Fr));
    eqs_at(given.at(), static_cast<uint32_t>(variables), list->memory.at());
    return list;
  }

  zk::ListPtr repeated(const zk::Slice& from, size_t times) override {
    const auto list = made(from.count * times);
    over(list->size(), "zk_repeat", source_of(from), uint64_t{times}, uint64_t{list->size()}, list->memory.at());
    return list;
  }

  Fr dot(const zk::Slice& a, const zk::Slice& b) override {
    const uint64_t count = std::min(a.count, b.count);
    card_.enter();
    const uint32_t blocks = std::clamp(list_blocks(count / 8), 1u, 8 * card_.units());
    const Taken each(room_, blocks * sizeof(Fr)), all(room_, sizeof(Fr));
    card_.launch({"zk_dot", blocks, kListThreads}, source_of(a), source_of(b), count, each.at());
    card_.launch({"zk_add_up", 1, kListThreads}, each.at(), blocks, all.at());
    return one_at(all.at());
  }

  std::vector<Fr> dots(std::span<const zk::Slice> pieces, std::span<const zk::Kernel> kernels) override {
    std::vector<Source> of_pieces;
    std::vector<KernelSource> of_kernels;
    uint64_t longest = 0;
    for (const zk::Kernel& one : kernels) {
      longest = std::max<uint64_t>(longest, one.values.count);
      of_kernels.push_back({source_of(one.values), one.at, one.values.count});
      for (const zk::Slice& piece : pieces)
        if (one.at > piece.count || one.values.count > piece.count - one.at) throw std::out_of_range("more values than a piece has");
    }
    for (const zk::Slice& one : pieces) of_pieces.push_back(source_of(one));
    std::vector<Fr> sums(pieces.size() * kernels.size());
    if (sums.empty()) return sums;
    card_.enter();
    const uint32_t slabs = static_cast<uint32_t>(std::clamp<uint64_t>(longest >> 16, 1, 16)), count = static_cast<uint32_t>(kernels.size());
    const Taken first = given(of_pieces), second = given(of_kernels), apart(room_, slabs * sums.size() * sizeof(Fr)), all(room_, sums.size() * sizeof(Fr));
    card_.launch({"zk_dots", static_cast<uint32_t>(slabs * sums.size()), kListThreads}, first.at(), second.at(), count, slabs, apart.at());
    over(sums.size(), "zk_add_pieces", apart.at(), uint64_t{sums.size()}, slabs, all.at());
    ASSAY_CUDA_CALL(cuMemcpyDtoH, sums.data(), all.at(), sums.size() * sizeof(Fr));
    return sums;
  }

  zk::ListPtr combined(std::span<const zk::Slice> slices, std::span<const Fr> factors) override {
    if (slices.empty() || slices.size() != factors.size()) throw std::logic_error("another number of factors");
    const Fr radix = Fr::of(uint64_t{1} << 32) * Fr::of(uint64_t{1} << 32);
    std::vector<Source> sources;
    std::vector<Fr> scaled;
    for (size_t j = 0; j < slices.size(); ++j) {
      if (slices[j].count != slices[0].count) throw std::logic_error("slices of several lengths");
      sources.push_back(source_of(slices[j]));
      scaled.push_back(sources.back().is_numbers != 0 ? factors[j] * radix : factors[j]);
    }
    const auto list = made(slices[0].count);
    const Taken first = given(sources), second = given(scaled);
    over(list->size(), "zk_combine", first.at(), second.at(), static_cast<uint32_t>(sources.size()), uint64_t{list->size()}, list->memory.at());
    return list;
  }

  zk::ListPtr folded(const zk::Slice& from, size_t a, size_t b, size_t c, const zk::Slice& by) override {
    if (from.count != a * b * c || by.count != b) throw std::logic_error("a list of another shape");
    const auto list = made(a * c);
    const uint64_t all = list->size(), wanted = uint64_t{card_.units()} * 1024;
    if (all == 0) return list;
    // Pieces of the middle axis, where there is too little to do for all units without.
    const uint32_t pieces = static_cast<uint32_t>(std::clamp<uint64_t>(std::min<uint64_t>(wanted / all, b / 8), 1, 4096));
    const Taken apart(room_, pieces > 1 ? pieces * all * sizeof(Fr) : 0);
    const CUdeviceptr out = pieces > 1 ? apart.at() : list->memory.at();
    card_.launch({"zk_fold_middle", list_blocks(all), kListThreads, 0, Where::main, pieces}, source_of(from), uint64_t{a}, uint64_t{b}, uint64_t{c},
                 source_of(by), out);
    if (pieces > 1) over(all, "zk_add_pieces", out, all, pieces, list->memory.at());
    return list;
  }

  zk::ListPtr before_steps(const zk::Slice& base, const zk::Slice& column, size_t steps, size_t batch, const zk::Slice& by) override {
    const uint64_t count = base.count;
    if (column.count != steps * batch * count || by.count != steps * batch) throw std::logic_error("a list of another shape");
    const auto list = made(steps * count);
    if (list->size() == 0) return list;
    over(list->size(), "zk_step_sums", source_of(column), uint64_t{steps}, uint64_t{batch}, count, source_of(by), list->memory.at());
    over(count, "zk_before", source_of(base), uint64_t{steps}, count, list->memory.at());
    return list;
  }

  void place_inverse_sums(const zk::ListPtr& into, std::span<const zk::InverseSums> sums) override {
    // Those of one length at once.
    std::map<uint64_t, std::vector<InverseShape>> by_length;
    for (const zk::InverseSums& sum : sums) {
      InverseShape shape{{{}, parts_of(sum.parts, sum.values.size())}, reinterpret_cast<Fr*>(place_in(into, sum.at, sum.values[0].count))};
      for (size_t k = 0; k < sum.values.size(); ++k) shape.sum.columns.column[k] = source_of(sum.values[k]);
      by_length[sum.values[0].count].push_back(shape);
    }
    for (const auto& [places, shapes] : by_length) {
      const Taken sent_shapes = given(shapes);
      const uint32_t many = static_cast<uint32_t>(shapes.size());
      if (places > 0) card_.launch({"zk_inverse_sums", dividing_blocks(places, many), kListThreads, 0, Where::main, many}, sent_shapes.at(), places);
    }
  }

  zk::ListPtr quotients(const zk::Slice& above, const zk::Slice& below) override {
    const auto list = made(below.count);
    divide_each(list->size(), "zk_quotients", source_of(above), source_of(below), uint64_t{list->size()}, list->memory.at());
    return list;
  }

  void add_times(const zk::ListPtr& into, size_t at, const zk::Slice& from, const Fr& factor) override {
    const CUdeviceptr to = place_in(into, at, from.count);
    over(from.count, "zk_add_times", to, source_of(from), factor, uint64_t{from.count});
  }

  std::unique_ptr<zk::Sums> sums(std::vector<zk::Sum> all) override {
    card_.enter();
    return cuda_sums(room_, std::move(all));
  }

  Fr at(const zk::ListPtr& poly, const Fr& x) override {
    card_.enter();
    return poly->size() == 0 ? Fr::zero() : horner(source_of(zk::all_of(poly)), poly->size(), x);
  }

  zk::ListPtr divided(const zk::ListPtr& poly, const Fr& x) override {
    const auto list = made(poly->size());
    divide(source_of(zk::all_of(poly)), poly->size(), x, list->memory.at());
    return list;
  }

  zk::ListPtr crossed(const zk::ListPtr& a, const zk::ListPtr& b) override {
    const uint64_t count = a->size();
    if (b->size() > count) throw std::logic_error("the second list is the longer one");
    if (count < 2) return zeros(count);
    card_.enter();
    const unsigned log2 = zk::cross_bits(count);
    const uint64_t size = uint64_t{1} << log2;
    const Taken all = padded(a, size);
    ntt_of(log2).cross(all.at(), padded(b, size).at());
    const auto list = made(count);
    // Powers that fell together are halved.
    const Fr last = size == 2 * (count - 1) ? Fr::of(2).inverted() : Fr::one();
    card_.launch({"zk_take_crossed", static_cast<uint32_t>((count + kNttThreads - 1) / kNttThreads), kNttThreads}, all.at(), count, last, list->memory.at());
    return list;
  }

 private:
  void make_room_for_powers(size_t count) {
    card_.enter();
    powers_ = Buffer();
    powers_ = Buffer(room_->shared_context(), std::max<size_t>(1, count) * sizeof(G1Affine));
    count_of_powers_ = count;
  }

  std::shared_ptr<CudaList> made(size_t count, bool numbers = false) {
    card_.enter();
    return std::make_shared<CudaList>(room_, count, numbers);
  }

  zk::ListPtr sent(const void* values, size_t count, bool numbers) {
    const auto list = made(count, numbers);
    if (count > 0) ASSAY_CUDA_CALL(cuMemcpyHtoD, list->memory.at(), values, count * (numbers ? sizeof(int64_t) : sizeof(Fr)));
    return list;
  }

  template <typename T>
  Taken given(const std::vector<T>& list) const {
    Taken out(room_, list.size() * sizeof(T));
    ASSAY_CUDA_CALL(cuMemcpyHtoD, out.at(), list.data(), list.size() * sizeof(T));
    return out;
  }

  CUdeviceptr place_in(const zk::ListPtr& into, size_t at, size_t count) {
    card_.enter();
    CudaList& list = cuda_list(into);
    if (list.is_numbers || at > list.size() || count > list.size() - at) throw std::out_of_range("no room in the list");
    return list.memory.at(at * sizeof(Fr));
  }

  // As scalars, with zeros behind them.
  Taken padded(const zk::ListPtr& list, uint64_t size) const {
    Taken out(room_, size * sizeof(Fr));
    const uint64_t count = list->size();
    over(count, "zk_convert", source_of(zk::all_of(list)), count, out.at());
    if (count < size) ASSAY_CUDA_CALL(cuMemsetD32Async, out.at(count * sizeof(Fr)), 0u, (size - count) * sizeof(Fr) / 4, nullptr);
    return out;
  }

  const Ntt& ntt_of(unsigned log2) {
    auto& own = ntts_[log2];
    if (!own) own = std::make_unique<Ntt>(room_->shared_context(), log2);
    return *own;
  }

  // A thread for each place.
  template <typename... Arguments>
  void over(uint64_t places, const char* kernel, const Arguments&... arguments) const {
    if (places > 0) card_.launch({kernel, list_blocks(places), kListThreads}, arguments...);
  }

  // A thread takes several places: an inverse is worth some 400 products. `many` lists of so many places.
  uint32_t dividing_blocks(uint64_t places, uint32_t many) const {
    const uint64_t enough = std::max<uint64_t>(1, uint64_t{card_.units()} * (many > 1 ? 2048 : 512) / many);
    return list_blocks(std::clamp(places / 64, std::min(places, enough), places));
  }
  template <typename... Arguments>
  void divide_each(uint64_t places, const char* kernel, const Arguments&... arguments) const {
    if (places > 0) card_.launch({kernel, dividing_blocks(places, 1), kListThreads}, arguments...);
  }

  static Fr one_at(CUdeviceptr from) {
    Fr value;
    ASSAY_CUDA_CALL(cuMemcpyDtoH, &value, from, sizeof value);
    return value;
  }

  void eqs_at(CUdeviceptr point, uint32_t variables, CUdeviceptr out) {
    const uint64_t count = uint64_t{1} << variables;
    if (variables <= kSmallEq) return over(count, "zk_eq", point, variables, out);
    const uint32_t low = variables / 2, high = variables - low;
    const Taken first(room_, sizeof(Fr) << high), second(room_, sizeof(Fr) << low);
    eqs_at(point, high, first.at());
    eqs_at(point + high * sizeof(Fr), low, second.at());
    over(count, "zk_outer", first.at(), second.at(), low, count, out);
  }

  static Fr raised(const Fr& x, uint64_t exponent) {
    Fr result = Fr::one(), base = x;
    for (; exponent != 0; exponent /= 2, base = base * base)
      if (exponent % 2 == 1) result = result * base;
    return result;
  }

  // Pieces of a polynomial are the coefficients of a shorter one.
  Fr horner(const Source& poly, uint64_t count, const Fr& x) {
    const uint64_t pieces = (count + kEach - 1) / kEach;
    const Taken values(room_, pieces * sizeof(Fr));
    over(pieces, "zk_horner", poly, count, kEach, x, values.at());
    return pieces == 1 ? one_at(values.at()) : horner(values.scalars(), pieces, raised(x, kEach));
  }

  // The quotient at the end of each piece is the quotient of the pieces' values.
  void divide(const Source& from, uint64_t count, const Fr& x, CUdeviceptr out) {
    if (count == 0) return;
    const uint64_t pieces = (count + kEach - 1) / kEach, none = 0;
    if (pieces == 1) return over(1, "zk_divide", from, count, kEach, x, none, out);
    const Taken values(room_, pieces * sizeof(Fr)), carries(room_, pieces * sizeof(Fr));
    over(pieces, "zk_horner", from, count, kEach, x, values.at());
    divide(values.scalars(), pieces, raised(x, kEach), carries.at());
    over(pieces, "zk_divide", from, count, kEach, x, carries.at(), out);
  }

  RoomPtr room_;
  const Context& card_;
  Msm msm_;
  std::map<unsigned, std::unique_ptr<Ntt>> ntts_;
  Buffer powers_;
  size_t count_of_powers_ = 0;
};

}  // namespace

Source source_of(const zk::Slice& slice) {
  const CudaList& list = cuda_list(slice.list);
  if (slice.at > list.size() || slice.count > list.size() - slice.at) throw std::out_of_range("part of a list that is not there");
  const uint64_t offset = slice.at * (list.is_numbers ? sizeof(int64_t) : sizeof(Fr));
  return {reinterpret_cast<const void*>(list.memory.at(offset)), list.is_numbers ? 1u : 0u};
}

Buffer ListRoom::take(uint64_t bytes) {
  const uint64_t whole = std::max<uint64_t>(256, (bytes + 255) / 256 * 256);
  if (auto found = free_.find(whole); found != free_.end() && !found->second.empty()) {
    Buffer buffer = std::move(found->second.back());
    found->second.pop_back();
    return buffer;
  }
  try {
    return Buffer(context_, whole);
  } catch (const EngineError&) {
    // What lies about in other sizes may be enough.
    free_.clear();
    return Buffer(context_, whole);
  }
}

std::unique_ptr<zk::ProofMemory> CudaProof::prepare(uint64_t bytes) {
  context_->enter();
  context_->load_proofs();
  const uint64_t free = context_->free_bytes();
  if (bytes > free)
    throw EngineError(ErrorCode::no_memory, "the proof needs " + std::to_string(bytes) + " bytes, " + std::to_string(free) + " are free");
  return std::make_unique<CudaProofMemory>(context_);
}

// Whoever takes what is not there any more is told so then.
std::shared_ptr<const void> CudaProof::hold(uint64_t host_bytes, uint64_t card_bytes) {
  context_->enter();
  const uint64_t free = context_->free_bytes(), host_free = read_ram_free_bytes();
  if (card_bytes > free || host_bytes > host_free)
    throw EngineError(ErrorCode::no_memory, "the proof needs " + std::to_string(card_bytes) + " bytes of the card and " + std::to_string(host_bytes) + " of the host, " +
                                                std::to_string(free) + " and " + std::to_string(host_free) + " are free");
  return nullptr;
}

}  // namespace assay::cuda
