#include "cpu/work/map_plan.hpp"

#include <algorithm>

namespace assay {
namespace {

using namespace work;

// Lane arrays of a block that stay in L1 together.
constexpr uint64_t kLaneBytes = 48 << 10;
constexpr uint32_t kLeastBlock = 256, kMostBlock = 1024;

bool is_wide(const Interval& x) { return x.lo < INT32_MIN || x.hi > INT32_MAX; }

class Planner {
 public:
  Planner(const Op& op, const std::vector<Interval>& intervals, Phase phase, uint32_t k)
      : op_(op), code_(op.code), intervals_(intervals), is_init_(phase == Phase::init), k_(k), refs_(intervals.size()) {
    carried_at_ = static_cast<uint32_t>(code_.before.size());
    body_at_ = carried_at_ + static_cast<uint32_t>(code_.carried.size());
    after_at_ = body_at_ + static_cast<uint32_t>(code_.body.size());
    for (size_t n = 0; n < refs_.size(); ++n) refs_[n].wide = is_wide(intervals[n]);
  }

  MapPlan make() {
    find_uses();
    plan_.turns = code_.turns;
    plan_.may_settle = work::may_settle(code_);
    plan_.slots = MapPlan::kSpare;
    // What is the same for all elements has a place of its own for good.
    each([&](const Instruction& one, uint32_t number) {
      if (!is_needed_[number] || !is_uniform_[number]) return;
      refs_[number].slot = static_cast<uint16_t>(plan_.slots++);
      plan_.once.push_back(make_step(one, number));
    });
    run_section(code_.before, 0, plan_.before);
    for (size_t i = 0; i < code_.carried.size(); ++i) {
      const Carried& one = code_.carried[i];
      LaneRef& at = refs_[carried_at_ + i];
      at.slot = take();
      plan_.carried.push_back({refs_[one.from], {}, at, {take(), at.wide}, one.interval});
    }
    run_section(code_.body, body_at_, plan_.body);
    for (size_t i = 0; i < code_.carried.size(); ++i) plan_.carried[i].next = refs_[code_.carried[i].next];
    run_section(code_.after, after_at_, plan_.after);
    plan_.result = refs_.back();
    plan_.block = kMostBlock;
    while (plan_.block > kLeastBlock && uint64_t{plan_.block} * 8 * plan_.slots > kLaneBytes) plan_.block /= 2;
    return std::move(plan_);
  }

 private:
  template <typename F>
  void each(F f) const {
    for (uint32_t i = 0; i < code_.before.size(); ++i) f(code_.before[i], i);
    for (uint32_t i = 0; i < code_.body.size(); ++i) f(code_.body[i], body_at_ + i);
    for (uint32_t i = 0; i < code_.after.size(); ++i) f(code_.after[i], after_at_ + i);
  }
  // Which registers anything comes of, which are the same for all elements, and after which instruction each
  // is done with.
  void find_uses() {
    const auto count = static_cast<uint32_t>(refs_.size());
    is_uniform_.assign(count, false);
    is_needed_.assign(count, false);
    last_.assign(count, 0);
    each([&](const Instruction& one, uint32_t number) {
      bool uniform = one.code != Code::iota && one.code != Code::turn;
      for (const Place& place : one.place)
        for (const Term& term : place.terms) uniform &= term.of < kMostRank ? op_.dims[term.of] == 1 : term.of != kTurn;
      each_operand(one, [&](uint8_t reg) { uniform &= is_uniform_[reg]; });
      is_uniform_[number] = uniform;
    });
    const auto use = [&](uint32_t reg, uint32_t number) {
      is_needed_[reg] = true;
      // Each turn reads again what was there before the first.
      const bool is_kept = number >= body_at_ && number < after_at_ && reg < body_at_;
      last_[reg] = std::max(last_[reg], is_kept ? after_at_ - 1 : number);
    };
    use(count - 1, count);
    for (uint32_t i = 0; i < code_.carried.size(); ++i) {
      use(code_.carried[i].from, body_at_ - 1);
      use(code_.carried[i].next, after_at_ - 1);
      use(carried_at_ + i, after_at_ - 1);
    }
    std::vector<std::pair<const Instruction*, uint32_t>> all;
    each([&](const Instruction& one, uint32_t number) { all.emplace_back(&one, number); });
    for (auto it = all.rbegin(); it != all.rend(); ++it)
      if (is_needed_[it->second]) each_operand(*it->first, [&](uint8_t reg) { use(reg, it->second); });
  }

