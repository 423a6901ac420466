// See proof_plan.hpp.
#include "zk/proof_plan.hpp"

#include <algorithm>
#include <set>

#include "core/bn254.hpp"
#include "core/portable.hpp"
#include "engine_error.hpp"

namespace assay::zk {

namespace {

// Of plans with windows or softmax: K and the windows follow the sizes.
constexpr uint32_t kPlanVersion = 1, kWidePlanVersion = 2;
constexpr size_t kWindowWords = 6;
constexpr size_t kPlanHead = 16, kMostLinks = 64;
// Of all values together: beyond, commitments take hours and hundreds of gigabytes.
constexpr unsigned kMostBits = 30;

void need(bool is_right, const char* what) {
  if (!is_right) throw EngineError(ErrorCode::bad_request, std::string("the plan of the proof has ") + what);
}

struct Wanted {
  Column column;
  unsigned of, bits;
};
using WantedGroups = std::array<std::vector<Wanted>, kGroups>;

WantedGroups wanted_blocks(const ProofPlan& plan) {
  const unsigned links = static_cast<unsigned>(plan.links());
  std::vector<unsigned> units, inner, weights, tables;
  for (unsigned l = 0; l < links; ++l) {
    units.push_back(plan.place_bits() + plan.size_bits(l + 1));
    weights.push_back(plan.input_bits(l) + plan.output_bits(l));
    if (!plan.is_last(l)) inner.push_back(units.back());
  }
  for (const TableShape& table : plan.tables) tables.push_back(table.bits);
  WantedGroups groups;
  const auto add = [&](GroupNumber group, Column column, const std::vector<unsigned>& bits) {
    for (unsigned i = 0; i < bits.size(); ++i) groups[group].push_back({column, i, bits[i]});
  };
  add(kFeatures, Column::features, {plan.row_bits + plan.size_bits(0)});
  add(kLabels, Column::labels, {plan.row_bits + plan.size_bits(links)});
  add(kBefore, Column::before, weights);
  add(kAfter, Column::after, weights);
  add(kValues, Column::h, units);
  add(kValues, Column::a, inner);
  add(kValues, Column::m, inner);
  add(kValues, Column::d, units);
  add(kValues, Column::low, units);
  add(kValues, Column::low_back, inner);
  add(kValues, Column::limb0, weights);
  add(kValues, Column::limb1, weights);
  add(kValues, Column::multiplicity, tables);
  const auto add_softmax = [&](GroupNumber group, unsigned bits, std::initializer_list<Column> columns) {
    for (const Column column : columns)
      if (plan.is_softmax()) groups[group].push_back({column, links - 1, bits});
  };
  add_softmax(kValues, units.back(), {Column::exp, Column::top, Column::low_score});
  add_softmax(kValues, plan.place_bits(), {Column::peak, Column::inverse, Column::inverse0, Column::remainder0, Column::rest0});
  add(kHelpers, Column::helper, units);
  add(kHelpers, Column::helper_back, units);
  for (unsigned l = 0; l < links; ++l)
    if (plan.is_biased(l)) groups[kHelpers].push_back({Column::bias_helper, l, plan.place_bits()});
  add(kHelpers, Column::weight_helper, weights);
  add(kHelpers, Column::table_helper, tables);
  add_softmax(kHelpers, units.back(), {Column::score_helper});
  add_softmax(kHelpers, plan.place_bits(), {Column::inverse_helper, Column::remainder_helper, Column::rest_helper});
  return groups;
}

// Largest groups first, and in them the largest blocks, so that each stands at a multiple of its size.
void place_blocks(ProofPlan& plan) {
  WantedGroups groups = wanted_blocks(plan);
  std::array<unsigned, kGroups> order{kFeatures, kLabels, kBefore, kAfter, kValues, kHelpers};
  for (const unsigned g : order) {
    uint64_t total = 0;
    for (const Wanted& one : groups[g]) total += uint64_t{1} << one.bits;
    const uint64_t chunks = (total + plan.chunk() - 1) >> plan.chunk_bits;
    plan.groups[g] = {0, chunks, plan.chunk_bits + bits_for(chunks)};
    need(plan.groups[g].bits <= kMostBits, "too many values");
  }
  std::ranges::stable_sort(order, [&](unsigned a, unsigned b) { return plan.groups[a].bits > plan.groups[b].bits; });
  uint64_t end = 0;
  for (const unsigned g : order) {
    uint64_t at = end;
    plan.groups[g].first_chunk = at >> plan.chunk_bits;
    end += uint64_t{1} << plan.groups[g].bits;
    std::stable_sort(groups[g].begin(), groups[g].end(), [](const Wanted& a, const Wanted& b) { return a.bits > b.bits; });
    for (const Wanted& one : groups[g]) {
      plan.blocks[{one.column, one.of}] = {at, one.bits};
      at += uint64_t{1} << one.bits;
    }
  }
  plan.bits = bits_for(end);
  need(plan.bits <= kMostBits, "too many values");
}

// No sum of a run may leave 64 bits, whatever weights and data are given.
void check_widths(const ProofPlan& plan) {
  need(plan.h >= 2 && plan.h <= 16 && plan.d >= 2 && plan.d <= 20, "a width out of range");
  need(plan.scale >= 2 && plan.scale <= 36 && plan.activation < plan.h && plan.activation <= plan.gradient, "a scale out of range");
  need(plan.gradient - plan.activation <= 16, "a scale out of range");
  for (const unsigned bits : plan.limbs) need(bits >= 1 && bits <= 16, "a limb out of range");
  // A weight moves by less than 2^(h + d - 2) with each row. Where it moves by no more than half of what it
  // can be, it stays below 1.5 times that, and no sum comes near 2^63; else it could be twice as much.
  unsigned spots = 0;
  for (size_t l = 0; l < plan.links(); ++l) spots = std::max(spots, plan.spot_bits(l));
  const unsigned moves = plan.place_bits() + spots + plan.h + plan.d - 2, weight = std::max(plan.weight_bits(), moves) + 1;
  const unsigned most = moves < plan.weight_bits() ? 63 : 62;
  for (size_t l = 0; l < plan.sizes.size(); ++l)
    need(weight + std::max(plan.h, plan.d) - 1 + plan.size_bits(l) <= most, "sums that could leave 64 bits");
  // What enters a convolution, and what comes back from one to a number of its picture: from every column of
  // a patch, at most once a channel.
  for (size_t l = 0; l < plan.links(); ++l)
    if (plan.windows[l]) need(weight + std::max(plan.h, plan.d) - 1 + plan.input_bits(l) + plan.output_bits(l) <= most, "sums that could leave 64 bits");
}

// Units follow each other without gaps, each link takes what the one before it gives, and a picture lies
// within one piece of the last sum.
void check_windows(const ProofPlan& plan) {
  for (size_t l = 0; l < plan.links(); ++l) {
    if (!plan.windows[l]) continue;
    const Window& window = *plan.windows[l];
    need(!plan.is_last(l) && (l == 0 || plan.windows[l - 1]), "a convolution after a plain link");
    need(plan.sizes[l] == uint64_t{window.channels} * window.height * window.width, "a window over another picture");
    const uint64_t outputs = plan.outputs(l);
    need(outputs * plan.spots(l) == plan.sizes[l + 1] && outputs != 0 && (outputs & (outputs - 1)) == 0, "channels that are no power of two");
    need(plan.size_bits(l) <= std::min(plan.chunk_bits, 20U) && plan.size_bits(l + 1) <= std::min(plan.chunk_bits, 20U), "a picture that is larger than a chunk");
  }
  if (!plan.is_softmax()) return;
  need(plan.quotient > plan.gradient + 1 && plan.quotient <= 40 && plan.gradient >= 1 && plan.gradient <= 16, "a quotient out of range");
  need(plan.sum_parts().low <= 16 && plan.inverse_parts().low <= 16 && plan.gradient + 2 <= plan.d, "a quotient out of range");
}

void add_tables(ProofPlan& plan) {
  std::set<unsigned> ranges(plan.limbs.begin(), plan.limbs.end());
  ranges.insert({plan.low_bits, plan.scale - plan.low_bits});
  if (plan.is_softmax())
    for (const TwoParts parts : {plan.score_parts(), plan.inverse_parts(), plan.sum_parts()}) ranges.insert({parts.low, parts.high});
  for (const unsigned bits : ranges) plan.tables.push_back({TableShape::Kind::range, bits});
  plan.tables.push_back({TableShape::Kind::relu, plan.h});
  plan.tables.push_back({TableShape::Kind::sign, plan.h});
  plan.tables.push_back({TableShape::Kind::sign, plan.d});
  if (plan.is_softmax()) plan.tables.push_back({TableShape::Kind::exp, plan.h});
}

}  // namespace

unsigned bits_for(uint64_t n) {
  unsigned bits = 0;
  while ((uint64_t{1} << bits) < n) ++bits;
  return bits;
}

unsigned ProofPlan::range_table(unsigned of) const {
  for (unsigned i = 0; i < tables.size(); ++i)
    if (tables[i].kind == TableShape::Kind::range && tables[i].bits == of) return i;
  throw EngineError(ErrorCode::bad_request, "no range table of " + std::to_string(of) + " bits");
}

bool ProofPlan::is_plain() const {
  return !is_softmax() && std::ranges::none_of(windows, [](const auto& one) { return one.has_value(); });
}

// From row to row by one product, at 2^62: after 2^16 of them less than 2^-45 is lost, and no row is so near
// to a half.
std::vector<int64_t> ProofPlan::exp_rows() const {
  constexpr unsigned kScale = 62;
  uint64_t base = uint64_t{1} << kScale, term = base;
  for (uint64_t i = 1; term != 0; ++i) {
    term /= i << activation;
    base = i % 2 == 1 ? base - term : base + term;
  }
  std::vector<int64_t> rows;
  for (uint64_t value = uint64_t{1} << kScale; rows.size() < uint64_t{1} << h; value = static_cast<uint64_t>(static_cast<u128>(value) * base >> kScale))
    rows.push_back(static_cast<int64_t>(((value >> (kScale - 1 - gradient)) + 1) >> 1));
  return rows;
}

uint64_t ProofPlan::bytes() const {
  uint64_t numbers = 0, columns = 0;
  for (const Group& group : groups) numbers += group.chunks << chunk_bits;
  for (const auto& [name, block] : blocks) columns += uint64_t{1} << block.bits;
  for (size_t l = 0; l < links(); ++l) {
    numbers += 3 * (width(l) + width(l + 1)) * places();
    // Patches; the weights of every step, and as many scalars.
    if (windows[l]) numbers += ((places() << (spot_bits(l) + input_bits(l))) + (steps() << (input_bits(l) + output_bits(l)))) * 8;
  }
  // Of the first sum: columns and their kernels as scalars, half and a quarter of each while they are folded.
  // Of a chunk: powers, the room that a commitment takes, the lists of an opening. A tenth more than a card
  // was seen to take.
  return 8 * numbers + 56 * columns + (uint64_t{700} << chunk_bits);
}

ProofPlan read_proof_plan(std::span<const uint8_t> bytes) {
  need(bytes.size() % 4 == 0 && bytes.size() >= 4 * (kPlanHead + 2), "another length");
  const auto word = [&](size_t i) { return load_le32(bytes.data() + 4 * i); };
  const size_t links = word(kPlanHead - 1);
  const bool has_windows = word(0) == kWidePlanVersion;
  need(word(0) == kPlanVersion || has_windows, "another version");
  need(links >= 1 && links <= kMostLinks, "another length");
  need(bytes.size() == 4 * (kPlanHead + links + 1 + (has_windows ? 1 + kWindowWords * links : 0)), "another length");
  const auto small = [&](size_t i, uint32_t most) {
    need(word(i) <= most, "a number out of range");
    return static_cast<unsigned>(word(i));
  };
  ProofPlan plan{};
  plan.chunk_bits = small(1, 24);
  need(plan.chunk_bits >= 2 && plan.chunk_bits % 2 == 0, "an odd chunk");
  plan.step_bits = small(2, 16);
  plan.batch_bits = small(3, 16);
  plan.row_bits = small(4, 26);
  need(plan.place_bits() <= plan.row_bits, "segments longer than an epoch");
  plan.scale = small(5, 64);
  plan.low_bits = (plan.scale + 1) / 2;
  plan.h = small(6, 64);
  plan.d = small(7, 64);
  plan.activation = small(8, 64);
  plan.gradient = small(9, 64);
  for (size_t i = 0; i < 3; ++i) plan.limbs[i] = small(10 + i, 64);
  plan.is_dev = small(13, 1) != 0;
  plan.is_wide = small(14, 1) != 0;
  for (size_t i = 0; i <= links; ++i) {
    plan.sizes.push_back(small(kPlanHead + i, 1 << 16));
    need(plan.sizes.back() >= 1, "an empty layer");
  }
  plan.windows.resize(links);
  if (has_windows) {
    size_t at = kPlanHead + links + 1;
    plan.quotient = small(at++, 64);
    for (size_t l = 0; l < links; ++l, at += kWindowWords) {
      const Window window{small(at, 1 << 16), small(at + 1, 1 << 12), small(at + 2, 1 << 12), small(at + 3, 64), small(at + 4, 64), small(at + 5, 63)};
      if (window.channels == 0) continue;
      need(window.height > 0 && window.width > 0 && window.size > 0 && window.stride > 0 && window.pad < window.size, "a window out of range");
      need(std::min(window.height, window.width) + 2 * window.pad >= window.size, "a window that fits nowhere");
      plan.windows[l] = window;
    }
    need(!plan.is_plain(), "another version");
  }
  check_windows(plan);
  check_widths(plan);
  add_tables(plan);
  place_blocks(plan);
  return plan;
}

}  // namespace assay::zk
