// A `map` made ready for the host's cores, docs/work.md §3: which registers need 64 bits, which are the same
// for every element and computed once, which share a lane array, and how each load walks its operand. Worked
// out once a program; map_run.cpp runs it.
#pragma once
#include "cpu/kernels.hpp"
#include "work/program.hpp"

namespace assay {

// A register's lane array.
struct LaneRef {
  uint16_t slot = 0;
  bool wide = false;
};

// A number that is affine in the output's coordinates: runs of equal steps, outermost axis first, neighbours
// joined where they can be.
struct Ramp {
  struct Axis {
    uint64_t dim, by;
  };
  std::vector<Axis> axes;
  // Modulo 2^64: only the whole sum must fit.
  uint64_t constant = 0, by_segment = 0, by_step = 0, by_turn = 0;
};

// outer_edges: those edges that may be met do not change along the output's last axis.
enum class LoadKind : uint8_t { direct, look_up, gather, outer_edges, edges };
struct LoadPlan {
  struct Factor {
    LaneRef reg;
    uint64_t by;
  };
  struct Axis {
    Ramp ramp;
    std::optional<LaneRef> reg;
    work::Edge edge;  // inside, where that is proven
    int64_t dim;
    uint64_t stride;
  };
  LoadKind kind = LoadKind::direct;
  uint8_t operand = 0;
  work::Type type{};
  // Of the flat index, where no edge is met; of the axes that meet none, and by every axis of the output, for
  // outer_edges.
  Ramp ramp;
  std::vector<Factor> factors;
  std::vector<Axis> axes;  // kind edges: all; outer_edges: those that may meet one
};

struct LaneStep {
  work::Code code;
  LaneRef a, b, c, out;
  int64_t value = 0;  // of a constant; bits of a shift
  uint32_t domain = 0;
  uint32_t load = 0;
  Ramp ramp;  // of iota
};

struct MapPlan {
  struct Carried {
    LaneRef from, next, at, spare;
    work::Interval interval;
  };
  uint32_t slots = 0, block = 0;
  uint16_t turns = 0;
  bool may_settle = false;  // its loop may end early
  std::vector<LaneStep> once, before, body, after;
  std::vector<Carried> carried;
  std::vector<LoadPlan> loads;
  LaneRef result;
  // Slots that hold an operand or the output in another width for one instruction.
  static constexpr uint32_t kSpare = 4;
};

MapPlan plan_map(const work::Op& op, const std::vector<work::Interval>& registers, work::Phase phase, uint32_t k);

}  // namespace assay
