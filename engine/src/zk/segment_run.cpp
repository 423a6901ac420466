// See segment_run.hpp.
#include "zk/segment_run.hpp"

#include <string>

#include "core/philox.hpp"
#include "engine_error.hpp"

namespace assay::zk {

namespace {

constexpr uint32_t kOrderStream = 0x6f726472;

uint64_t row_at(const SegmentRun& run, uint64_t place) {
  const uint64_t x = run.first_place + place;
  uint64_t row = 0;
  for (size_t j = 0; j < run.order.places.size(); ++j) row |= ((x >> run.order.places[j] & 1) ^ (run.order.mask >> j & 1)) << j;
  return row;
}

class Runner {
 public:
  Runner(const ProofPlan& plan, SegmentRun& run) : plan_(plan), run_(run) {
    for (size_t l = 0; l < plan.links(); ++l) {
      run.entering.emplace_back(plan.places() << (plan.spot_bits(l) + plan.input_bits(l)));
      run.stepped.emplace_back();
      run.z.emplace_back(plan.places() * plan.width(l + 1));
      run.q.emplace_back(plan.is_last(l) ? 0 : plan.places() * plan.width(l + 1));
      run.last.emplace_back(plan.is_last(l) ? 0 : plan.places());
    }
    for (const auto& [name, block] : plan.blocks) {
      if (group_of(name.first) == kHelpers) continue;
      std::vector<std::span<int64_t>>& own = columns_[static_cast<size_t>(name.first)];
      own.resize(std::max<size_t>(own.size(), name.second + 1));
      own[name.second] = run.column(plan, name.first, name.second);
    }
  }

  void forth(size_t l, uint64_t from, uint64_t to) {
    // A row for each place of its window.
    const uint64_t n = uint64_t{1} << plan_.output_bits(l), k = uint64_t{1} << plan_.input_bits(l), spots = uint64_t{1} << plan_.spot_bits(l);
    int64_t* entering = run_.entering[l].data();
    const auto weights = column(Column::after, l);
    if (plan_.windows[l] && l > 0) run_.stepped[l].insert(run_.stepped[l].end(), weights.begin(), weights.end());
    for (uint64_t p = from; p < to; ++p) {
      enter(l, p);
      for (uint64_t row = p * spots; row < (p + 1) * spots; ++row)
        for (uint64_t i = 0; i < n; ++i) {
          int64_t sum = 0;
          for (uint64_t x = 0; x < k; ++x) sum += entering[row * k + x] * weights[i * k + x];
          run_.z[l][row * n + i] = sum;
          take(l, p, row * n + i, rounded(sum));
        }
    }
  }

  void back(size_t l, uint64_t from, uint64_t to) {
    const uint64_t n = plan_.width(l + 1);
    const auto d = column(Column::d, l);
    for (uint64_t p = from; p < to; ++p) {
      if (plan_.is_last(l) && plan_.is_softmax()) {
        softmax(p);
      } else if (plan_.is_last(l)) {
        const auto h = column(Column::h, l), labels = column(Column::labels, 0);
        const uint64_t row = row_at(run_, p);
        for (uint64_t i = 0; i < n; ++i) d[p * n + i] = (h[p * n + i] - labels[row * n + i]) * (int64_t{1} << (plan_.gradient - plan_.activation));
      } else {
        come_back(l, p);
      }
      for (uint64_t i = 0; i < n; ++i)
        if (!fits(d[p * n + i], plan_.d)) left_range("a gradient", l, p >> plan_.batch_bits);
    }
  }

  void change(size_t l, uint64_t from, uint64_t to) {
    const uint64_t n = uint64_t{1} << plan_.output_bits(l), k = uint64_t{1} << plan_.input_bits(l), spots = uint64_t{1} << plan_.spot_bits(l);
    const auto weights = column(Column::after, l), d = column(Column::d, l);
    for (uint64_t p = from * spots; p < to * spots; ++p)
      for (uint64_t i = 0; i < n; ++i) {
        const int64_t by = d[p * n + i];
        if (by == 0) continue;
        for (uint64_t x = 0; x < k; ++x) weights[i * k + x] -= run_.entering[l][p * k + x] * by;
      }
  }

