#include "cuda/work/fuse.hpp"

#include <algorithm>
#include <map>

#include "cuda/work/grouping.hpp"
#include "cuda/work/work_shape.hpp"

namespace assay::cuda {
namespace {

using namespace work;

using SourceKey = std::pair<uint8_t, uint16_t>;
SourceKey key_of(const Operand& operand) { return {static_cast<uint8_t>(operand.source), operand.index}; }
// No step changes it.
bool is_given(const Operand& operand) { return operand.source == Source::input || operand.source == Source::constant; }

// An operand as it is, for a sum over what lies in memory.
LoadedOp loaded(const Operand& operand, const Interval& interval) {
  Instruction one{};
  one.code = Code::load;
  for (uint8_t axis = 0; axis < operand.dims.size(); ++axis) one.place.push_back({Edge::inside, std::nullopt, 0, {{axis, 1}}});
  Op op{Operator::map, operand.type, operand.dims, interval, std::nullopt, {operand}, Reduction::sum, {}};
  op.code.before.push_back(std::move(one));
  return {std::move(op), {interval}};
}

class Placing {
 public:
  Placing(const CheckedProgram& checked, Phase phase, const MemoryPlan& plan, const FuseOptions& options)
      : program_(checked.program), checked_(checked), phase_(phase), plan_(plan), options_(options), ops_(checked.program.ops(phase)),
        arena_(plan.free), values_(ops_.size()), readers_(ops_.size()) {
    for (uint32_t n = 0; n < ops_.size(); ++n)
      for (const Operand& operand : ops_[n].operands)
        if (operand.source == Source::op) readers_[operand.index].push_back(n);
  }
  FusedPhase place(const Grouping& grouping);

 private:
  struct Kept {
    bool elements = false, planes = false, in_arena = false;
    Address at = 0;
    Planes bytes;
    uint32_t packed = 0;  // packed_bytes
    size_t last = 0, last_planes = 0;  // the groups after which nobody reads it
  };
  bool is_product(const Op& op) const { return options_.tensor_cores && wants_tensor_cores(op) && !(options_.thin && is_thin(op)); }
  PlaneLayout layout_of(const Operand& operand) const;
  bool can_store_planes(uint32_t op) const;
  bool can_pack(uint32_t op, const std::vector<uint32_t>& group) const;
  void find_needs(const std::vector<std::vector<uint32_t>>& groups);
  void need(size_t g, const Operand& operand, bool as_planes);
  void take(uint32_t op);
  Address address_of(const Operand& operand) const;
  Group kernel_group(const std::vector<uint32_t>& ops, uint32_t width);
  Group single_group(uint32_t op);
  Planes planes_for(Group& group, const Operand& operand);
  void keep_planes(FusedPhase& fused);

