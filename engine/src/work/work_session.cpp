#include "work/work_session.hpp"

#include <algorithm>
#include <cstring>

namespace assay::work {
namespace {

constexpr uint64_t kSentBytes = 1 << 20;

[[noreturn]] void refuse(const std::string& why) { throw EngineError(ErrorCode::bad_request, why); }

// As src/work/program/fault.ts words it, after the code.
EngineError error_of(const Fault& fault) {
  std::string place;
  const auto add = [&](const std::string& text) { place += (place.empty() ? "" : ", ") + text; };
  if (fault.tensor >= 0) add("tensor " + std::to_string(fault.tensor));
  if (fault.op >= 0) add((fault.phase == 0 ? "init op " : "step op ") + std::to_string(fault.op));
  if (fault.instruction >= 0) add("instruction " + std::to_string(fault.instruction));
  return {ErrorCode::bad_program, std::string(fault.code) + " " + (place.empty() ? "" : place + ": ") + fault.message};
}

CheckedProgram checked_program(std::span<const uint8_t> bytes) {
  try {
    return check_program(read_program(bytes));
  } catch (const Fault& fault) {
    throw error_of(fault);
  }
}

// Number of the first element outside, or none.
template <typename T>
std::optional<uint64_t> first_outside(const uint8_t* bytes, uint64_t count, const Interval& interval) {
  if (interval.lo <= std::numeric_limits<T>::min() && interval.hi >= std::numeric_limits<T>::max()) return std::nullopt;
  const T lo = static_cast<T>(interval.lo), hi = static_cast<T>(interval.hi);
  const auto at = [&](uint64_t i) {
    T value;
    memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    return value;
  };
  // Without a branch first: nearly everything is inside.
  bool all_inside = true;
  for (uint64_t i = 0; i < count; ++i) all_inside &= at(i) >= lo && at(i) <= hi;
  if (all_inside) return std::nullopt;
  for (uint64_t i = 0; i < count; ++i)
    if (at(i) < lo || at(i) > hi) return i;
  return std::nullopt;
}

std::optional<uint64_t> first_outside(Type type, std::span<const uint8_t> bytes, const Interval& interval) {
  const uint64_t count = bytes.size() / bytes_of(type);
  switch (type) {
    case Type::i8: return first_outside<int8_t>(bytes.data(), count, interval);
    case Type::i16: return first_outside<int16_t>(bytes.data(), count, interval);
    case Type::i32: return first_outside<int32_t>(bytes.data(), count, interval);
    case Type::i64: return first_outside<int64_t>(bytes.data(), count, interval);
  }
  return 0;
}

}  // namespace

WorkSession::WorkSession(WorkKernels& kernels, std::span<const uint8_t> program, const uint8_t* seed, BlobStore* store) : store_(store) {
  runner_ = std::make_unique<Runner>(kernels, checked_program(program), philox_key(seed));
  const std::vector<Tensor>& tensors = this->program().tensors;
  given_.resize(tensors.size());
  for (const TensorKind kind : {TensorKind::state, TensorKind::result, TensorKind::metric})
    for (uint32_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].kind == kind) (kind == TensorKind::metric ? metrics_ : kept_).push_back(i);
  for (const uint32_t tensor : kept_) {
    given_[tensor].holds = true;
    needs_.state_bytes += bytes_of_tensor(tensors[tensor]);
  }
  needs_.peak_bytes = runner_->plan().bytes + kernels.extra_bytes(runner_->checked(), runner_->plan());
}

const Tensor& WorkSession::named(uint32_t tensor) const {
  if (tensor >= given_.size()) refuse("there is no tensor " + std::to_string(tensor));
  const Tensor& found = program().tensors[tensor];
  if (found.kind == TensorKind::scratch || found.kind == TensorKind::metric) refuse(found.name + " can be neither written nor read");
  return found;
}

void WorkSession::check_interval(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes) const {
  const Tensor& into = program().tensors[tensor];
  const std::optional<uint64_t> outside = first_outside(into.type, bytes, into.interval);
  if (!outside) return;
  throw EngineError(ErrorCode::tensor_range, "element " + std::to_string(offset / bytes_of(into.type) + *outside) + " of " + into.name +
                                                 " lies outside " + std::to_string(into.interval.lo) + ".." +
                                                 std::to_string(into.interval.hi));
}

void WorkSession::count_written(uint32_t tensor, uint64_t offset, uint64_t bytes) {
  Given& given = given_[tensor];
  if (offset <= given.filled) given.filled = std::max(given.filled, offset + bytes);
  if (given.filled == bytes_of_named(tensor)) given.holds = true;
  given.has_root = false;
  if (program().tensors[tensor].kind != TensorKind::state) return;
  asked_.reset();
  runner_->end_walk();
}

