// See cpu_proof.hpp. Sums are in cpu_sums.cpp, commitments in cpu_commit.cpp.
#include "zk/cpu/cpu_proof.hpp"

#include "cpu/msm.hpp"
#include "zk/cpu/cpu_list.hpp"
#include "zk/dev_powers.hpp"
#include "zk/groth16/roots.hpp"

namespace assay::zk {

namespace {

constexpr size_t kPiece = 1024;

class CpuProofMemory : public ProofMemory {
 public:
  using Hold = std::function<std::unique_ptr<HeldMemory>(uint64_t bytes)>;
  CpuProofMemory(ThreadPool& pool, Hold hold, uint64_t bytes) : pool_(pool), hold_(std::move(hold)), held_(hold_(bytes)) {}

  std::shared_ptr<const void> hold(uint64_t bytes) override { return hold_(bytes); }

  ListPtr numbers(std::span<const int64_t> values) override {
    return std::make_shared<CpuList>(std::vector<int64_t>(values.begin(), values.end()));
  }
  ListPtr scalars(std::span<const Fr> values) override { return list_from({values.begin(), values.end()}); }
  ListPtr zeros(size_t count) override { return list_from(std::vector<Fr>(count, Fr::zero())); }

  std::vector<Fr> read(const Slice& from) override {
    const Values values(from);
    std::vector<Fr> list(from.count);
    for (size_t i = 0; i < list.size(); ++i) list[i] = values[i];
    return list;
  }

  void place(const ListPtr& into, size_t at, const Slice& from) override {
    Fr* to = room(into, at, from.count);
    const Values values(from);
    for_all(from.count, [&](size_t i) { to[i] = values[i]; });
  }

  RunLists run(const ProofPlan& plan, const SegmentStart& start, const uint8_t seed[32], uint32_t first_step, const std::atomic<bool>& stop) override {
    SegmentRun own = run_segment(plan, start, seed, first_step, stop);
    return lists_of(*this, plan, own);
  }

  void set_powers(std::span<const G1Affine> powers) override { powers_.assign(powers.begin(), powers.end()); }
  void make_powers(const Fr& tau, size_t count, const std::atomic<bool>& stop) override { powers_ = powers_of(tau, count, stop); }
  std::vector<G1Affine> commit(std::span<const Slice> slices) override { return cpu_commit(pool_, powers_, slices); }

  ListPtr eqs(std::span<const Fr> point) override {
    std::vector<Fr> list(size_t{1} << point.size());
    list[0] = Fr::one();
    size_t size = 1;
    for (const Fr& one : point) {
      // Backwards: each makes two places, none of which is still to be read.
      for (size_t i = size; i-- > 0;) {
        const Fr more = list[i] * one;
        list[2 * i + 1] = more;
        list[2 * i] = list[i] - more;
      }
      size *= 2;
    }
    return list_from(std::move(list));
  }

  ListPtr repeated(const Slice& from, size_t times) override {
    const Values values(from);
    std::vector<Fr> list(from.count * times);
    for (size_t i = 0; i < from.count; ++i) std::fill_n(list.begin() + static_cast<std::ptrdiff_t>(i * times), times, values[i]);
    return list_from(std::move(list));
  }

  Fr dot(const Slice& a, const Slice& b) override {
    const Values left(a), right(b);
    std::vector<Fr> sums(most_pieces(pool_), Fr::zero());
    in_pieces(pool_, std::min(a.count, b.count), kPiece, [&](size_t from, size_t to, size_t piece) {
      for (size_t i = from; i < to; ++i)
        if (!left.is_zero(i)) sums[piece] = sums[piece] + left[i] * right[i];
    });
    Fr sum = Fr::zero();
    for (const Fr& one : sums) sum = sum + one;
    return sum;
  }

