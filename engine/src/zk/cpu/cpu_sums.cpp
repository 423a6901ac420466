// Sums over cubes on the host's cores: one pass over all corners gives a round, another one takes a variable
// away.
#include "zk/cpu/cpu_list.hpp"

namespace assay::zk {

namespace {

constexpr unsigned kMostPoints = 7;
constexpr size_t kPieceCorners = 512;

using Points = std::array<Fr, kMostPoints>;

// A part along one variable: its linear part goes on by steps.
struct MovingPart {
  Fr now, step;
};

Fr linear_part(const Part& part, std::span<const Fr> values) {
  Fr sum = part.constant;
  for (size_t k = 0; k < part.by.size(); ++k)
    if (!part.by[k].is_zero()) sum = sum + part.by[k] * values[k];
  return sum;
}

// g·Π parts − Σ_k Π_(j≠k) part_j
Fr lookup_rest(const Fr& g, const Fr* parts, size_t count) {
  if (count == 1) return g * parts[0] - Fr::one();
  const Fr ab = parts[0] * parts[1];
  if (count == 2) return g * ab - parts[0] - parts[1];
  return (g * ab - parts[0] - parts[1]) * parts[2] - ab;
}

class RunningSum {
 public:
  explicit RunningSum(Sum sum) : sum_(std::move(sum)), left_(sum_.variables) {
    for (const Slice& column : sum_.columns) {
      if (column.count != size_t{1} << sum_.variables) throw std::logic_error("a column of another size than its sum");
      columns_.emplace_back(column);
    }
  }

  Fr whole(ThreadPool& pool) const {
    std::vector<Fr> sums(most_pieces(pool), Fr::zero());
    in_pieces(pool, size_t{1} << left_, kPieceCorners, [&](size_t from, size_t to, size_t piece) {
      Fr terms = Fr::zero(), others = Fr::zero();
      std::vector<Fr> now(columns_.size());
      for (size_t i = from; i < to; ++i) {
        for (size_t k = 0; k < now.size(); ++k) now[k] = columns_[k][i];
        add_corner(now, terms, others);
      }
      sums[piece] = sum_.factor * terms + sum_.all * others;
    });
    return added(sums);
  }

  std::vector<Fr> round(ThreadPool& pool) const {
    const size_t half = size_t{1} << (left_ - 1);
    std::vector<Points> sums(most_pieces(pool), zero_points());
    in_pieces(pool, half, kPieceCorners, [&](size_t from, size_t to, size_t piece) {
      if (sum_.kind == Sum::Kind::lookup) {
        round_lookup(half, from, to, sums[piece]);
      } else {
        round_plain(half, from, to, sums[piece]);
      }
    });
    std::vector<Fr> values(sum_.degree + 1, Fr::zero());
    for (const Points& points : sums)
      for (size_t x = 0; x < values.size(); ++x) values[x] = values[x] + points[x];
    return values;
  }

  void fold(ThreadPool& pool, const Fr& x) {
    const size_t half = size_t{1} << (left_ - 1);
    std::vector<std::vector<Fr>> next(columns_.size(), std::vector<Fr>(half));
    in_pieces(pool, half, kPieceCorners, [&](size_t from, size_t to, size_t) {
      for (size_t k = 0; k < next.size(); ++k)
        for (size_t i = from; i < to; ++i) {
          const Fr low = columns_[k][i], high = columns_[k][i + half];
          next[k][i] = low == high ? low : low + x * (high - low);
        }
    });
    folded_ = std::move(next);
    columns_.clear();
    for (const auto& list : folded_) columns_.emplace_back(std::span<const Fr>(list));
    // What was given is not needed any more.
    sum_.columns.clear();
    --left_;
  }

  std::vector<Fr> ends() const {
    std::vector<Fr> values;
    for (const Values& column : columns_) values.push_back(column[0]);
    return values;
  }

 private:
  static Points zero_points() {
    Points points;
    points.fill(Fr::zero());
    return points;
  }
  static Fr added(const std::vector<Fr>& list) {
    Fr sum = Fr::zero();
    for (const Fr& one : list) sum = sum + one;
    return sum;
  }