void WorkSession::write(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes) {
  const Tensor& into = named(tensor);
  const uint64_t size = bytes_of(into.type), whole = bytes_of_tensor(into);
  if (bytes.empty() || bytes.size() % size != 0 || offset % size != 0 || offset > whole || bytes.size() > whole - offset)
    throw EngineError(ErrorCode::tensor_size, std::to_string(bytes.size()) + " bytes at " + std::to_string(offset) + " of " + into.name +
                                                  ", which has " + std::to_string(whole));
  if (offset > given_[tensor].filled && !given_[tensor].holds)
    refuse(into.name + " is filled from its start: " + std::to_string(given_[tensor].filled) + " bytes came so far");
  check_interval(tensor, offset, bytes);
  count_written(tensor, offset, bytes.size());
  runner_->write(tensor, offset, bytes);
}

void WorkSession::check_holds(uint32_t tensor) const {
  if (!given_[tensor].holds) throw EngineError(ErrorCode::tensor_size, program().tensors[tensor].name + " was not given");
}

Root WorkSession::root(uint32_t tensor) {
  named(tensor);
  check_holds(tensor);
  return runner_->root(tensor);
}

void WorkSession::load(uint32_t tensor, const Root& root) {
  const Tensor& into = named(tensor);
  if (store_ == nullptr) throw EngineError(ErrorCode::unsupported, "this engine was started without --store");
  bool has_begun = false;
  try {
    store_->read(root, bytes_of_tensor(into), [&](uint64_t offset, std::span<const uint8_t> piece) {
      check_interval(tensor, offset, piece);
      has_begun = true;
      runner_->write(tensor, offset, piece);
    });
    if (runner_->root(tensor) != root) throw EngineError(ErrorCode::blob_cut, "the store has other bytes for " + into.name + " under this root");
  } catch (...) {
    if (has_begun) {
      given_[tensor] = {};
      if (into.kind == TensorKind::state) now_stands(std::nullopt);
    }
    throw;
  }
  count_written(tensor, 0, bytes_of_tensor(into));
}

void WorkSession::fetch(uint32_t tensor, uint64_t offset, uint64_t length, const std::function<void(std::vector<uint8_t>)>& give) {
  const uint64_t whole = bytes_of_named(tensor);
  check_holds(tensor);
  if (length == 0 || offset > whole || length > whole - offset)
    throw EngineError(ErrorCode::tensor_size, std::to_string(length) + " bytes from " + std::to_string(offset) + " on, of " + std::to_string(whole));
  for (uint64_t done = 0; done < length;) {
    std::vector<uint8_t> piece(std::min(kSentBytes, length - done));
    runner_->read(tensor, offset + done, piece);
    done += piece.size();
    give(std::move(piece));
  }
}

Fr WorkSession::evaluate(uint32_t tensor, zk::Evaluation what, const std::atomic<bool>& stop) {
  const Tensor& of = named(tensor);
  check_holds(tensor);
  what.element_bytes = static_cast<unsigned>(bytes_of(of.type));
  what.elements = bytes_of_tensor(of) / what.element_bytes;
  return zk::evaluate(what, [&](uint64_t offset, std::span<uint8_t> bytes) { runner_->read(tensor, offset, bytes); }, stop);
}

std::vector<Root> WorkSession::save_as(std::vector<Root> roots) {
  if (store_ == nullptr) throw EngineError(ErrorCode::unsupported, "this engine was started without --store");
  BlobStore::Saving saving(*store_);
  for (size_t i = 0; i < kept_.size(); ++i)
    saving.add(roots[i], bytes_of_tensor(program().tensors[kept_[i]]),
               [&](uint64_t offset, std::span<uint8_t> piece) { runner_->read(kept_[i], offset, piece); });
  saving.commit();
  return roots;
}

std::vector<Root> WorkSession::save() {
  for (const uint32_t tensor : kept_) check_holds(tensor);
  return save_as(runner_->roots(kept_));
}

void WorkSession::reseed(const uint8_t* seed) {
  asked_.reset();
  runner_->end_walk();
  now_stands(std::nullopt);
  runner_->reseed(philox_key(seed));
}

void WorkSession::now_stands(std::optional<uint64_t> segment) {
  stands_ = segment;
  for (const uint32_t tensor : kept_) {
    given_[tensor].filled = 0;
    given_[tensor].holds = segment.has_value();
  }
}

void WorkSession::prepare_for(uint32_t segment) {
  if (segment > last_segment(program().k)) refuse("there is no segment " + std::to_string(segment));
  const std::vector<Tensor>& tensors = program().tensors;
  const bool is_new = std::ranges::all_of(kept_, [&](uint32_t i) {
    return tensors[i].kind != TensorKind::state || given_[i].filled == bytes_of_tensor(tensors[i]);
  });
  if (segment != 0 && stands_ != segment && !is_new)
    refuse("the session stands at segment " + (stands_ ? std::to_string(*stands_) : "none") + ", not at " + std::to_string(segment));
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].kind != TensorKind::constant && tensors[i].kind != TensorKind::input) continue;
    check_holds(i);
    if (tensors[i].kind == TensorKind::input || given_[i].has_root) continue;
    if (memcmp(runner_->root(i).data(), tensors[i].root, sizeof(Root)) != 0)
      throw EngineError(ErrorCode::tensor_root, tensors[i].name + " has another root than the program names");
    given_[i].has_root = true;
  }
  asked_.reset();
  runner_->end_walk();
  if (segment > 0) runner_->resume_after(segment - 1);
}