  // What is committed besides, of a run that is done.
  void add_rest(size_t l) {
    const int64_t low = (int64_t{1} << plan_.low_bits) - 1, half = int64_t{1} << (plan_.scale - 1), one = int64_t{1} << plan_.scale;
    const auto h = column(Column::h, l), d = column(Column::d, l), rest = column(Column::low, l);
    for (size_t i = 0; i < rest.size(); ++i) rest[i] = (run_.z[l][i] + half - h[i] * one) & low;
    if (!plan_.is_last(l)) {
      const auto m = column(Column::m, l), back = column(Column::low_back, l);
      for (size_t i = 0; i < back.size(); ++i) back[i] = (m[i] * (run_.q[l][i] + half) - d[i] * one) & low;
    }
    const unsigned b0 = plan_.limbs[0], b1 = plan_.limbs[1], all = b0 + b1 + plan_.limbs[2];
    const auto after = column(Column::after, l), limb0 = column(Column::limb0, l), limb1 = column(Column::limb1, l);
    for (size_t i = 0; i < after.size(); ++i) {
      const int64_t whole = after[i] + (int64_t{1} << (all - 1));
      if (whole < 0 || whole >> all != 0) left_range("a weight at the end", l, plan_.steps() - 1);
      limb0[i] = whole & ((int64_t{1} << b0) - 1);
      limb1[i] = whole >> b0 & ((int64_t{1} << b1) - 1);
    }
  }

  // Of softmax: what follows from its columns, lower parts of its numbers, and how often each row of a table
  // is looked up by them.
  void add_softmax() {
    const size_t last = plan_.links() - 1;
    const uint64_t n = plan_.width(plan_.links()), classes = plan_.sizes.back(), units = plan_.places() * n;
    const unsigned lost = plan_.quotient - plan_.gradient;
    const TwoParts score_bits = plan_.score_parts(), inverse_bits = plan_.inverse_parts(), sum_bits = plan_.sum_parts();
    const auto exp = column(Column::exp, last), inverse = column(Column::inverse, last), peak = column(Column::peak, last), h = column(Column::h, last);
    const auto d = column(Column::d, last), labels = column(Column::labels, 0);
    for (unsigned i = 0; i < kSoftmaxLists; ++i) run_.softmax[i].assign(i == kRowSum ? plan_.places() : units, 0);
    const auto split = [&](int64_t whole, const TwoParts& bits, int64_t& low) {
      low = whole & ((int64_t{1} << bits.low) - 1);
      counts(plan_.range_table(bits.low))[low] += 1;
      counts(plan_.range_table(bits.high))[whole >> bits.low] += 1;
    };
    for (uint64_t p = 0; p < plan_.places(); ++p) {
      const uint64_t row = row_at(run_, p);
      int64_t sum = 0;
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t at = p * n + i;
        const int64_t distance = i < classes ? peak[p] - h[at] : 0, score = d[at] + labels[row * n + i] * (int64_t{1} << (plan_.gradient - plan_.activation));
        run_.softmax[kWideInverse][at] = inverse[p];
        run_.softmax[kDistance][at] = distance;
        run_.softmax[kScore][at] = score;
        run_.softmax[kPadding][at] = i < classes ? 0 : 1;
        run_.softmax[kNoTop][at] = distance + (i < classes ? 0 : 1);
        sum += exp[at];
        split(exp[at] * inverse[p] + (int64_t{1} << (lost - 1)) - score * (int64_t{1} << lost), score_bits, column(Column::low_score, last)[at]);
        counts(plan_.exp_table())[distance] += 1;
      }
      run_.softmax[kRowSum][p] = sum;
      const int64_t left = (int64_t{1} << plan_.quotient) - sum * inverse[p];
      split(inverse[p], inverse_bits, column(Column::inverse0, last)[p]);
      split(left, sum_bits, column(Column::remainder0, last)[p]);
      split(sum - 1 - left, sum_bits, column(Column::rest0, last)[p]);
    }
  }

