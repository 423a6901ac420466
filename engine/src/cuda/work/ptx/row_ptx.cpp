// Kernels in which threads share rows: sums and maxima over a row, and maps that follow them.
#include <algorithm>
#include <bit>

#include "cuda/work/ptx/kernel_emitter.hpp"

namespace assay::cuda {

using namespace work;

namespace {

// Threads and chunks of four neighbours that hold a row.
struct RowShape {
  uint32_t threads = 0, chunks = 0;
  bool exact = true;
};
constexpr uint32_t kMostRowThreads = 1024;
constexpr uint64_t kManyRows = 2048;  // so many fill a card's multiprocessors several times
RowShape row_shape(uint32_t width, uint64_t rows) {
  const uint32_t fours = width / 4;
  // A part of a warp, where short rows fill whole ones.
  const auto fill_warps = [&](uint32_t threads) { return threads < 32 && std::has_single_bit(threads) && rows % (32 / threads) == 0; };
  if (fill_warps(fours)) return {fours, 1, true};
  // What all of a row's threads do alike is done less often by few of them. Of few rows each is waited for.
  const bool has_many = rows >= kManyRows;
  for (const uint32_t chunks : {has_many ? 3u : 2u, has_many ? 2u : 1u, has_many ? 1u : 3u, 4u}) {
    const uint32_t threads = fours / chunks;
    if (fours % chunks != 0 || threads > kMostRowThreads) continue;
    if (threads % 32 == 0 || (has_many && fill_warps(threads))) return {threads, chunks, true};
  }
  const uint32_t chunks = fours > 32 ? 2 : 1;
  const uint32_t threads = std::min(kMostRowThreads, (fours + 32 * chunks - 1) / (32 * chunks) * 32);
  return {threads, (fours + threads - 1) / threads, false};
}

const std::string& in_register(const Value& sum) { return sum.real.empty() ? sum.name : sum.real; }

}  // namespace

Value KernelEmitter::row_index(const Value& column) {
  const Value out = fresh(is_wide_);
  const std::string width = std::to_string(plan_.width);
  if (!is_wide_) line("mad.lo.u32 ", out.name, ", %row, ", width, ", ", column.name);
  else {
    const Value wide = fresh(true);
    line("cvt.u64.u32 ", wide.name, ", ", column.name);
    line("mad.wide.u32 ", out.name, ", %row, ", width, ", ", wide.name);
  }
  return out;
}

void KernelEmitter::begin_row(uint32_t threads) {
  row_threads_ = threads;
  const uint64_t rows = plan_.count / plan_.width;
  if (threads > 32) {
    threads_ = threads;
    blocks_ = rows;
    line("mov.u32 %row, %block");
    line("mov.u32 %lane, %thread");
    return;
  }
  threads_ = 128;
  const uint32_t together = threads_ / threads;  // rows of a block
  blocks_ = (rows + together - 1) / together;
  const std::string done = p();
  line("shr.u32 %row, %thread, ", std::to_string(std::countr_zero(threads)));
  line("mad.lo.u32 %row, %block, ", std::to_string(together), ", %row");
  line("and.b32 %lane, %thread, ", std::to_string(threads - 1));
  line("setp.ge.u32 ", done, ", %row, ", std::to_string(rows));
  line("@", done, " bra DONE");
}

// What it reduces is there as doubles, and all sums of it would be exact.
bool KernelEmitter::adds_reals(const KernelOp& one) const {
  const bool is_sum = one.op->reduction == Reduction::sum;
  const int64_t most = int64_t{1} << (is_sum ? 53 : 50);
  const Interval& of = one.op->interval;
  return uses_reals_ && is_wide_sum(one) && of.lo >= -most && of.hi <= most && !frames_of_[one.from[0].op][0][0].values.back().real.empty();
}

Value KernelEmitter::start_of(const KernelOp& one, bool is_real) {
  const Reduction reduction = one.op->reduction;
  const bool wide = is_wide_sum(one);
  if (is_real) {
    const int64_t start = reduction == Reduction::sum ? 0 : reduction == Reduction::max ? one.op->interval.lo : one.op->interval.hi;
    const Value out{"", true, f()};
    line("cvt.rn.f64.s64 ", out.real, ", ", std::to_string(start));
    return out;
  }
  if (reduction == Reduction::sum) return number(0, wide);
  // No element is beyond the ends of the output's interval.
  const Value out = number(reduction == Reduction::max ? one.op->interval.lo : one.op->interval.hi, wide);
  may_be_end(out);
  return out;
}

Value KernelEmitter::joined(const KernelOp& one, const Value& sum, const Value& x) {
  const Reduction reduction = one.op->reduction;
  if (!sum.real.empty()) {
    Value out{"", true, f()};
    if (reduction == Reduction::sum) line("add.f64 ", out.real, ", ", sum.real, ", ", x.real);
    else {
      const std::string is = p();
      line(reduction == Reduction::max ? "setp.gt.f64 " : "setp.lt.f64 ", is, ", ", x.real, ", ", sum.real);
      line("selp.f64 ", out.real, ", ", x.real, ", ", sum.real, ", ", is);
    }
    return out;
  }
  return signed_two(reduction == Reduction::sum ? "add" : reduction == Reduction::max ? "max" : "min", sum.is_wide, sum, x);
}

// The elements that its operand has in a chunk.
void KernelEmitter::add_up(size_t number, size_t chunk, Value& sum) {
  const KernelOp& one = plan_.ops[number];
  for (const Frame& frame : frames_of_[one.from[0].op][chunk]) {
    const Value next = joined(one, sum, frame.values.back());
    line("mov", b(sum.is_wide), in_register(sum), ", ", in_register(next));
  }
}

// What the threads of a row have, put together: all of them know it then.
void KernelEmitter::finish_sum(size_t number, Value sum) {
  const KernelOp& one = plan_.ops[number];
  for (uint32_t far = std::min(32u, row_threads_) / 2; far > 0; far /= 2) {
    const std::string distance = std::to_string(far);
    const Value other = sum.real.empty() ? fresh(sum.is_wide) : Value{"", true, f()};
    if (sum.is_wide) {
      const std::string low = r(), high = r(), low2 = r(), high2 = r();
      line("mov.b64 {", low, ", ", high, "}, ", in_register(sum));
      line("shfl.sync.bfly.b32 ", low2, ", ", low, ", ", distance, ", 31, -1");
      line("shfl.sync.bfly.b32 ", high2, ", ", high, ", ", distance, ", 31, -1");
      line("mov.b64 ", in_register(other), ", {", low2, ", ", high2, "}");
    } else line("shfl.sync.bfly.b32 ", other.name, ", ", sum.name, ", ", distance, ", 31, -1");
    sum = joined(one, sum, other);
  }
  if (row_threads_ > 32) {
    const std::string at = r(), other = p(), lane = r(), base = "partial+" + std::to_string(8 * (kMostRowThreads / 32) * reduces_++);
    line("and.b32 ", lane, ", %lane, 31");
    line("setp.ne.u32 ", other, ", ", lane, ", 0");
    line("shr.u32 ", at, ", %lane, 5");
    line("shl.b32 ", at, ", ", at, ", 3");
    const std::string to = r();
    line("mov.u32 ", to, ", ", base);
    line("add.u32 ", to, ", ", to, ", ", at);
    line("@!", other, " st.shared", b(sum.is_wide), "[", to, "], ", in_register(sum));
    line("bar.sync 0");
    const std::string from = r();
    line("mov.u32 ", from, ", ", base);
    for (uint32_t warp = 0; warp < row_threads_ / 32; ++warp) {
      const Value part = sum.real.empty() ? fresh(sum.is_wide) : Value{"", true, f()};
      line("ld.shared", b(sum.is_wide), in_register(part), ", [", from, "+", std::to_string(8 * warp), "]");
      sum = warp == 0 ? part : joined(one, sum, part);
    }
  }
  Frames frames(1);
  frames[0].index = {"%row", false};
  if (!sum.real.empty()) {
    // Too wide perhaps for what makes it an integer elsewhere.
    sum.name = d();
    line("cvt.rni.s64.f64 ", sum.name, ", ", sum.real);
  }
  frames[0].values.push_back(as(!fits_32(one.op->interval), sum));
  frames_of_[number] = {frames};
  if (one.elements < 0) return;
  const std::string skip = label(), other = p();
  line("setp.ne.u32 ", other, ", %lane, 0");
  line("@", other, " bra ", skip);
  store(number, frames, false);
  place_label(skip);
}

void KernelEmitter::kept_rows() {
  const RowShape shape = row_shape(plan_.width, plan_.count / plan_.width);
  begin_row(shape.threads);
  std::vector<Value> columns, firsts;
  std::vector<std::string> outside(shape.chunks);
  for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
    const Value column = fresh(false);
    line("shl.b32 ", column.name, ", %lane, 2");
    columns.push_back(chunk == 0 ? column : two("add", ".s32 ", false, column, std::to_string(4 * chunk * shape.threads)));
    firsts.push_back(row_index(columns.back()));
    if (shape.exact) continue;
    outside[chunk] = p();
    line("setp.ge.u32 ", outside[chunk], ", ", columns.back().name, ", ", std::to_string(plan_.width));
  }
  const auto in_chunks = [&](auto act) {
    for (uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const std::string skip = label();
      if (!shape.exact) line("@", outside[chunk], " bra ", skip);
      act(chunk);
      if (!shape.exact) place_label(skip);
    }
  };
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    const KernelOp& one = plan_.ops[i];
    if (one.op->op == Operator::reduce) {
      Value sum = start_of(one, adds_reals(one));
      in_chunks([&](uint32_t chunk) { add_up(i, chunk, sum); });
      finish_sum(i, sum);
    } else if (one.is_row) run_row_op(i);
    else {
      frames_of_[i].resize(shape.chunks);
      in_chunks([&](uint32_t chunk) {
        Frames frames = frames_at(firsts[chunk], 4, true, 1);
        if (one.op->dims.back() == plan_.width) {
          for (Frame& frame : frames) frame.row = {"%row", false};
          frames[0].coordinates[one.op->dims.size() - 1] = columns[chunk];
        }
        frames_of_[i][chunk] = std::move(frames);
        run_op(i, frames_of_[i][chunk], chunk, true);
      });
    }
  }
}

