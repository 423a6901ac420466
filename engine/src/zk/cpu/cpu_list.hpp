// A list in the host's memory: numbers or scalars, and loops over lists on several threads.
#pragma once
#include "cpu/thread_pool.hpp"
#include "zk/proof_kernels.hpp"
#include "zk/scalar_lists.hpp"

namespace assay::zk {

struct CpuList : List {
  explicit CpuList(std::vector<int64_t> values) : List(values.size()), numbers(std::move(values)), is_numbers(true) {}
  explicit CpuList(std::vector<Fr> values) : List(values.size()), scalars(std::move(values)), is_numbers(false) {}
  std::vector<int64_t> numbers;
  std::vector<Fr> scalars;
  const bool is_numbers;
};

// Reads a slice, whatever it is made of.
class Values {
 public:
  explicit Values(const Slice& slice) {
    auto& list = dynamic_cast<const CpuList&>(*slice.list);
    if (slice.at > list.size() || slice.count > list.size() - slice.at) throw std::out_of_range("part of a list that is not there");
    if (list.is_numbers) {
      numbers_ = list.numbers.data() + slice.at;
    } else {
      scalars_ = list.scalars.data() + slice.at;
    }
  }
  explicit Values(std::span<const Fr> scalars) : scalars_(scalars.data()) {}
  Fr operator[](size_t i) const { return scalars_ != nullptr ? scalars_[i] : scalar_of(numbers_[i]); }
  bool is_zero(size_t i) const { return scalars_ != nullptr ? scalars_[i].is_zero() : numbers_[i] == 0; }
  const int64_t* numbers() const { return numbers_; }
  const Fr* scalars() const { return scalars_; }

 private:
  const int64_t* numbers_ = nullptr;
  const Fr* scalars_ = nullptr;
};

inline ListPtr list_from(std::vector<Fr> scalars) { return std::make_shared<CpuList>(std::move(scalars)); }

// Pieces long enough to be worth handing over; body(from, to, number of the piece). Returns how many there
// are.
template <typename Body>
size_t in_pieces(ThreadPool& pool, size_t count, size_t at_least, const Body& body) {
  const size_t pieces = std::max<size_t>(1, std::min<size_t>(4 * pool.threads(), count / at_least));
  if (pieces == 1) {
    body(0, count, 0);
  } else {
    pool.run(pieces, [&](uint64_t i) { body(count * i / pieces, count * (i + 1) / pieces, i); });
  }
  return pieces;
}
inline size_t most_pieces(const ThreadPool& pool) { return 4 * pool.threads(); }

std::unique_ptr<Sums> cpu_sums(ThreadPool& pool, std::vector<Sum> sums);
std::vector<G1Affine> cpu_commit(ThreadPool& pool, std::span<const G1Affine> powers, std::span<const Slice> slices);

}  // namespace assay::zk