  const Program& program_;
  const CheckedProgram& checked_;
  const Phase phase_;
  const MemoryPlan& plan_;
  const FuseOptions& options_;
  const std::vector<Op>& ops_;
  Arena arena_;
  std::vector<Kept> values_;
  std::vector<std::vector<uint32_t>> readers_;  // by op
  std::vector<size_t> group_of_;
  // By source and pitch: the last group that reads these planes.
  std::map<std::pair<SourceKey, uint64_t>, size_t> split_last_;
  std::map<std::pair<SourceKey, uint64_t>, Planes> splits_;
};

PlaneLayout Placing::layout_of(const Operand& operand) const {
  return plane_layout(operand_interval(program_, phase_, operand), element_count(operand.dims), operand.dims[2]);
}

// Every product that reads it sees rows of one pitch.
bool Placing::can_store_planes(uint32_t op) const {
  uint64_t pitch = 0;
  if (!Grouping::can_be_kernel(ops_[op]) || ops_[op].op != Operator::map) return false;
  for (const uint32_t reader : readers_[op])
    for (const Operand& operand : ops_[reader].operands) {
      if (operand.source != Source::op || operand.index != op || !is_product(ops_[reader])) continue;
      const PlaneLayout layout = layout_of(operand);
      const uint64_t mine = layout.pitch == layout.k ? 1 : layout.k;
      if (pitch != 0 && pitch != mine) return false;
      pitch = mine;
    }
  return true;
}

// Only kernels read it, and what makes it can store it so.
bool Placing::can_pack(uint32_t n, const std::vector<uint32_t>& group) const {
  const Op& op = ops_[n];
  if (!options_.packs || !options_.fuses || op.type != Type::i64 || op.target || !values_[n].elements || count_of(op) > INT32_MAX / 8) return false;
  for (const uint32_t reader : readers_[n])
    if (!Grouping::can_be_kernel(ops_[reader]) || ops_[reader].code.turns > 0) return false;
  if (Grouping::can_be_kernel(ops_[group[0]])) return op.op == Operator::map && op.code.turns == 0 && count_of(op) >= options_.fewest_reals && op.dims.back() % 4 == 0;
  if (group.size() > 1 || !is_product(op)) return false;
  const uint64_t tiles = uint64_t{op.dims[0]} * ((op.dims[1] + 127) / 128) * ((op.dims[2] + 127) / 128);
  if (op.dims[2] % 32 != 0 || op.operands[0].dims[2] > 4096 || tiles < options_.fewest_tiles / 4) return false;
  return packed_bytes(op.interval) == 1 && layout_of(op.operands[0]).count == 2 && layout_of(op.operands[1]).count <= 2;
}

void Placing::need(size_t g, const Operand& operand, bool as_planes) {
  const bool is_op = operand.source == Source::op;
  if (is_op && group_of_[operand.index] == g) return;
  if (as_planes) {
    const PlaneLayout layout = layout_of(operand);
    if (!is_plane_itself(layout, operand.type)) {
      if (is_op && can_store_planes(operand.index)) {
        values_[operand.index].planes = true;
        values_[operand.index].bytes.layout = layout;
        values_[operand.index].last_planes = g;
        return;
      }
      if (!is_given(operand)) split_last_[{key_of(operand), layout.pitch == layout.k ? 0 : layout.k}] = g;
    }
  }
  if (!is_op) return;
  values_[operand.index].elements = true;
  values_[operand.index].last = g;
}

void Placing::find_needs(const std::vector<std::vector<uint32_t>>& groups) {
  group_of_.resize(ops_.size());
  for (size_t g = 0; g < groups.size(); ++g)
    for (const uint32_t op : groups[g]) group_of_[op] = g, values_[op].last = values_[op].last_planes = g;
  for (size_t g = 0; g < groups.size(); ++g)
    for (const uint32_t n : groups[g]) {
      const bool alone = !Grouping::can_be_kernel(ops_[n]) && groups[g].size() == 1;
      if (ops_[n].target || alone || !options_.fuses) values_[n].elements = true;
      for (const Operand& operand : ops_[n].operands) need(g, operand, is_product(ops_[n]));
    }
  for (const auto& group : groups)
    for (const uint32_t n : group)
      if (can_pack(n, group)) values_[n].packed = packed_bytes(ops_[n].interval);
}

// Room for what an op leaves.
void Placing::take(uint32_t n) {
  Kept& kept = values_[n];
  const Op& op = ops_[n];
  const OpPlan& own = plan_.ops(phase_)[n];
  if (op.target && !own.copies_to_target) kept.at = plan_.tensors[*op.target];
  else if (kept.elements) {
    kept.at = arena_.take(place_bytes(count_of(op) * bytes_of(op.type)));
    kept.in_arena = true;
  }
  if (kept.planes) kept.bytes.at = arena_.take(place_bytes(kept.bytes.layout.count * kept.bytes.layout.plane_bytes));
}

Address Placing::address_of(const Operand& operand) const {
  if (operand.source != Source::op) return plan_.tensors[operand.index];
  const Op& from = ops_[operand.index];
  return plan_.ops(phase_)[operand.index].copies_to_target ? plan_.tensors[*from.target] : values_[operand.index].at;
}

Group Placing::kernel_group(const std::vector<uint32_t>& ops, uint32_t width) {
  Group group;
  group.ops = ops;
  group.is_kernel = true;
  group.kernel.width = width;
  const auto pointer = [&](Address at) {
    group.pointers.push_back(at);
    return group.kernel.pointers++;
  };
  std::map<SourceKey, uint32_t> known;
  std::map<uint32_t, int> places;  // of ops in the kernel
  for (const uint32_t n : ops) {
    const Op& op = ops_[n];
    const uint64_t whole = op.op == Operator::reduce ? element_count(op.operands[0].dims) : count_of(op);
    group.kernel.count = std::max(group.kernel.count, whole);
    KernelOp one{&op, &checked_.registers(phase_, n), false, {}, -1, -1, {}};
    for (const Operand& operand : op.operands) {
      if (op.op == Operator::matmul) continue;  // its planes are not the kernel's pointers
      if (operand.source == Source::op && places.contains(operand.index)) {
        one.from.push_back({places.at(operand.index), 0});
        continue;
      }
      const auto [found, is_new] = known.insert({key_of(operand), 0});
      if (is_new) found->second = pointer(address_of(operand));
      one.from.push_back({-1, found->second, operand.source == Source::op ? values_[operand.index].packed : 0});
    }
    if (op.op == Operator::reduce && one.from[0].op < 0) {
      const auto& same = group.loads.emplace_back(std::make_shared<LoadedOp>(loaded(op.operands[0], operand_interval(program_, phase_, op.operands[0]))));
      group.kernel.ops.push_back({&same->op, &same->intervals, false, one.from, -1, -1, {}});
      one.from[0] = {static_cast<int>(group.kernel.ops.size()) - 1, 0};
    }
    places[n] = static_cast<int>(group.kernel.ops.size());
    const Kept& kept = values_[n];
    if (kept.elements) one.elements = static_cast<int>(pointer(kept.at));
    one.packed = kept.packed;
    if (kept.planes) {
      one.planes = static_cast<int>(pointer(kept.bytes.at));
      one.layout = kept.bytes.layout;
    }
    group.kernel.ops.push_back(std::move(one));
  }
  group.kernel.uses_reals = options_.uses_reals && group.kernel.count >= options_.fewest_reals;
  group.kernel.has_doubles = options_.uses_reals;
  // In place, with all of it as it was a step before.
  const bool is_in_place = ops.size() == 1 && options_.fuses && phase_ == Phase::step && !values_[ops[0]].planes && !values_[ops[0]].in_arena;
  if (is_in_place) group.kernel.step_axis = step_axis(ops_[ops[0]], program_.k);
  for (KernelOp& one : group.kernel.ops) one.is_row = width != 0 && (one.op->op == Operator::reduce || count_of(*one.op) != group.kernel.count);
  return group;
}

Planes Placing::planes_for(Group& group, const Operand& operand) {
  const PlaneLayout layout = layout_of(operand);
  if (is_plane_itself(layout, operand.type)) return {address_of(operand), layout};
  if (operand.source == Source::op && values_[operand.index].planes) return {values_[operand.index].bytes.at, layout};
  const auto [found, is_new] = splits_.insert({{key_of(operand), layout.pitch == layout.k ? 0 : layout.k}, {0, layout}});
  if (is_new) {
    found->second.at = arena_.take(place_bytes(layout.count * layout.plane_bytes));
    group.splits.push_back({address_of(operand), operand.type, element_count(operand.dims), {found->second.at, layout}});
  }
  return {found->second.at, layout};
}

// Before all else: what is kept from step to step shares its place with nothing.
void Placing::keep_planes(FusedPhase& fused) {
  Group made;
  for (const Op& op : ops_)
    for (const Operand& operand : op.operands)
      if (is_product(op) && is_given(operand)) planes_for(made, operand);
  fused.kept = std::move(made.splits);
}

Group Placing::single_group(uint32_t n) {
  const Op& op = ops_[n];
  Group group;
  group.ops = {n};
  const bool product = is_product(op);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    group.operands.push_back(op.operands[i].source == Source::op && !values_[op.operands[i].index].elements ? 0 : address_of(op.operands[i]));
    if (product) group.planes[i] = planes_for(group, op.operands[i]);
  }
  group.out = values_[n].at;
  group.packs = values_[n].packed != 0;
  return group;
}

FusedPhase Placing::place(const Grouping& grouping) {
  const auto groups = grouping.groups();
  find_needs(groups);
  FusedPhase fused;
  keep_planes(fused);
  std::vector<std::vector<uint32_t>> dying(groups.size()), dying_planes(groups.size());
  for (uint32_t n = 0; n < ops_.size(); ++n) dying[values_[n].last].push_back(n), dying_planes[values_[n].last_planes].push_back(n);
  std::vector<std::vector<std::pair<SourceKey, uint64_t>>> dying_splits(groups.size());
  for (const auto& [key, last] : split_last_) dying_splits[last].push_back(key);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const uint32_t n : groups[g]) take(n);
    const bool is_kernel = Grouping::can_be_kernel(ops_[groups[g][0]]);
    Group group = is_kernel ? kernel_group(groups[g], grouping.width_of(groups[g])) : single_group(groups[g][0]);
    if (groups[g].size() > 1 && !is_kernel) {
      Group maps = kernel_group(groups[g], 0);
      group.ops = maps.ops, group.kernel = maps.kernel, group.pointers = maps.pointers;
    }
    for (const uint32_t n : groups[g])
      if (plan_.ops(phase_)[n].copies_to_target)
        group.copies.push_back({values_[n].at, plan_.tensors[*ops_[n].target], count_of(ops_[n]) * bytes_of(ops_[n].type)});
    fused.groups.push_back(std::move(group));
    for (const uint32_t n : dying[g])
      if (values_[n].in_arena) arena_.give_back(values_[n].at, place_bytes(count_of(ops_[n]) * bytes_of(ops_[n].type)));
    for (const uint32_t n : dying_planes[g])
      if (values_[n].planes) arena_.give_back(values_[n].bytes.at, place_bytes(values_[n].bytes.layout.count * values_[n].bytes.layout.plane_bytes));
    for (const auto& key : dying_splits[g]) {
      const Planes& planes = splits_.at(key);
      arena_.give_back(planes.at, place_bytes(planes.layout.count * planes.layout.plane_bytes));
    }
  }
  fused.peak = arena_.peak();
  return fused;
}

}  // namespace

