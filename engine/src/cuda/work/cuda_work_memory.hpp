// Memory and kernels of one program on one card; see cuda_work.hpp.
#pragma once
#include <map>

#include "cuda/work/cuda_work.hpp"
#include "cuda/work/fuse.hpp"
#include "cuda/work/hash_all.hpp"
#include "cuda/work/limb_product.hpp"

namespace assay::cuda {

// What one kernel of a phase took, for the bench.
struct GroupTime {
  const Group* group;
  double seconds;
};

class CudaWorkMemory : public work::WorkMemory {
 public:
  CudaWorkMemory(std::shared_ptr<const Context> context, const WorkOptions& options, const work::CheckedProgram& checked,
                 const work::MemoryPlan& plan, uint64_t extra_bytes);
  ~CudaWorkMemory() override;

  void write(work::Address at, std::span<const uint8_t> bytes) override;
  void read(work::Address at, std::span<uint8_t> bytes) override;
  void clear(work::Address at, uint64_t bytes) override;
  void copy(work::Address from, work::Address to, uint64_t bytes) override;
  void run(uint32_t number, std::span<const work::Address> operands, work::Address out, const work::Moment& moment) override;
  bool run_phase(work::Phase phase, const work::Moment& moment) override;
  work::Root hash(work::Address at, uint64_t bytes) override;
  std::vector<work::Root> hash_all(std::span<const work::Stretch> all) override;
  void finish() override;

  // A phase kernel by kernel, with the time of each.
  std::vector<GroupTime> time_phase(work::Phase phase, const work::Moment& moment);

  static uint64_t extra_bytes_for(const Context& context, const WorkOptions& options, const work::CheckedProgram& checked, const work::MemoryPlan& plan);

 private:
  struct Kernel {
    CUfunction function = nullptr;
    uint32_t blocks = 0, threads = 0;
  };
  struct PhaseKernels {
    FusedPhase fused;
    std::vector<Kernel> kernels;                   // by group
    std::vector<std::vector<LimbLaunch>> products;  // by group
    std::vector<CUfunction> on_sums;                // by group: a product with maps
    CUgraphExec graph = nullptr;
  };
  const work::Op& op(uint32_t number) const;
  void make_phase(work::Phase phase);
  void make_singles();
  bool make_products(PhaseKernels& made);
  void run_on_sums(const PhaseKernels& phase, size_t group);
  void split(const Split& split);
  std::vector<Kernel> compile(const std::vector<KernelText>& texts);
  void set_moment(const work::Moment& moment);
  void launch(const Kernel& kernel, std::span<const work::Address> pointers);
  void run_group(const PhaseKernels& phase, size_t group);
  void run_plain(const work::Op& op, std::span<const work::Address> operands, work::Address out);
  void multiply_limbs(const work::Op& op, work::Phase phase, std::span<const work::Address> operands, work::Address out);
  // One of few rows, read as it lies.
  bool is_thin(const work::Op& op) const { return options_.thin && options_.tensor_cores && cuda::is_thin(op); }
  void multiply_thin(const work::Op& op, std::span<const work::Address> operands, work::Address out);
  void multiply_plain(const work::Op& op, std::span<const work::Address> operands, work::Address out);
  void reduce(const work::Op& op, std::span<const work::Address> operands, work::Address out);
  void scatter(const work::Op& op, std::span<const work::Address> operands, work::Address out);
  template <typename... Arguments>
  void launch_named(const char* kernel, uint32_t blocks, uint32_t rows, uint32_t threads, const Arguments&... arguments) {
    context_->launch({kernel, blocks, threads, 0, Where::main, rows, stream_}, arguments...);
  }

  std::shared_ptr<const Context> context_;
  const WorkOptions options_;
  FuseOptions fuses_;
  const work::CheckedProgram& checked_;
  const work::MemoryPlan& plan_;
  PhaseKernels phases_[2];  // init, step
  Buffer memory_, extra_, moment_;
  uint32_t words_[5] = {};  // of the moment that the card has
  bool has_moment_ = false;
  bool has_kept_ = false;  // the step's planes of inputs are those of the inputs that are there
  CUstream stream_ = nullptr;
  std::vector<CUmodule> modules_;
  std::vector<Kernel> singles_;  // by op; made when an op is run for itself
  bool has_singles_ = false;
  std::map<std::string, CUfunction> products_;  // by their text
  std::unique_ptr<HashAll> hashes_;
};

}  // namespace assay::cuda
