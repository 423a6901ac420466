// One program on one device, and what may be asked of it when: FRAMES.md, "Programs". It knows which tensors
// were given and where the run stands; the runner runs. Everything that is written is inside its tensor's
// interval before an op sees it: what the checker has proven (indices inside, sums that fit) holds for such
// values alone. Not here: frames.
#pragma once
#include <optional>

#include "server/session.hpp"
#include "work/blob_store.hpp"
#include "work/runner.hpp"
#include "zk/evaluate.hpp"

namespace assay::work {

// What a device will hold for a program.
struct Needs {
  uint64_t peak_bytes, state_bytes;
};

struct LeafOpening {
  uint32_t leaf;
  std::vector<uint8_t> bytes;
  std::vector<Root> path;  // bottom up
};

class WorkSession final : public SessionContent {
 public:
  // `store` may be null. Throws EngineError bad_program, no_memory.
  WorkSession(WorkKernels& kernels, std::span<const uint8_t> program, const uint8_t* seed, BlobStore* store);

  const Program& program() const { return runner_->checked().program; }
  const Needs& needs() const { return needs_; }

  // Another seed: then it stands nowhere, and segment 0 can always be run.
  void reseed(const uint8_t* seed);
  void write(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes);
  Root root(uint32_t tensor);
  void load(uint32_t tensor, const Root& root);
  // Both in pieces of at most 1 MiB.
  void fetch(uint32_t tensor, uint64_t offset, uint64_t length, const std::function<void(std::vector<uint8_t> piece)>& give);

  // A tensor as a polynomial at a point: docs/zk.md §6. Its element type and their number are the session's
  // own.
  Fr evaluate(uint32_t tensor, zk::Evaluation what, const std::atomic<bool>& stop);

  // State tensors, then results, each in the order of the program.
  std::span<const uint32_t> kept() const { return kept_; }
  std::vector<Root> save();

  // `on_segment` may be followed by an error: the segment is done then, and was not saved.
  using OnSegment = std::function<void(uint32_t segment, bool saved, const std::vector<Root>& roots)>;
  // How many segments ran before `stop` was seen.
  uint32_t run(uint32_t first, uint32_t count, uint32_t save_every, const std::atomic<bool>& stop,
               const std::function<void(uint32_t segment, uint32_t step, uint32_t tensor, std::vector<uint8_t> bytes)>& on_metric,
               const OnSegment& on_segment);
  // Throws cancelled; then it stands nowhere.
  void trace(uint32_t segment, const std::atomic<bool>& stop, const Runner::OnOp& on_op);

  struct Asked {
    uint32_t of;  // operand, or kOutput
    uint32_t leaf;
  };
  static constexpr uint32_t kOutput = 255;
  void ask(uint32_t segment, uint32_t step, uint32_t op, std::span<const Asked> places, const std::atomic<bool>& stop,
           const std::function<void(const Asked& place, LeafOpening opening)>& give);

 private:
  struct Given {
    uint64_t filled = 0;    // from its start, since it last changed by itself
    bool holds = false;     // what it holds means something
    bool has_root = false;  // of a constant: it was compared
  };
  const Tensor& named(uint32_t tensor) const;
  uint64_t bytes_of_named(uint32_t tensor) const { return bytes_of_tensor(named(tensor)); }
  void check_interval(uint32_t tensor, uint64_t offset, std::span<const uint8_t> bytes) const;
  void count_written(uint32_t tensor, uint64_t offset, uint64_t bytes);
  void check_holds(uint32_t tensor) const;
  // Everything is there to run this segment; the runner is set before it.
  void prepare_for(uint32_t segment);
  // State is that of this segment's start, or of nothing.
  void now_stands(std::optional<uint64_t> segment);
  void run_one(uint32_t segment, const std::function<void(uint32_t step)>& on_step);
  std::vector<Root> save_as(std::vector<Root> roots);
  LeafOpening open_leaf(const Stretch& of, uint32_t leaf);

  BlobStore* store_;
  std::unique_ptr<Runner> runner_;
  Needs needs_{};
  std::vector<Given> given_;
  std::vector<uint32_t> kept_, metrics_;
  std::optional<uint64_t> stands_ = 0;
  struct Place {
    uint32_t segment, step, op;
  };
  std::optional<Place> asked_;  // the walk's last op
};

}  // namespace assay::work