  // How often each row of each table is looked up by a link.
  void count(size_t l) {
    const int64_t half = int64_t{1} << (plan_.scale - 1), one = int64_t{1} << plan_.scale;
    const unsigned low = plan_.range_table(plan_.low_bits), high = plan_.range_table(plan_.scale - plan_.low_bits);
    const auto h = column(Column::h, l), d = column(Column::d, l), rest = column(Column::low, l);
    for (size_t i = 0; i < h.size(); ++i) {
      counts(low)[rest[i]] += 1;
      counts(high)[(run_.z[l][i] + half - h[i] * one) >> plan_.low_bits] += 1;
      counts(plan_.is_last(l) ? plan_.h_table() : plan_.relu_table())[signed_row(h[i], plan_.h)] += 1;
      counts(plan_.d_table())[signed_row(d[i], plan_.d)] += 1;
    }
    if (!plan_.is_last(l)) {
      const auto m = column(Column::m, l), back = column(Column::low_back, l);
      for (size_t i = 0; i < back.size(); ++i) {
        counts(low)[back[i]] += 1;
        counts(high)[(m[i] * (run_.q[l][i] + half) - d[i] * one) >> plan_.low_bits] += 1;
      }
      if (plan_.is_biased(l))
        for (const int64_t last : run_.last[l]) counts(plan_.h_table())[signed_row(last + (int64_t{1} << plan_.activation), plan_.h)] += 1;
    }
    const auto after = column(Column::after, l);
    const auto& limbs = plan_.limbs;
    for (const int64_t weight : after) {
      uint64_t whole = static_cast<uint64_t>(weight + (int64_t{1} << (limbs[0] + limbs[1] + limbs[2] - 1)));
      for (const unsigned bits : limbs) {
        counts(plan_.range_table(bits))[whole & ((uint64_t{1} << bits) - 1)] += 1;
        whole >>= bits;
      }
    }
  }

 private:
  std::span<int64_t> column(Column column, size_t of) const { return columns_[static_cast<size_t>(column)][of]; }
  std::span<int64_t> counts(unsigned table) { return column(Column::multiplicity, table); }
  int64_t rounded(int64_t sum) const { return (sum + (int64_t{1} << (plan_.scale - 1))) >> plan_.scale; }
  static bool fits(int64_t value, unsigned bits) { return value < int64_t{1} << (bits - 1) && value > -(int64_t{1} << (bits - 1)); }
  // The last row of such a table is zeros again, and that is where zeros are counted.
  static uint64_t signed_row(int64_t value, unsigned bits) {
    const int64_t half = int64_t{1} << (bits - 1);
    return static_cast<uint64_t>(value == 0 ? 2 * half - 1 : value + half - 1);
  }

  // d of a row of the last link: what softmax makes of its units, less its class.
  void softmax(uint64_t p) {
    const size_t last = plan_.links() - 1;
    const uint64_t n = plan_.width(plan_.links()), classes = plan_.sizes.back(), row = row_at(run_, p);
    const auto h = column(Column::h, last), labels = column(Column::labels, 0), d = column(Column::d, last), exp = column(Column::exp, last);
    if (exp_rows_.empty()) exp_rows_ = plan_.exp_rows();
    uint64_t top = 0;
    for (uint64_t i = 1; i < classes; ++i)
      if (h[p * n + i] > h[p * n + top]) top = i;
    const int64_t peak = h[p * n + top];
    column(Column::peak, last)[p] = peak;
    column(Column::top, last)[p * n + top] = 1;
    int64_t sum = 0;
    for (uint64_t i = 0; i < classes; ++i) sum += exp[p * n + i] = exp_rows_[static_cast<uint64_t>(peak - h[p * n + i])];
    const int64_t inverse = (int64_t{1} << plan_.quotient) / sum;
    column(Column::inverse, last)[p] = inverse;
    const unsigned lost = plan_.quotient - plan_.gradient;
    for (uint64_t i = 0; i < classes; ++i)
      d[p * n + i] = ((exp[p * n + i] * inverse + (int64_t{1} << (lost - 1))) >> lost) - labels[row * n + i] * (int64_t{1} << (plan_.gradient - plan_.activation));
  }