  std::vector<Fr> dots(std::span<const Slice> pieces, std::span<const Kernel> kernels) override {
    std::vector<Fr> sums(kernels.size() * pieces.size());
    pool_.run(sums.size(), [&](uint64_t i) {
      const Kernel& kernel = kernels[i / pieces.size()];
      const Slice& piece = pieces[i % pieces.size()];
      const Values left({piece.list, piece.at + kernel.at, kernel.values.count}), right(kernel.values);
      Fr sum = Fr::zero();
      for (size_t k = 0; k < kernel.values.count; ++k)
        if (!left.is_zero(k)) sum = sum + left[k] * right[k];
      sums[i] = sum;
    });
    return sums;
  }

  ListPtr combined(std::span<const Slice> slices, std::span<const Fr> factors) override {
    std::vector<Values> values;
    for (const Slice& one : slices) values.emplace_back(one);
    std::vector<Fr> list(slices[0].count, Fr::zero());
    in_pieces(pool_, list.size(), kPiece, [&](size_t from, size_t to, size_t) {
      for (size_t j = 0; j < values.size(); ++j)
        for (size_t i = from; i < to; ++i)
          if (!values[j].is_zero(i)) list[i] = list[i] + factors[j] * values[j][i];
    });
    return list_from(std::move(list));
  }

  ListPtr folded(const Slice& from, size_t a, size_t b, size_t c, const Slice& by) override {
    if (from.count != a * b * c || by.count != b) throw std::logic_error("a list of another shape");
    const Values values(from), factors(by);
    std::vector<Fr> list(a * c, Fr::zero());
    for_all(a * c, [&](size_t at) {
      const size_t i = at / c, k = at % c;
      for (size_t j = 0; j < b; ++j)
        if (const size_t place = (i * b + j) * c + k; !values.is_zero(place)) list[at] = list[at] + values[place] * factors[j];
    }, std::max<size_t>(1, kPiece / b));
    return list_from(std::move(list));
  }

  ListPtr before_steps(const Slice& base, const Slice& column, size_t steps, size_t batch, const Slice& by) override {
    const size_t n = base.count;
    if (column.count != steps * batch * n || by.count != steps * batch) throw std::logic_error("a list of another shape");
    const Values start(base), values(column), factors(by);
    std::vector<Fr> list(steps * n);
    for_all(n, [&](size_t k) {
      Fr now = start[k];
      for (size_t t = 0; t < steps; ++t) {
        list[t * n + k] = now;
        for (size_t p = t * batch; p < (t + 1) * batch; ++p)
          if (!values.is_zero(p * n + k)) now = now - values[p * n + k] * factors[p];
      }
    }, std::max<size_t>(1, kPiece / (steps * batch)));
    return list_from(std::move(list));
  }

  void place_inverse_sums(const ListPtr& into, std::span<const InverseSums> sums) override {
    for (const InverseSums& sum : sums) {
      std::vector<Values> columns;
      for (const Slice& one : sum.values) columns.emplace_back(one);
      Fr* to = room(into, sum.at, sum.values[0].count);
      in_pieces(pool_, sum.values[0].count, kPiece, [&](size_t from, size_t end, size_t) {
        std::vector<Fr> all;
        for (size_t i = from; i < end; ++i)
          for (const Part& part : sum.parts) all.push_back(part_at(part, columns, i));
        invert_all(std::span(all));
        for (size_t i = from; i < end; ++i) {
          to[i] = Fr::zero();
          for (size_t k = 0; k < sum.parts.size(); ++k) to[i] = to[i] + all[(i - from) * sum.parts.size() + k];
        }
      });
    }
  }

  ListPtr quotients(const Slice& above, const Slice& below) override {
    const Values top(above);
    std::vector<Fr> list = read(below);
    in_pieces(pool_, list.size(), kPiece, [&](size_t from, size_t to, size_t) {
      for (size_t i = from; i < to; ++i)
        if (top.is_zero(i)) list[i] = Fr::zero();
      invert_all(std::span(list).subspan(from, to - from));
      for (size_t i = from; i < to; ++i)
        if (!top.is_zero(i)) list[i] = list[i] * top[i];
    });
    return list_from(std::move(list));
  }

