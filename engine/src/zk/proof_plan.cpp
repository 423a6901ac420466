// See proof_plan.hpp.
#include "zk/proof_plan.hpp"

#include <algorithm>
#include <set>

#include "core/portable.hpp"
#include "engine_error.hpp"

namespace assay::zk {

namespace {

constexpr uint32_t kPlanVersion = 1;
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
  std::vector<unsigned> units, inner, weights, tables, places;
  for (unsigned l = 0; l < links; ++l) {
    units.push_back(plan.place_bits() + plan.size_bits(l + 1));
    weights.push_back(plan.size_bits(l) + plan.size_bits(l + 1));
    if (!plan.is_last(l)) {
      inner.push_back(units.back());
      places.push_back(plan.place_bits());
    }
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
  add(kHelpers, Column::helper, units);
  add(kHelpers, Column::helper_back, units);
  add(kHelpers, Column::bias_helper, places);
  add(kHelpers, Column::weight_helper, weights);
  add(kHelpers, Column::table_helper, tables);
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
  // A weight moves by less than 2^(h + d - 2) with each row. Where it moves by no more than half of what it can be, it stays below 1.5 times that, and no sum
  // comes near 2^63; else it could be twice as much.
  const unsigned moves = plan.place_bits() + plan.h + plan.d - 2, weight = std::max(plan.weight_bits(), moves) + 1;
  const unsigned most = moves < plan.weight_bits() ? 63 : 62;
  for (size_t l = 0; l < plan.sizes.size(); ++l)
    need(weight + std::max(plan.h, plan.d) - 1 + plan.size_bits(l) <= most, "sums that could leave 64 bits");
}

void add_tables(ProofPlan& plan) {
  std::set<unsigned> ranges(plan.limbs.begin(), plan.limbs.end());
  ranges.insert({plan.low_bits, plan.scale - plan.low_bits});
  for (const unsigned bits : ranges) plan.tables.push_back({TableShape::Kind::range, bits});
  plan.tables.push_back({TableShape::Kind::relu, plan.h});
  plan.tables.push_back({TableShape::Kind::sign, plan.h});
  plan.tables.push_back({TableShape::Kind::sign, plan.d});
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

uint64_t ProofPlan::bytes() const {
  uint64_t numbers = 0, columns = 0;
  for (const Group& group : groups) numbers += group.chunks << chunk_bits;
  for (const auto& [name, block] : blocks) columns += uint64_t{1} << block.bits;
  for (size_t l = 0; l < links(); ++l) numbers += 3 * (width(l) + width(l + 1)) * places();
  // Of the first sum: columns and their kernels as scalars, half and a quarter of each while they are folded. Of a chunk: powers, the room that a commitment
  // takes, the lists of an opening. A tenth more than a card was seen to take.
  return 8 * numbers + 56 * columns + (uint64_t{700} << chunk_bits);
}

ProofPlan read_proof_plan(std::span<const uint8_t> bytes) {
  need(bytes.size() % 4 == 0 && bytes.size() >= 4 * (kPlanHead + 2), "another length");
  const auto word = [&](size_t i) { return load_le32(bytes.data() + 4 * i); };
  const size_t links = word(kPlanHead - 1);
  need(word(0) == kPlanVersion, "another version");
  need(links >= 1 && links <= kMostLinks && bytes.size() == 4 * (kPlanHead + links + 1), "another length");
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
  check_widths(plan);
  add_tables(plan);
  place_blocks(plan);
  return plan;
}

}  // namespace assay::zk