  // A patch for each place of the window.
  void enter_patches(size_t l, uint64_t p) {
    const Window& window = *plan_.windows[l];
    const uint64_t width = plan_.width(l), k = uint64_t{1} << plan_.input_bits(l), columns = window.columns();
    const auto before = l == 0 ? column(Column::features, 0) : column(Column::a, l - 1);
    const int64_t* from = before.data() + (l == 0 ? row_at(run_, p) : p) * width;
    int64_t* to = run_.entering[l].data() + (p << plan_.spot_bits(l)) * k;
    for (uint64_t spot = 0; spot < window.places(); ++spot, to += k) {
      for (uint64_t x = 0; x + 1 < columns; ++x)
        if (const int64_t pixel = window.pixel(spot, x); pixel >= 0) to[x] = from[pixel];
      to[columns - 1] = int64_t{1} << plan_.activation;
    }
  }

  void enter(size_t l, uint64_t p) {
    if (plan_.windows[l]) {
      enter_patches(l, p);
      return;
    }
    const uint64_t k = plan_.width(l);
    int64_t* to = run_.entering[l].data() + p * k;
    if (l == 0) {
      const auto features = column(Column::features, 0);
      std::copy_n(features.data() + row_at(run_, p) * k, k, to);
      return;
    }
    std::copy_n(column(Column::a, l - 1).data() + p * k, k, to);
    int64_t& biased = to[plan_.sizes[l] - 1];
    run_.last[l - 1][p] = biased;
    biased += int64_t{1} << plan_.activation;
    if (!fits(biased, plan_.h)) left_range("what enters", l, p >> plan_.batch_bits);
  }

  void take(size_t l, uint64_t p, uint64_t at, int64_t h) {
    if (!fits(h, plan_.h)) left_range("a sum", l, p >> plan_.batch_bits);
    column(Column::h, l)[at] = h;
    if (plan_.is_last(l)) return;
    column(Column::a, l)[at] = h > 0 ? h : 0;
    column(Column::m, l)[at] = h > 0 ? 1 : 0;
  }

  void come_back(size_t l, uint64_t p) {
    const uint64_t n = plan_.width(l + 1), next = plan_.width(l + 2);
    const auto weights = column(Column::after, l + 1), gradients = column(Column::d, l + 1);
    const auto d = column(Column::d, l), m = column(Column::m, l);
    int64_t* q = run_.q[l].data() + p * n;
    if (plan_.windows[l + 1]) {
      const Window& window = *plan_.windows[l + 1];
      const uint64_t o = plan_.outputs(l + 1), k = uint64_t{1} << plan_.input_bits(l + 1);
      for (uint64_t spot = 0; spot < window.places(); ++spot)
        for (uint64_t x = 0; x + 1 < window.columns(); ++x) {
          const int64_t pixel = window.pixel(spot, x);
          if (pixel < 0) continue;
          for (uint64_t j = 0; j < o; ++j) q[pixel] += gradients[p * next + spot * o + j] * weights[j * k + x];
        }
    } else {
      for (uint64_t j = 0; j < next; ++j) {
        const int64_t by = gradients[p * next + j];
        if (by == 0) continue;
        for (uint64_t i = 0; i < n; ++i) q[i] += by * weights[j * n + i];
      }
    }
    for (uint64_t i = 0; i < n; ++i) d[p * n + i] = m[p * n + i] == 0 ? 0 : rounded(q[i]);
  }

