// Fused phases without a card: random programs of many ops, planned with everything on and off, are gone
// through kernel by kernel. What a kernel reads must lie where the plan says and be what the program says;
// what it writes must not lie on what it or a later one still reads; and in the end every tensor holds its
// writer's output. That kernels compute the right thing is programs_equal_cuda's. Usage: fuse_test [cases]
#include <map>
#include <tuple>

#include "kit/check.hpp"
#include "cuda/work/fuse.hpp"
#include "kit/random_chains.hpp"

using namespace assay::cuda;
using namespace assay_test;

namespace {

// What lies at an address: a tensor as the step began, an op's output, or the planes of either.
using Content = std::tuple<bool, uint8_t, uint16_t>;
Content content_of(const Operand& operand, bool planes = false) { return {planes, static_cast<uint8_t>(operand.source), operand.index}; }
Content content_of_op(uint16_t op, bool planes = false) { return {planes, static_cast<uint8_t>(Source::op), op}; }

class Memory {
 public:
  void put(Address at, uint64_t bytes, const Content& what) {
    for (auto it = held_.begin(); it != held_.end();) {
      if (it->first < at + bytes && at < it->first + it->second.first) it = held_.erase(it);
      else ++it;
    }
    held_[at] = {bytes, what};
  }
  bool has(Address at, const Content& what) const {
    const auto found = held_.find(at);
    return found != held_.end() && found->second.second == what;
  }
  uint64_t bytes_at(Address at) const { return held_.at(at).first; }

 private:
  std::map<Address, std::pair<uint64_t, Content>> held_;
};

class Walk {
 public:
  Walk(const CheckedProgram& checked, const MemoryPlan& plan, const FusedPhase& fused, std::string name)
      : ops_(checked.program.step), program_(checked.program), plan_(plan), fused_(fused), name_(std::move(name)) {}

  void go() {
    for (uint16_t i = 0; i < program_.tensors.size(); ++i) {
      const Tensor& tensor = program_.tensors[i];
      static constexpr Source kSources[] = {Source::constant, Source::input, Source::state, Source::scratch, Source::state, Source::state};
      memory_.put(plan_.tensors[i], element_count(tensor.dims) * bytes_of(tensor.type), {false, static_cast<uint8_t>(kSources[static_cast<size_t>(tensor.kind)]), i});
    }
    for (const Split& split : fused_.kept) keep(split);
    std::vector<int> seen(ops_.size(), 0);
    for (const Group& group : fused_.groups) {
      for (const uint32_t op : group.ops) ++seen[op];
      run(group);
    }
    check(std::ranges::all_of(seen, [](int times) { return times == 1; }), name_ + ": every op is in one kernel");
    for (uint16_t n = 0; n < ops_.size(); ++n)
      if (ops_[n].target) check(memory_.has(plan_.tensors[*ops_[n].target], content_of_op(n)), name_ + ": a target holds its writer's output");
    check(std::ranges::all_of(kept_, [&](const auto& one) { return memory_.has(one.first, one.second); }), name_ + ": what is kept is there for the next step");
    check(good_, name_ + ": reads find what the program says");
    check(apart_, name_ + ": nothing is overwritten while it is read");
  }

 private:
  struct Read {
    Address at;
    uint64_t bytes;
  };
  void read(Address at, const Content& what) {
    if (!memory_.has(at, what)) good_ = false;
    else reads_.push_back({at, memory_.bytes_at(at)});
  }
  void write(Address at, uint64_t bytes, const Content& what, std::optional<Address> own) {
    for (const Read& one : reads_)
      if (one.at < at + bytes && at < one.at + one.bytes && one.at != own) apart_ = false;
    if (at + bytes > fused_.peak) good_ = false;
    memory_.put(at, bytes, what);
  }
  uint16_t number_of(const Op* op) const { return static_cast<uint16_t>(op - ops_.data()); }
  bool is_of_program(const Op* op) const { return op >= ops_.data() && op < ops_.data() + ops_.size(); }

  // Planes of an input or constant, from step to step.
  void keep(const Split& split) {
    for (uint16_t i = 0; i < program_.tensors.size(); ++i) {
      if (plan_.tensors[i] != split.from) continue;
      const Source source = program_.tensors[i].kind == TensorKind::constant ? Source::constant : Source::input;
      const Content what{true, static_cast<uint8_t>(source), i};
      if (!memory_.has(split.from, {false, static_cast<uint8_t>(source), i})) good_ = false;
      write(split.to.at, split.to.layout.count * split.to.layout.plane_bytes, what, std::nullopt);
      kept_.push_back({split.to.at, what});
    }
  }

