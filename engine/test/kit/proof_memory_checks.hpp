// Two devices' memories of proofs (zk/proof_kernels.hpp) do the same things to the same lists; all that can
// be read is compared.
#pragma once
#include <functional>
#include <string>

#include "zk/proof_kernels.hpp"

namespace assay_test {

using assay::Fr;
using assay::zk::all_of;
using assay::zk::ListPtr;
using assay::zk::Part;
using assay::zk::ProofMemory;
using assay::zk::Slice;
using assay::zk::Sum;

class MemoryChecks {
 public:
  using Expect = std::function<void(bool, const std::string&)>;
  MemoryChecks(ProofMemory& a, ProofMemory& b, Expect expect) : a_(a), b_(b), expect_(std::move(expect)) {}

  void run(unsigned log2) {
    check_lists(log2);
    check_polynomials(log2 / 2 * 2);
    for (unsigned variables = 1; variables <= log2; variables += log2 < 4 ? 1 : 3) check_sums(variables);
  }

  // Of two lists: by its definition where that is done in time, else by values at one place. A list may have
  // one more than 2^log2, which hides the others, and the other one may be shorter.
  void check_crossed(size_t count, size_t other, bool is_naive) {
    const std::string name = "crossed " + std::to_string(count) + " and " + std::to_string(other);
    const Both f = scalars(count), e = scalars(other);
    const Both s = {a_.crossed(f.a, e.a), b_.crossed(f.b, e.b)};
    expect_(s.a->size() == count, name + ": as long as the first");
    same(s, name);
    if (is_naive) expect_(a_.read(all_of(s.a)) == naively_crossed(a_.read(all_of(f.a)), a_.read(all_of(e.a))), name + ", by its definition");
    const Fr x = Fr::of(drawn() | 1), back = x.inverted(), both = a_.dot(all_of(f.a), all_of(e.a));
    const Fr values = a_.at(f.a, x) * a_.at(e.a, back) + a_.at(f.a, back) * a_.at(e.a, x);
    expect_(values == both + both + x * a_.at(s.a, x) + back * a_.at(s.a, back), name + ", seen from one place");
  }

 private:
  // The same list on both.
  struct Both {
    ListPtr a, b;
  };
  struct BothSlices {
    Slice a, b;
  };
  static BothSlices part(const Both& list, size_t at, size_t count) { return {{list.a, at, count}, {list.b, at, count}}; }
  static BothSlices whole(const Both& list) { return {all_of(list.a), all_of(list.b)}; }

  uint64_t drawn() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  Fr drawn_scalar() {
    const uint64_t kind = drawn() % 16;
    if (kind < 2) return kind == 0 ? Fr::zero() : Fr::zero() - Fr::one();
    return {{drawn(), drawn(), drawn(), drawn() >> 4}};
  }
  Both scalars(size_t count) {
    std::vector<Fr> list(count);
    for (Fr& one : list) one = drawn_scalar();
    return {a_.scalars(list), b_.scalars(list)};
  }
  Both numbers(size_t count, unsigned bits) {
    std::vector<int64_t> list(count);
    for (int64_t& one : list) one = drawn() % 4 == 0 ? 0 : static_cast<int64_t>(drawn()) >> (64 - bits);
    return {a_.numbers(list), b_.numbers(list)};
  }
  void same(const Both& list, const std::string& what) {
    const std::vector<Fr> a = a_.read(all_of(list.a)), b = b_.read(all_of(list.b));
    expect_(a.size() == list.a->size() && a == b, what);
  }