  const ProofPlan& plan_;
  SegmentRun& run_;
  std::array<std::vector<std::span<int64_t>>, static_cast<size_t>(Column::helper)> columns_;
  std::vector<int64_t> exp_rows_;
};

void fill_start(const ProofPlan& plan, const SegmentStart& start, SegmentRun& run) {
  for (unsigned g = 0; g < kHelpers; ++g) run.groups[g].assign(plan.groups[g].chunks << plan.chunk_bits, 0);
  const auto features = run.column(plan, Column::features, 0), labels = run.column(plan, Column::labels, 0);
  const uint64_t inputs = plan.sizes[0], first = plan.width(0), last = plan.width(plan.links());
  for (uint64_t row = 0; row < plan.rows(); ++row) {
    for (uint64_t k = 0; k < inputs; ++k) features[row * first + k] = start.features[row * inputs + k];
    labels[row * last + static_cast<uint64_t>(start.labels[row])] = int64_t{1} << plan.activation;
  }
  for (size_t l = 0; l < plan.links(); ++l) {
    const auto before = run.column(plan, Column::before, l), after = run.column(plan, Column::after, l);
    const uint64_t n = plan.outputs(l), k = plan.inputs(l), width = uint64_t{1} << plan.input_bits(l);
    for (uint64_t i = 0; i < n; ++i)
      for (uint64_t x = 0; x < k; ++x) before[i * width + x] = start.weights[l][i * k + x];
    // They become those after the last step.
    std::copy(before.begin(), before.end(), after.begin());
  }
}

}  // namespace

void left_range(const std::string& what, size_t link, uint64_t step) {
  throw EngineError(ErrorCode::tensor_range, "no proof: " + what + " of link " + std::to_string(link) + " left its range in step " +
                                                 std::to_string(step) + " of the segment");
}

GroupNumber group_of(Column column) {
  switch (column) {
    case Column::features: return kFeatures;
    case Column::labels: return kLabels;
    case Column::before: return kBefore;
    case Column::after: return kAfter;
    case Column::helper:
    case Column::helper_back:
    case Column::bias_helper:
    case Column::weight_helper:
    case Column::table_helper:
    case Column::score_helper:
    case Column::inverse_helper:
    case Column::remainder_helper:
    case Column::rest_helper: return kHelpers;
    default: return kValues;
  }
}

std::span<int64_t> SegmentRun::column(const ProofPlan& plan, Column column, size_t of) {
  const GroupNumber group = group_of(column);
  const Block& block = plan.block(column, of);
  return std::span(groups[group]).subspan(block.at - (plan.groups[group].first_chunk << plan.chunk_bits), uint64_t{1} << block.bits);
}

CubeOrder cube_order(const uint8_t seed[32], uint32_t epoch, unsigned bits) {
  const PhiloxKey key = philox_key(seed);
  const auto word = [&](uint32_t i) { return philox4x32_10(key, i / 4, 0, epoch, kOrderStream).w[i % 4]; };
  CubeOrder order{std::vector<unsigned>(bits), 0};
  for (unsigned i = 0; i < bits; ++i) order.places[i] = i;
  uint32_t next = 0;
  for (unsigned i = bits; i-- > 1;) std::swap(order.places[i], order.places[word(next++) % (i + 1)]);
  order.mask = word(next) & ((uint64_t{1} << bits) - 1);
  return order;
}

SegmentPlace place_of_segment(const ProofPlan& plan, const uint8_t seed[32], uint32_t first_step) {
  const uint64_t first = uint64_t{first_step} << plan.batch_bits;
  return {cube_order(seed, static_cast<uint32_t>(first >> plan.row_bits), plan.row_bits), first & (plan.rows() - 1)};
}

SegmentRun run_segment(const ProofPlan& plan, const SegmentStart& start, const uint8_t seed[32], uint32_t first_step,
                       const std::atomic<bool>& stop) {
  SegmentRun run;
  fill_start(plan, start, run);
  SegmentPlace place = place_of_segment(plan, seed, first_step);
  run.first_place = place.first;
  run.order = std::move(place.order);
  Runner runner(plan, run);
  for (uint64_t step = 0; step < plan.steps(); ++step) {
    throw_if(stop);
    const uint64_t from = step << plan.batch_bits, to = from + plan.batch();
    for (size_t l = 0; l < plan.links(); ++l) runner.forth(l, from, to);
    for (size_t l = plan.links(); l-- > 0;) runner.back(l, from, to);
    for (size_t l = 0; l < plan.links(); ++l) runner.change(l, from, to);
  }
  for (size_t l = 0; l < plan.links(); ++l) {
    throw_if(stop);
    runner.add_rest(l);
    runner.count(l);
  }
  if (plan.is_softmax()) runner.add_softmax();
  return run;
}

}  // namespace assay::zk