  void read_kernel(const Group& group) {
    for (const KernelOp& one : group.kernel.ops)
      for (size_t i = 0; i < one.from.size(); ++i) {
        const Operand& operand = one.op->operands[i];
        if (one.from[i].op < 0) {
          read(group.pointers[one.from[i].pointer], content_of(operand));
          if (one.from[i].packed != (operand.source == Source::op ? packed_[operand.index] : 0)) good_ = false;
        }
        else {
          const Op* from = group.kernel.ops[one.from[i].op].op;
          if (is_of_program(from) && (operand.source != Source::op || from != &ops_[operand.index])) good_ = false;
        }
      }
  }
  void write_kernel(const Group& group) {
    for (const KernelOp& one : group.kernel.ops) {
      if (!is_of_program(one.op)) continue;
      const uint16_t n = number_of(one.op);
      const auto own = one.op->target ? std::optional(plan_.tensors[*one.op->target]) : std::nullopt;
      packed_[n] = one.packed;
      if (one.elements >= 0) write(group.pointers[one.elements], element_count(one.op->dims) * bytes_of(one.op->type), content_of_op(n), own);
      if (one.planes >= 0) write(group.pointers[one.planes], one.layout.count * one.layout.plane_bytes, content_of_op(n, true), std::nullopt);
    }
  }
  void run(const Group& group) {
    reads_.clear();
    const Op& op = ops_[group.ops[0]];
    const bool product = !group.is_kernel && group.planes[0].layout.count > 0;
    if (product) {
      for (const Split& split : group.splits)
        for (const Operand& operand : op.operands)
          if (memory_.has(split.from, content_of(operand))) {
            write(split.to.at, split.to.layout.count * split.to.layout.plane_bytes, content_of(operand, true), std::nullopt);
            break;
          }
      for (size_t i = 0; i < 2; ++i)
        read(group.planes[i].at, content_of(op.operands[i], !is_plane_itself(group.planes[i].layout, op.operands[i].type)));
    } else if (!group.is_kernel)
      for (size_t i = 0; i < op.operands.size(); ++i) {
        read(group.operands[i], content_of(op.operands[i]));
        if (op.operands[i].source == Source::op && packed_[op.operands[i].index] != 0) good_ = false;
      }
    read_kernel(group);
    write_kernel(group);
    if (group.packs) packed_[static_cast<uint16_t>(group.ops[0])] = packed_bytes(op.interval);
    if (!group.is_kernel && group.ops.size() == 1)
      write(group.out, element_count(op.dims) * bytes_of(op.type), content_of_op(static_cast<uint16_t>(group.ops[0])), std::nullopt);
    reads_.clear();
    for (const Group::Copy& one : group.copies)
      for (const uint32_t n : group.ops)
        if (memory_.has(one.from, content_of_op(static_cast<uint16_t>(n)))) write(one.to, one.bytes, content_of_op(static_cast<uint16_t>(n)), std::nullopt);
  }

  const std::vector<Op>& ops_;
  const Program& program_;
  const MemoryPlan& plan_;
  const FusedPhase& fused_;
  const std::string name_;
  Memory memory_;
  std::vector<Read> reads_;
  std::vector<std::pair<Address, Content>> kept_;
  std::map<uint16_t, uint32_t> packed_;  // by op
  bool good_ = true, apart_ = true;
};

// As many ops as a program can have, each fed by the one before and by an early one: planning must not take
// the square of them.
Program long_chain() {
  Program program;
  program.tensors = {{TensorKind::input, Type::i32, {64}, {-8, 8}, "x", {}}, {TensorKind::result, Type::i32, {64}, {-8, 8}, "y", {}}};
  Instruction load{};
  load.code = Code::load;
  load.place = {{Edge::inside, std::nullopt, 0, {{0, 1}}}};
  Instruction second = load;
  second.operand = 1;
  for (uint16_t n = 0; n < 20000; ++n) {
    const Operand first{n == 0 ? Source::input : Source::op, n == 0 ? uint16_t{0} : static_cast<uint16_t>(n - 1), Type::i32, {64}};
    const Operand early{n < 2 ? Source::input : Source::op, n < 2 ? uint16_t{0} : static_cast<uint16_t>(n % 2), Type::i32, {64}};
    Op op{Operator::map, Type::i32, {64}, {-8, 8}, std::nullopt, {first, early}, Reduction::sum, {}};
    op.code.before = {load, second, {Code::max, 0, 1, 0, 0, 0, 0, 0, 0, {}}};
    if (n == 19999) op.target = 1;
    program.step.push_back(std::move(op));
  }
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 200;
  RandomChains chains(7);
  size_t ops = 0, fused_groups = 0, on_sums = 0, packed = 0, packed_sums = 0;
  for (int i = 0; i < cases; ++i) {
    const CheckedProgram checked = check_program(chains.next());
    const MemoryPlan plan = plan_memory(checked.program);
    for (const FuseOptions& options : {FuseOptions{true, true, true, true, 0, true, true}, FuseOptions{true, false, true, true, 0, false, true}, FuseOptions{true, true, true, false, 0}, FuseOptions{false, false, true, false, 0}, FuseOptions{true, false, false, false, 0}}) {
      const FusedPhase fused = fuse(checked, Phase::step, plan, options);
      Walk(checked, plan, fused, "chain " + std::to_string(i)).go();
      for (const Group& group : fused.groups)
        if (group.is_kernel) check(kernel_ptx(group.kernel, "NAME").blocks > 0, "a kernel has blocks");
      if (!options.on_sums) continue;
      ops += checked.program.step.size(), fused_groups += fused.groups.size();
      for (const Group& group : fused.groups) {
        on_sums += !group.is_kernel && group.ops.size() > 1;
        packed_sums += group.packs;
        for (const KernelOp& one : group.kernel.ops) packed += one.packed != 0;
      }
    }
  }
  const CheckedProgram longest = check_program(long_chain());
  const MemoryPlan plan = plan_memory(longest.program);
  const FusedPhase fused = fuse(longest, Phase::step, plan, {true, true, true, true, 0});
  Walk(longest, plan, fused, "a long chain").go();
  check(fused_groups < ops && on_sums > 0, "some ops are fused, and some maps run on a product's sums");
  check(packed > 0 && packed_sums > 0, "some elements and some sums are packed");
  return assay_test::report();
}