  void add_corner(const std::vector<Fr>& now, Fr& terms, Fr& others) const {
    if (sum_.kind == Sum::Kind::product) {
      terms = terms + (now.size() == 3 ? now[0] * now[1] * now[2] : now[0] * now[1]);
    } else if (sum_.kind == Sum::Kind::table) {
      terms = terms + now[0] * (now[1] * now[3] - now[2]);
      others = others - now[1];
    } else {
      Fr parts[3];
      const std::span<const Fr> values = std::span(now).subspan(2);
      for (size_t k = 0; k < sum_.parts.size(); ++k) {
        const Part& part = sum_.parts[k];
        parts[k] = linear_part(part, values);
        if (!part.product.is_zero()) parts[k] = parts[k] + part.product * values[part.left] * values[part.right];
      }
      terms = terms + now[0] * lookup_rest(now[1], parts, sum_.parts.size());
      others = others + now[1];
    }
  }

  void round_plain(size_t half, size_t from, size_t to, Points& out) const {
    Points terms = zero_points(), others = zero_points();
    std::vector<Fr> now(columns_.size()), step(columns_.size());
    for (size_t i = from; i < to; ++i) {
      // Most of what is opened last, and of tables, is 0.
      const size_t zero = sum_.kind == Sum::Kind::product ? columns_.size() - 1 : 1;
      if (columns_[zero].is_zero(i) && columns_[zero].is_zero(i + half) &&
          (sum_.kind == Sum::Kind::product || (columns_[2].is_zero(i) && columns_[2].is_zero(i + half))))
        continue;
      for (size_t k = 0; k < now.size(); ++k) {
        now[k] = columns_[k][i];
        step[k] = columns_[k][i + half] - now[k];
      }
      for (unsigned x = 0; x <= sum_.degree; ++x) {
        add_corner(now, terms[x], others[x]);
        for (size_t k = 0; k < now.size(); ++k) now[k] = now[k] + step[k];
      }
    }
    for (unsigned x = 0; x <= sum_.degree; ++x) out[x] = sum_.factor * terms[x] + sum_.all * others[x];
  }

  void round_lookup(size_t half, size_t from, size_t to, Points& out) const {
    Points terms = zero_points(), others = zero_points();
    const size_t count = sum_.parts.size(), columns = columns_.size();
    std::vector<Fr> low(columns), high(columns);
    MovingPart parts[3];
    Fr now[3];
    for (size_t i = from; i < to; ++i) {
      for (size_t k = 0; k < columns; ++k) {
        low[k] = columns_[k][i];
        high[k] = columns_[k][i + half];
      }
      for (size_t k = 0; k < count; ++k) {
        parts[k].now = linear_part(sum_.parts[k], std::span(low).subspan(2));
        parts[k].step = linear_part(sum_.parts[k], std::span(high).subspan(2)) - parts[k].now;
      }
      for (size_t k = 0; k < columns; ++k) high[k] = high[k] - low[k];
      for (unsigned x = 0; x <= sum_.degree; ++x) {
        for (size_t k = 0; k < count; ++k) {
          const Part& part = sum_.parts[k];
          now[k] = part.product.is_zero() ? parts[k].now : parts[k].now + part.product * low[2 + part.left] * low[2 + part.right];
          parts[k].now = parts[k].now + parts[k].step;
        }
        terms[x] = terms[x] + low[0] * lookup_rest(low[1], now, count);
        others[x] = others[x] + low[1];
        for (size_t k = 0; k < columns; ++k) low[k] = low[k] + high[k];
      }
    }
    for (unsigned x = 0; x <= sum_.degree; ++x) out[x] = sum_.factor * terms[x] + sum_.all * others[x];
  }

  Sum sum_;
  unsigned left_;
  std::vector<Values> columns_;
  std::vector<std::vector<Fr>> folded_;
};

class CpuSums : public Sums {
 public:
  CpuSums(ThreadPool& pool, std::vector<Sum> sums) : pool_(pool) {
    for (Sum& sum : sums) sums_.emplace_back(std::move(sum));
  }
  Fr whole(size_t sum) override { return sums_[sum].whole(pool_); }
  std::vector<Fr> round(size_t sum) override { return sums_[sum].round(pool_); }
  void fold(size_t sum, const Fr& x) override { sums_[sum].fold(pool_, x); }
  std::vector<Fr> ends(size_t sum) override { return sums_[sum].ends(); }

 private:
  ThreadPool& pool_;
  std::vector<RunningSum> sums_;
};

}  // namespace

std::unique_ptr<Sums> cpu_sums(ThreadPool& pool, std::vector<Sum> sums) { return std::make_unique<CpuSums>(pool, std::move(sums)); }

}  // namespace assay::zk