  void check_lists(unsigned log2) {
    const size_t count = size_t{1} << log2;
    const std::string name = " of 2^" + std::to_string(log2);
    const Both some = scalars(count), more = scalars(count), small = numbers(count, 20), wide = numbers(count, 64);
    same(some, "scalars" + name);
    same(wide, "numbers" + name);
    const Both zeros = {a_.zeros(count), b_.zeros(count)};
    same(zeros, "zeros" + name);
    const size_t quarter = count / 4;
    a_.place(zeros.a, quarter, part(small, 0, quarter).a), b_.place(zeros.b, quarter, part(small, 0, quarter).b);
    a_.place(zeros.a, 0, part(some, quarter, quarter).a), b_.place(zeros.b, 0, part(some, quarter, quarter).b);
    const Fr factor = drawn_scalar();
    a_.add_times(zeros.a, 1, part(wide, 0, count - 1).a, factor), b_.add_times(zeros.b, 1, part(wide, 0, count - 1).b, factor);
    same(zeros, "placed and added" + name);
    std::vector<Fr> point(log2);
    for (Fr& one : point) one = drawn_scalar();
    same({a_.eqs(point), b_.eqs(point)}, "eqs" + name);
    same({a_.repeated(all_of(small.a), 3), b_.repeated(all_of(small.b), 3)}, "repeated" + name);
    expect_(a_.dot(all_of(some.a), all_of(wide.a)) == b_.dot(all_of(some.b), all_of(wide.b)), "dot" + name);
    check_folds(log2, some, more, small);
    check_pieces(log2, some, more, small, wide);
    const std::vector<Slice> values_a = {all_of(small.a), all_of(wide.a), all_of(some.a)}, values_b = {all_of(small.b), all_of(wide.b), all_of(some.b)};
    using assay::zk::InverseSums;
    const Both inverses = {a_.zeros(4 * count), b_.zeros(4 * count)};
    std::vector<InverseSums> sums_a, sums_b;
    for (const size_t parts : {size_t{1}, size_t{3}, size_t{3}}) {
      const std::vector<Part> shapes = drawn_parts(parts, 3, parts == 3 && sums_a.size() == 1);
      sums_a.push_back({sums_a.size() * count + 1, values_a, shapes}), sums_b.push_back({sums_b.size() * count + 1, values_b, shapes});
    }
    sums_a.push_back({3 * count + 1, {part(small, 0, 1).a}, drawn_parts(1, 1, false)});
    sums_b.push_back({3 * count + 1, {part(small, 0, 1).b}, sums_a.back().parts});
    a_.place_inverse_sums(inverses.a, sums_a), b_.place_inverse_sums(inverses.b, sums_b);
    same(inverses, "inverse sums" + name);
    same({a_.quotients(all_of(small.a), all_of(more.a)), b_.quotients(all_of(small.b), all_of(more.b))}, "quotients" + name);
  }

  void check_pieces(unsigned log2, const Both& some, const Both& more, const Both& small, const Both& wide) {
    const std::string name = " of 2^" + std::to_string(log2);
    const size_t quarter = size_t{1} << log2 >> 2;
    const std::vector<Slice> pieces_a = {part(small, quarter, quarter).a, part(wide, 0, quarter).a, part(some, quarter, quarter).a, part(wide, quarter, quarter).a};
    const std::vector<Slice> pieces_b = {part(small, quarter, quarter).b, part(wide, 0, quarter).b, part(some, quarter, quarter).b, part(wide, quarter, quarter).b};
    const std::vector<Fr> factors = {drawn_scalar(), drawn_scalar(), drawn_scalar(), Fr::zero() - Fr::one()};
    same({a_.combined(pieces_a, factors), b_.combined(pieces_b, factors)}, "combined" + name);
    const size_t half = (quarter + 1) / 2;
    const std::vector<assay::zk::Kernel> kernels_a = {{part(more, 0, quarter).a, 0}, {part(some, 1, half).a, quarter - half}, {part(wide, 0, 1).a, 0}};
    const std::vector<assay::zk::Kernel> kernels_b = {{part(more, 0, quarter).b, 0}, {part(some, 1, half).b, quarter - half}, {part(wide, 0, 1).b, 0}};
    expect_(a_.dots(pieces_a, kernels_a) == b_.dots(pieces_b, kernels_b), "dots" + name);
  }

  void check_folds(unsigned log2, const Both& some, const Both& more, const Both& small) {
    const size_t count = size_t{1} << log2;
    for (unsigned high = 0; high <= log2; high += 2) {
      for (unsigned low = 0; low + high <= log2; low += 3) {
        const size_t a = size_t{1} << high, c = size_t{1} << low, b = count >> high >> low;
        const std::string name = "folded " + std::to_string(a) + " " + std::to_string(b) + " " + std::to_string(c);
        same({a_.folded(all_of(small.a), a, b, c, part(more, 0, b).a), b_.folded(all_of(small.b), a, b, c, part(more, 0, b).b)}, name);
        same({a_.before_steps(part(some, 0, c).a, all_of(small.a), a, b, part(more, 0, a * b).a),
              b_.before_steps(part(some, 0, c).b, all_of(small.b), a, b, part(more, 0, a * b).b)},
             "before steps, " + name);
      }
    }
  }