// One turn of the loop over a row: every op that is not by row, and every sum, on `slots` elements a thread.
void KernelEmitter::stream_loop(uint32_t slots, bool neighbours, const std::string& column, std::vector<Value>& sums) {
  forget_loads();
  const Frames start = frames_at(row_index({column, false}), slots, neighbours, row_threads_);
  std::vector<Value> columns;
  for (uint32_t slot = 0; slot < slots; ++slot)
    columns.push_back(two("add", ".s32 ", false, {column, false}, std::to_string(slot * (neighbours ? 1 : row_threads_))));
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    const KernelOp& one = plan_.ops[i];
    if (one.op->op == Operator::reduce) {
      add_up(i, 0, sums[i]);
      continue;
    }
    if (one.is_row) continue;
    Frames frames = start;
    for (uint32_t slot = 0; slot < slots; ++slot) {
      frames[slot].row = {"%row", false};
      frames[slot].coordinates[one.op->dims.size() - 1] = columns[slot];
    }
    frames_of_[i] = {frames};
    run_op(i, frames_of_[i][0], 0, neighbours);
  }
}

// Rows of any length, gone through once.
void KernelEmitter::streamed_rows() {
  const bool fours = can_take_fours();
  begin_row(plan_.width > 8192 ? 512 : plan_.width > 512 ? 128 : 32);
  const std::string width = std::to_string(plan_.width), column = r(), top = label(), rest = label(), end = label(), out = p();
  std::vector<Value> sums(plan_.ops.size());
  for (size_t i = 0; i < plan_.ops.size(); ++i)
    if (plan_.ops[i].op->op == Operator::reduce) sums[i] = start_of(plan_.ops[i], false);
  line(fours ? "shl.b32 " : "add.u32 ", column, ", %lane, ", fours ? "2" : "0");
  const std::string step = std::to_string(4 * row_threads_);
  place_label(top);
  if (fours) line("setp.ge.u32 ", out, ", ", column, ", ", width);
  else {
    const std::string last = r();
    line("add.u32 ", last, ", ", column, ", ", std::to_string(3 * row_threads_));
    line("setp.ge.u32 ", out, ", ", last, ", ", width);
  }
  line("@", out, " bra ", rest);
  stream_loop(4, fours, column, sums);
  line("add.u32 ", column, ", ", column, ", ", step);
  line("bra ", top);
  place_label(rest);
  if (!fours) {
    const std::string beyond = p(), again = label();
    place_label(again);
    line("setp.ge.u32 ", beyond, ", ", column, ", ", width);
    line("@", beyond, " bra ", end);
    stream_loop(1, false, column, sums);
    line("add.u32 ", column, ", ", column, ", ", std::to_string(row_threads_));
    line("bra ", again);
  }
  place_label(end);
  for (size_t i = 0; i < plan_.ops.size(); ++i) {
    if (plan_.ops[i].op->op == Operator::reduce) finish_sum(i, sums[i]);
    else if (plan_.ops[i].is_row) run_row_op(i);
  }
}

}  // namespace assay::cuda