  void run_section(const std::vector<Instruction>& section, uint32_t first, std::vector<LaneStep>& into) {
    for (uint32_t i = 0; i < section.size(); ++i) {
      const uint32_t number = first + i;
      if (is_needed_[number] && !is_uniform_[number]) {
        refs_[number].slot = take();
        into.push_back(make_step(section[i], number));
      }
      give_back(number);
    }
  }
  uint16_t take() {
    if (free_.empty()) return static_cast<uint16_t>(plan_.slots++);
    const uint16_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  // The lane arrays that are done with after this instruction. None of its own output's: a loop never writes
  // what it reads.
  void give_back(uint32_t number) {
    for (uint32_t reg = 0; reg <= number; ++reg)
      if (last_[reg] == number && is_needed_[reg] && !is_uniform_[reg]) free_.push_back(refs_[reg].slot);
    if (code_.turns > 0 && number == after_at_ - 1)
      for (const auto& one : plan_.carried) free_.push_back(one.spare.slot);
  }

  LaneStep make_step(const Instruction& one, uint32_t number) {
    LaneStep step{one.code, {}, {}, {}, refs_[number], one.value, one.domain, 0, {}};
    const uint32_t operands = operand_count(one.code);
    if (operands > 0) step.a = step.b = step.c = refs_[one.a];
    if (operands > 1) step.b = step.c = refs_[one.b];
    if (operands > 2) step.c = refs_[one.c];
    if (one.code == Code::shl || one.code == Code::shr || one.code == Code::rsh) step.value = one.bits;
    if (one.code == Code::iota) step.ramp = ramp_of({Edge::inside, std::nullopt, 0, {{one.axis, 1}}}, 1);
    if (one.code == Code::load) {
      step.load = static_cast<uint32_t>(plan_.loads.size());
      plan_.loads.push_back(make_load(one, is_uniform_[number]));
    }
    return step;
  }

  // A place times `by`, without its register.
  Ramp ramp_of(const Place& place, uint64_t by) const {
    Ramp ramp;
    add_to(ramp, place, by);
    return ramp;
  }
  void add_to(Ramp& ramp, const Place& place, uint64_t by) const {
    if (ramp.axes.empty())
      for (const uint32_t dim : op_.dims) ramp.axes.push_back({dim, 0});
    ramp.constant += static_cast<uint64_t>(int64_t{place.constant}) * by;
    for (const Term& term : place.terms) {
      const uint64_t step = static_cast<uint64_t>(int64_t{term.times}) * by;
      (term.of == kSegment ? ramp.by_segment : term.of == kStep ? ramp.by_step : term.of == kTurn ? ramp.by_turn : ramp.axes[term.of].by) += step;
    }
  }
  static void join(Ramp& ramp) {
    std::vector<Ramp::Axis> joined;  // innermost first
    for (auto it = ramp.axes.rbegin(); it != ramp.axes.rend(); ++it) {
      if (it->dim == 1) continue;
      if (!joined.empty() && it->by == joined.back().by * joined.back().dim) joined.back().dim *= it->dim;
      else joined.push_back(*it);
    }
    if (joined.size() == 1 && joined[0].by == 0) joined.clear();
    ramp.axes.assign(joined.rbegin(), joined.rend());
  }

  // Never outside the axis, whatever the coordinates are. Sums of a checked place fit 64 bits.
  bool is_inside(const Place& place, uint32_t dim) const {
    __int128 lo = place.constant, hi = place.constant;
    if (place.reg) lo += intervals_[*place.reg].lo, hi += intervals_[*place.reg].hi;
    for (const Term& term : place.terms) {
      __int128 least = 0, most = 0;
      if (term.of < kMostRank) most = __int128{op_.dims[term.of]} - 1;
      else if (term.of == kTurn) most = code_.turns - 1;
      else if (!is_init_) least = term.of == kSegment ? 1 : 0, most = term.of == kSegment ? last_segment(k_) : k_ - 1;
      lo += std::min(term.times * least, term.times * most);
      hi += std::max(term.times * least, term.times * most);
    }
    return lo >= 0 && hi < dim;
  }

  // Long enough runs along the last axis, and no edge that is met in the middle of one.
  bool has_outer_edges(const LoadPlan& load) const {
    return op_.dims.back() >= 8 && std::ranges::all_of(load.axes, [](const auto& axis) {
             return !axis.reg && (axis.edge == Edge::inside || axis.ramp.axes.back().by == 0);
           });
  }

  LoadPlan make_load(const Instruction& one, bool is_uniform) {
    const Operand& operand = op_.operands[one.operand];
    LoadPlan load;
    load.operand = one.operand;
    load.type = operand.type;
    bool all_inside = true;
    for (size_t axis = 0; axis < one.place.size(); ++axis) all_inside &= is_inside(one.place[axis], operand.dims[axis]);
    uint64_t stride = element_count(operand.dims);
    for (size_t axis = 0; axis < one.place.size(); ++axis) {
      const Place& place = one.place[axis];
      stride /= operand.dims[axis];
      if (all_inside) {
        add_to(load.ramp, place, stride);
        if (place.reg) load.factors.push_back({refs_[*place.reg], stride});
        continue;
      }
      LoadPlan::Axis found{ramp_of(place, 1), {}, is_inside(place, operand.dims[axis]) ? Edge::inside : place.edge, operand.dims[axis], stride};
      if (place.reg) found.reg = refs_[*place.reg];
      load.axes.push_back(std::move(found));
    }
    // What is the same for all elements is worked out for a block of them, which the output may not have.
    if (!all_inside && !is_uniform && has_outer_edges(load)) {
      load.kind = LoadKind::outer_edges;
      for (size_t axis = 0; axis < one.place.size(); ++axis)
        if (load.axes[axis].edge == Edge::inside) add_to(load.ramp, one.place[axis], load.axes[axis].stride);
      if (load.ramp.axes.empty())
        for (const uint32_t dim : op_.dims) load.ramp.axes.push_back({dim, 0});
      std::erase_if(load.axes, [](const auto& axis) { return axis.edge == Edge::inside; });
      return load;
    }
    for (auto& axis : load.axes) join(axis.ramp);
    join(load.ramp);
    if (!all_inside) load.kind = LoadKind::edges;
    else if (!load.factors.empty()) {
      const bool is_table = load.factors.size() == 1 && load.factors[0].by == 1 && !load.factors[0].reg.wide && load.ramp.axes.empty();
      load.kind = is_table ? LoadKind::look_up : LoadKind::gather;
    }
    return load;
  }

  const Op& op_;
  const MapCode& code_;
  const std::vector<Interval>& intervals_;
  const bool is_init_;
  const uint32_t k_;
  uint32_t carried_at_, body_at_, after_at_;
  MapPlan plan_;
  std::vector<LaneRef> refs_;
  std::vector<bool> is_uniform_, is_needed_;
  std::vector<uint32_t> last_;
  std::vector<uint16_t> free_;
};

}  // namespace

MapPlan plan_map(const Op& op, const std::vector<Interval>& registers, Phase phase, uint32_t k) {
  return Planner(op, registers, phase, k).make();
}

}  // namespace assay