Interval operand_interval(const Program& program, Phase phase, const Operand& operand) {
  return operand.source == Source::op ? program.ops(phase)[operand.index].interval : program.tensors[operand.index].interval;
}

bool wants_tensor_cores(const Op& op) {
  return op.op == Operator::matmul && element_count(op.dims) * op.operands[0].dims[2] >= (1u << 21);
}

bool is_thin(const Op& op) {
  if (op.op != Operator::matmul || op.dims[1] > kMostThinRows || op.dims[0] > 8192 || op.type < Type::i32) return false;
  const Operand &a = op.operands[0], &b = op.operands[1];
  return a.type == Type::i16 && b.type <= Type::i16 && a.dims[2] % 16 == 0 && a.dims[2] <= 32768;
}

PlaneLayout plane_layout(const Interval& interval, uint64_t count, uint64_t k) {
  uint32_t planes = 1;
  while (planes < 4 && (interval.lo < -(int64_t{1} << (8 * planes - 1)) || interval.hi >= int64_t{1} << (8 * planes - 1))) ++planes;
  const uint64_t pitch = (k + 15) / 16 * 16;
  return {planes, k, pitch, place_bytes(count / k * pitch)};
}

namespace {

// One launch of limb_text makes it, with tiles enough for all multiprocessors.
bool gives_pairs(const Program& program, Phase phase, const Op& op, const FuseOptions& options) {
  if (!options.on_sums || !options.tensor_cores || !wants_tensor_cores(op) || op.target || (options.thin && is_thin(op))) return false;
  const uint64_t tiles = uint64_t{op.dims[0]} * ((op.dims[1] + 127) / 128) * ((op.dims[2] + 127) / 128);
  for (const Operand& operand : op.operands)
    if (plane_layout(operand_interval(program, phase, operand), element_count(operand.dims), operand.dims[2]).count != 2) return false;
  return op.dims[2] % 2 == 0 && op.dims[2] > 64 && op.operands[0].dims[2] <= 32768 && tiles >= options.fewest_tiles;
}

}  // namespace

FusedPhase fuse(const CheckedProgram& checked, Phase phase, const MemoryPlan& plan, const FuseOptions& options) {
  std::vector<bool> pairs;
  for (const Op& op : checked.program.ops(phase)) pairs.push_back(options.fuses && gives_pairs(checked.program, phase, op, options));
  const Grouping grouping(checked, phase, options.fuses, std::move(pairs));
  return Placing(checked, phase, plan, options).place(grouping);
}

}  // namespace assay::cuda