void WorkSession::run_one(uint32_t segment, const std::function<void(uint32_t)>& on_step) {
  // Until the segment is whole, what its tensors hold belongs to none.
  now_stands(std::nullopt);
  if (segment == 0) runner_->run_init();
  else runner_->run_segment(on_step);
  now_stands(segment + 1);
}

uint32_t WorkSession::run(uint32_t first, uint32_t count, uint32_t save_every, const std::atomic<bool>& stop,
                          const std::function<void(uint32_t, uint32_t, uint32_t, std::vector<uint8_t>)>& on_metric,
                          const OnSegment& on_segment) {
  if (count == 0 || count - 1 > last_segment(program().k) || first > last_segment(program().k) - (count - 1))
    refuse("there are no " + std::to_string(count) + " segments from " + std::to_string(first) + " on");
  if (save_every > 0 && store_ == nullptr) throw EngineError(ErrorCode::unsupported, "this engine was started without --store");
  prepare_for(first);
  uint32_t done = 0;
  while (done < count && !stop) {
    const uint32_t segment = first + done;
    std::function<void(uint32_t)> on_step;
    if (!metrics_.empty())
      on_step = [&](uint32_t step) {
        for (const uint32_t tensor : metrics_) {
          std::vector<uint8_t> bytes(bytes_of_tensor(program().tensors[tensor]));
          runner_->read(tensor, 0, bytes);
          on_metric(segment, step, tensor, std::move(bytes));
        }
      };
    run_one(segment, on_step);
    ++done;
    const std::vector<Root> roots = runner_->roots(kept_);
    bool saved = false;
    try {
      if (save_every > 0 && done % save_every == 0) {
        save_as(roots);
        saved = true;
      }
    } catch (...) {
      on_segment(segment, false, roots);
      throw;
    }
    on_segment(segment, saved, roots);
  }
  return done;
}

void WorkSession::trace(uint32_t segment, const std::atomic<bool>& stop, const Runner::OnOp& on_op) {
  prepare_for(segment);
  now_stands(std::nullopt);
  const Runner::OnOp told = [&](uint32_t step, uint32_t op, const Root& output) {
    throw_if(stop);
    on_op(step, op, output);
  };
  if (segment == 0) runner_->run_init(told);
  else runner_->trace_segment(told);
  now_stands(segment + 1);
}

// A node of the tree is the root of the leaves below it taken by themselves: docs/hardware-proof.md §1.
LeafOpening WorkSession::open_leaf(const Stretch& of, uint32_t leaf) {
  LeafOpening opening{leaf, std::vector<uint8_t>(1024), {}};
  const uint64_t begin = uint64_t{leaf} * 1024;
  runner_->read(of.at + begin, {opening.bytes.data(), std::min<uint64_t>(1024, of.bytes - begin)});
  uint64_t count = (of.bytes + 1023) / 1024, index = leaf;
  for (unsigned level = 0; count > 1; ++level, index /= 2, count = (count + 1) / 2) {
    const uint64_t beside = index ^ 1;
    if (beside >= count) continue;
    const uint64_t from = (beside << level) * 1024, to = std::min(of.bytes, ((beside + 1) << level) * 1024);
    opening.path.push_back(runner_->hash({of.at + from, to - from}));
  }
  return opening;
}

void WorkSession::ask(uint32_t segment, uint32_t step, uint32_t op, std::span<const Asked> places, const std::atomic<bool>& stop,
                      const std::function<void(const Asked&, LeafOpening)>& give) {
  const auto& ops = program().ops(segment == 0 ? Phase::init : Phase::step);
  if (step >= (segment == 0 ? 1 : program().k) || op >= ops.size()) refuse("there is no such step or op");
  const Op& here = ops[op];
  const auto bytes_of_place = [&](uint32_t of) -> uint64_t {
    if (of == kOutput) return element_count(here.dims) * bytes_of(here.type);
    if (of >= here.operands.size()) refuse("there is no operand " + std::to_string(of));
    return element_count(here.operands[of].dims) * bytes_of(here.operands[of].type);
  };
  for (const Asked& place : places)
    if (uint64_t{place.leaf} * 1024 >= bytes_of_place(place.of)) refuse("there is no leaf " + std::to_string(place.leaf));
  const bool goes_on = asked_ && asked_->segment == segment && (step > asked_->step || (step == asked_->step && op >= asked_->op));
  if (!goes_on) prepare_for(segment);
  now_stands(std::nullopt);
  const Place at{segment, step, op};
  asked_.reset();
  try {
    runner_->walk_to(segment, step, op, stop);
    for (const Asked& place : places) {
      throw_if(stop);
      const Stretch of = place.of == kOutput ? runner_->output_here() : runner_->operand_here(place.of);
      give(place, open_leaf(of, place.leaf));
    }
  } catch (...) {
    runner_->end_walk();
    throw;
  }
  asked_ = at;
}

}  // namespace assay::work
