#include "cpu/work/map_run.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace assay {
namespace {

using namespace work;
using assay_kernels::LaneKernels;

// Calls f(places before it, places, first value, step) for each run of a ramp over the block.
template <typename F>
void for_runs(const Ramp& ramp, uint64_t base, uint64_t first, uint32_t count, F f) {
  if (ramp.axes.empty()) return f(0u, count, base, uint64_t{0});
  uint64_t at[kMostRank], value = base, rest = first;
  for (size_t axis = ramp.axes.size(); axis-- > 0; rest /= ramp.axes[axis].dim) {
    at[axis] = rest % ramp.axes[axis].dim;
    value += at[axis] * ramp.axes[axis].by;
  }
  const size_t inner = ramp.axes.size() - 1;
  const auto [dim, by] = ramp.axes[inner];
  for (uint32_t done = 0; done < count;) {
    const auto run = static_cast<uint32_t>(std::min<uint64_t>(dim - at[inner], count - done));
    f(done, run, value, by);
    done += run;
    at[inner] += run;
    value += run * by;
    for (size_t axis = inner; at[axis] == ramp.axes[axis].dim && axis > 0; --axis) {
      value += ramp.axes[axis - 1].by - at[axis] * ramp.axes[axis].by;
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
}

// So seldom a loop is asked whether it has settled.
constexpr uint32_t kSettleTurns = 4;

class MapRun {
 public:
  MapRun(const MapPlan& plan, const LaneKernels& kernels, const Op& op, const void* const* operands, const Moment& moment)
      : plan_(plan), kernels_(kernels), op_(op), operands_(operands), moment_(moment), memory_(new int64_t[size_t{plan.slots} * plan.block]) {
    for (uint32_t slot = 0; slot < plan.slots; ++slot) lanes_.push_back(memory_.get() + size_t{slot} * plan.block);
    count_ = plan.block;
    run(plan.once);
  }

  void block(uint64_t first, uint32_t count, void* out) {
    first_ = first, count_ = count;
    run(plan_.before);
    if (plan_.turns > 0) {
      for (const auto& one : plan_.carried) set(one.from, one.interval, one.at);
      for (turn_ = 0; turn_ < plan_.turns; ++turn_) {
        run(plan_.body);
        // All of them from the same turn: one may be another's next.
        for (const auto& one : plan_.carried) set(one.next, one.interval, one.spare);
        if (plan_.may_settle && turn_ % kSettleTurns == 0 && is_settled()) break;
        for (const auto& one : plan_.carried) std::swap(lanes_[one.at.slot], lanes_[one.spare.slot]);
      }
      turn_ = 0;
      run(plan_.after);
    }
    kernels_.store[plan_.result.wide][static_cast<size_t>(op_.type)](lane(plan_.result), count,
                                                                      static_cast<uint8_t*>(out) + first * bytes_of(op_.type));
  }

 private:
  int64_t* lane(LaneRef ref) { return lanes_[ref.slot]; }
  // Nothing has changed in this turn.
  bool is_settled() {
    return std::ranges::all_of(plan_.carried, [&](const auto& one) {
      return std::memcmp(lane(one.at), lane(one.spare), size_t{count_} * (one.at.wide ? 8 : 4)) == 0;
    });
  }
  void set(LaneRef from, const Interval& interval, LaneRef to) {
    kernels_.within[from.wide][to.wide](lane(from), interval.lo, interval.hi, count_, lane(to));
  }
  void run(const std::vector<LaneStep>& steps) {
    for (const LaneStep& step : steps) run(step);
  }
  void fill(LaneRef to, int64_t value) { kernels_.ramp[to.wide](value, 0, count_, lane(to)); }

  void run(const LaneStep& step) {
    switch (step.code) {
      case Code::load: return load(plan_.loads[step.load], step.out);
      case Code::constant: return fill(step.out, step.value);
      case Code::iota: return ramp(step.ramp, step.out);
      case Code::segment: return fill(step.out, static_cast<int64_t>(moment_.segment));
      case Code::step: return fill(step.out, moment_.step);
      case Code::turn: return fill(step.out, turn_);
      case Code::rand:
        return kernels_.rand[step.a.wide](moment_.key.k0, moment_.key.k1, global_step(moment_.segment, moment_.step, moment_.k), step.domain,
                                          lane(step.a), count_, lane(step.out));
      default: return compute(step);
    }
  }

  // Operands of one width where the mix has no loop of its own.
  void compute(const LaneStep& step) {
    const auto& kernel = kernels_.op[static_cast<size_t>(step.code)];
    LaneRef a = step.a, b = step.b, c = step.c, out = step.out;
    uint32_t mix = a.wide + 2 * b.wide + 4 * out.wide;
    if (kernel[mix] == nullptr || b.wide != c.wide) {
      a = widened(a, 0), b = widened(b, 1), c = widened(c, 2);
      mix = 7;
      out = {out.wide ? out.slot : uint16_t{3}, true};
    }
    kernel[mix](lane(a), lane(b), lane(c), lane(out), count_, step.value);
    if (out.wide != step.out.wide) kernels_.store[1][static_cast<size_t>(Type::i32)](lane(out), count_, lane(step.out));
  }
  LaneRef widened(LaneRef ref, uint16_t spare) {
    if (ref.wide) return ref;
    kernels_.load[static_cast<size_t>(Type::i32)][1](lane(ref), 1, count_, lanes_[spare]);
    return {spare, true};
  }

  uint64_t base_of(const Ramp& ramp) const {
    return ramp.constant + ramp.by_segment * moment_.segment + ramp.by_step * moment_.step + ramp.by_turn * turn_;
  }
  void ramp(const Ramp& ramp, LaneRef to) {
    uint8_t* bytes = reinterpret_cast<uint8_t*>(lane(to));
    for_runs(ramp, base_of(ramp), first_, count_, [&](uint32_t done, uint32_t run, uint64_t value, uint64_t by) {
      kernels_.ramp[to.wide](static_cast<int64_t>(value), static_cast<int64_t>(by), run, bytes + done * (to.wide ? 8 : 4));
    });
  }

  void load(const LoadPlan& load, LaneRef out) {
    const auto type = static_cast<size_t>(load.type);
    const uint32_t size = bytes_of(load.type);
    const uint8_t* from = static_cast<const uint8_t*>(operands_[load.operand]);
    uint8_t* to = reinterpret_cast<uint8_t*>(lane(out));
    switch (load.kind) {
      case LoadKind::direct:
        for_runs(load.ramp, base_of(load.ramp), first_, count_, [&](uint32_t done, uint32_t run, uint64_t value, uint64_t by) {
          kernels_.load[type][out.wide](from + value * size, static_cast<int64_t>(by), run, to + done * (out.wide ? 8 : 4));
        });
        return;
      case LoadKind::look_up:
        kernels_.look_up[type][out.wide](from, static_cast<int64_t>(base_of(load.ramp)), reinterpret_cast<const int32_t*>(lane(load.factors[0].reg)),
                                         count_, to);
        return;
      case LoadKind::gather:
        ramp(load.ramp, {0, true});
        for (const auto& factor : load.factors) add(lanes_[0], factor.reg, factor.by);
        break;
      case LoadKind::outer_edges: return load_runs(load, out);
      case LoadKind::edges: find_with_edges(load); break;
    }
    kernels_.gather[type][out.wide](from, lanes_[0], count_, to);
  }

  // A run along the output's last axis is read as one, or is zero as one.
  void load_runs(const LoadPlan& load, LaneRef out) {
    const auto& axes = load.ramp.axes;
    const size_t inner = axes.size() - 1;
    uint64_t at[kMostRank], rest = first_;
    for (size_t axis = axes.size(); axis-- > 0; rest /= axes[axis].dim) at[axis] = rest % axes[axis].dim;
    const auto value_of = [&](const Ramp& ramp) {
      uint64_t value = base_of(ramp);
      for (size_t axis = 0; axis < axes.size(); ++axis) value += at[axis] * ramp.axes[axis].by;
      return value;
    };
    for (uint32_t done = 0; done < count_;) {
      const auto run = static_cast<uint32_t>(std::min<uint64_t>(axes[inner].dim - at[inner], count_ - done));
      uint64_t index = value_of(load.ramp);
      bool is_zero = false;
      for (const auto& axis : load.axes) {
        auto p = static_cast<int64_t>(value_of(axis.ramp));
        if (p < 0 || p >= axis.dim) {
          if (axis.edge == Edge::zero) is_zero = true;
          p = axis.edge == Edge::wrap ? (p % axis.dim + axis.dim) % axis.dim : p < 0 ? 0 : axis.dim - 1;
        }
        index += static_cast<uint64_t>(p) * axis.stride;
      }
      uint8_t* to = reinterpret_cast<uint8_t*>(lane(out)) + done * (out.wide ? 8 : 4);
      if (is_zero) kernels_.ramp[out.wide](0, 0, run, to);
      else
        kernels_.load[static_cast<size_t>(load.type)][out.wide](static_cast<const uint8_t*>(operands_[load.operand]) + index * bytes_of(load.type),
                                                                static_cast<int64_t>(axes[inner].by), run, to);
      done += run;
      at[inner] += run;
      for (size_t axis = inner; axis > 0 && at[axis] == axes[axis].dim; --axis) at[axis] = 0, ++at[axis - 1];
    }
  }

  void add(int64_t* to, LaneRef reg, uint64_t by) {
    const auto each = [&](const auto* from) {
      for (uint32_t i = 0; i < count_; ++i)
        to[i] = static_cast<int64_t>(static_cast<uint64_t>(to[i]) + static_cast<uint64_t>(int64_t{from[i]}) * by);
    };
    if (reg.wide) each(lane(reg));
    else each(reinterpret_cast<const int32_t*>(lane(reg)));
  }

  // The flat index into lane array 0; −1 where an edge says zero.
  void find_with_edges(const LoadPlan& load) {
    int64_t *index = lanes_[0], *at = lanes_[1], *outside = lanes_[2];
    std::fill_n(index, count_, 0);
    std::fill_n(outside, count_, 0);
    for (const auto& axis : load.axes) {
      const int64_t dim = axis.dim;
      ramp(axis.ramp, {1, true});
      if (axis.reg) add(at, *axis.reg, 1);
      if (axis.edge == Edge::zero) {
        for (uint32_t i = 0; i < count_; ++i) {
          const bool is_out = static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(dim);
          outside[i] |= -int64_t{is_out};
          at[i] = is_out ? 0 : at[i];
        }
      } else if (axis.edge == Edge::clamp) {
        for (uint32_t i = 0; i < count_; ++i) at[i] = std::min(std::max<int64_t>(at[i], 0), dim - 1);
      } else if (axis.edge == Edge::wrap) {
        for (uint32_t i = 0; i < count_; ++i)
          if (static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(dim)) at[i] = (at[i] % dim + dim) % dim;
      }
      for (uint32_t i = 0; i < count_; ++i) index[i] = index[i] * dim + at[i];
    }
    for (uint32_t i = 0; i < count_; ++i) index[i] |= outside[i];
  }

  const MapPlan& plan_;
  const LaneKernels& kernels_;
  const Op& op_;
  const void* const* operands_;
  const Moment& moment_;
  std::unique_ptr<int64_t[]> memory_;
  std::vector<int64_t*> lanes_;
  uint64_t first_ = 0;
  uint32_t count_ = 0, turn_ = 0;
};

}  // namespace

void run_planned_map(const MapPlan& plan, const LaneKernels& kernels, const Op& op, const void* const* operands, void* out, const Moment& moment,
                     Part part) {
  MapRun run(plan, kernels, op, operands, moment);
  for (uint64_t first = part.first; first < part.end; first += plan.block)
    run.block(first, static_cast<uint32_t>(std::min<uint64_t>(plan.block, part.end - first)), out);
}

}  // namespace assay