  static std::vector<Fr> naively_crossed(const std::vector<Fr>& a, std::vector<Fr> b) {
    b.resize(a.size(), Fr::zero());
    std::vector<Fr> list(a.size(), Fr::zero());
    for (size_t k = 1; k < a.size(); ++k)
      for (size_t i = 0; i + k < a.size(); ++i) list[k - 1] = list[k - 1] + a[i] * b[i + k] + a[i + k] * b[i];
    return list;
  }

  void check_polynomials(unsigned log2) {
    const size_t count = size_t{1} << log2, root = size_t{1} << (log2 / 2);
    const std::string name = " of 2^" + std::to_string(log2);
    const Both f = scalars(count), small = numbers(count, 12);
    const Fr x = drawn_scalar();
    expect_(a_.at(f.a, x) == b_.at(f.b, x), "value" + name);
    expect_(a_.at(small.a, x) == b_.at(small.b, x), "value of numbers" + name);
    same({a_.divided(f.a, x), b_.divided(f.b, x)}, "divided" + name);
    check_crossed(root, root, true);
    check_crossed(count, count, false);
    check_crossed(count + 1, count, false);
    same({a_.crossed(small.a, f.a), b_.crossed(small.b, f.b)}, "crossed numbers" + name);
  }

  std::vector<Part> drawn_parts(size_t parts, size_t values, bool has_product) {
    std::vector<Part> out(parts);
    for (size_t k = 0; k < parts; ++k) {
      out[k].constant = drawn_scalar();
      for (size_t v = 0; v < values; ++v) out[k].by.push_back(drawn() % 3 == 0 ? Fr::zero() : drawn_scalar());
      out[k].product = has_product && k == 1 ? Fr::of(drawn() | 1) : Fr::zero();
      out[k].left = 1 % values, out[k].right = 0;
    }
    return out;
  }

  void check_sums(unsigned variables) {
    const size_t count = size_t{1} << variables;
    std::vector<Sum> sums_a, sums_b;
    const auto add = [&](Sum::Kind kind, unsigned degree, size_t columns, std::vector<Part> parts) {
      Sum own{kind, variables, degree, {}, std::move(parts), drawn_scalar(), drawn_scalar()};
      sums_a.push_back(own), sums_b.push_back(own);
      for (size_t k = 0; k < columns; ++k) {
        const Both list = k % 3 == 2 ? numbers(2 * count, 17) : scalars(2 * count);
        sums_a.back().columns.push_back({list.a, count, count}), sums_b.back().columns.push_back({list.b, count, count});
      }
    };
    add(Sum::Kind::product, 2, 2, {});
    add(Sum::Kind::product, 3, 3, {});
    add(Sum::Kind::table, 3, 4, {});
    add(Sum::Kind::lookup, 3, 3, drawn_parts(1, 1, false));
    add(Sum::Kind::lookup, 5, 5, drawn_parts(3, 3, false));
    add(Sum::Kind::lookup, 6, 7, drawn_parts(3, 5, true));
    const size_t many = sums_a.size();
    const auto a = a_.sums(std::move(sums_a)), b = b_.sums(std::move(sums_b));
    for (size_t sum = 0; sum < many; ++sum) {
      const std::string name = "sum " + std::to_string(sum) + " of 2^" + std::to_string(variables);
      bool is_same = true;
      for (unsigned left = variables; left > 0; --left) {
        is_same = is_same && a->whole(sum) == b->whole(sum) && a->round(sum) == b->round(sum);
        const Fr x = drawn_scalar();
        a->fold(sum, x), b->fold(sum, x);
      }
      expect_(is_same, name + ": rounds");
      expect_(a->whole(sum) == b->whole(sum), name + ": the last corner");
      expect_(a->ends(sum) == b->ends(sum), name + ": ends");
    }
  }

  ProofMemory &a_, &b_;
  Expect expect_;
  uint64_t state_ = 11;
};

}  // namespace assay_test