  void add_times(const ListPtr& into, size_t at, const Slice& from, const Fr& factor) override {
    Fr* to = room(into, at, from.count);
    const Values values(from);
    for_all(from.count, [&](size_t i) {
      if (!values.is_zero(i)) to[i] = to[i] + factor * values[i];
    });
  }

  std::unique_ptr<Sums> sums(std::vector<Sum> all) override { return cpu_sums(pool_, std::move(all)); }

  Fr at(const ListPtr& poly, const Fr& x) override {
    const Values values(all_of(poly));
    Fr sum = Fr::zero();
    for (size_t i = poly->size(); i-- > 0;) sum = sum * x + values[i];
    return sum;
  }

  ListPtr divided(const ListPtr& poly, const Fr& x) override {
    const Values values(all_of(poly));
    std::vector<Fr> quotient(poly->size(), Fr::zero());
    Fr carry = Fr::zero();
    for (size_t i = poly->size(); i-- > 1;) {
      carry = values[i] + carry * x;
      quotient[i - 1] = carry;
    }
    return list_from(std::move(quotient));
  }

  ListPtr crossed(const ListPtr& a, const ListPtr& b) override {
    const size_t length = a->size();
    if (b->size() > length) throw std::logic_error("the second list is the longer one");
    if (length < 2) return zeros(length);
    const size_t size = size_t{1} << cross_bits(length);
    std::vector<Fr> all(size, Fr::zero());
    {
      std::vector<Fr> other(size, Fr::zero());
      put(a, all);
      put(b, other);
      cross(pool_, all, other);
    }
    // Powers that fell together.
    if (size == 2 * (length - 1)) all[length - 1] = all[length - 1] * Fr::of(2).inverted();
    all.erase(all.begin());
    all.resize(length);
    all[length - 1] = Fr::zero();
    all.shrink_to_fit();
    return list_from(std::move(all));
  }

 private:
  void put(const ListPtr& from, std::vector<Fr>& into) {
    const Values values(all_of(from));
    for_all(from->size(), [&](size_t i) { into[i] = values[i]; });
  }

  static Fr* room(const ListPtr& into, size_t at, size_t count) {
    auto& list = dynamic_cast<CpuList&>(*into);
    if (list.is_numbers || at > list.size() || count > list.size() - at) throw std::out_of_range("no room in the list");
    return list.scalars.data() + at;
  }

  static Fr part_at(const Part& part, const std::vector<Values>& columns, size_t i) {
    Fr sum = part.constant;
    for (size_t k = 0; k < part.by.size(); ++k)
      if (!part.by[k].is_zero()) sum = sum + part.by[k] * columns[k][i];
    return part.product.is_zero() ? sum : sum + part.product * columns[part.left][i] * columns[part.right][i];
  }

  template <typename Body>
  void for_all(size_t count, const Body& body, size_t at_least = kPiece) {
    in_pieces(pool_, count, at_least, [&](size_t from, size_t to, size_t) {
      for (size_t i = from; i < to; ++i) body(i);
    });
  }

  ThreadPool& pool_;
  Hold hold_;
  std::unique_ptr<HeldMemory> held_;
  std::vector<G1Affine> powers_;
};

}  // namespace

namespace {

std::unique_ptr<HeldMemory> held_of(const std::shared_ptr<MemoryLedger>& ledger, uint32_t device, uint64_t wanted) {
  if (!ledger) return nullptr;
  const uint64_t free = ledger->allocatable(device);
  if (wanted > free)
    throw EngineError(ErrorCode::no_memory, "the proof needs " + std::to_string(wanted) + " bytes, " + std::to_string(free) + " are free");
  return std::make_unique<HeldMemory>(ledger, device, wanted);
}

}  // namespace

std::unique_ptr<ProofMemory> CpuProof::prepare(uint64_t bytes) {
  const auto hold = [ledger = ledger_, device = device_](uint64_t wanted) { return held_of(ledger, device, wanted); };
  return std::make_unique<CpuProofMemory>(pool_, hold, bytes);
}

std::shared_ptr<const void> CpuProof::hold(uint64_t host_bytes, uint64_t) { return held_of(ledger_, device_, host_bytes); }

}  // namespace assay::zk
