// See cuda_groth16.hpp.
#include "cuda_groth16.hpp"

#include <bit>

#include "cuda/zk/msm.hpp"
#include "ntt.hpp"
#include "zk/groth16/roots.hpp"

namespace assay::cuda {
namespace {

template <typename T>
Buffer sent(const std::shared_ptr<const Context>& context, const std::vector<T>& list) {
  Buffer buffer(context, std::max<size_t>(1, list.size()) * sizeof(T));
  if (!list.empty()) ASSAY_CUDA_CALL(cuMemcpyHtoD, buffer.at(), list.data(), list.size() * sizeof(T));
  return buffer;
}

class CudaGroth16 final : public zk::Groth16Device {
 public:
  CudaGroth16(const std::shared_ptr<const Context>& context, const zk::Groth16Key& key)
      : context_(context), ntt_(context, log2_of(key)), has_values_(key.has_values), first_(context), second_(context), inputs_(key.inputs.size()),
        wires_(key.a.size()), a_(sent(context, key.a)), b1_(sent(context, key.b1)), b2_(sent(context, key.b2)), others_(sent(context, key.others)),
        powers_(sent(context, key.powers)) {}

  zk::KeySums sums(const zk::Solved& solved) override {
    context_->enter();
    zk::KeySums sums;
    {
      const Buffer wires = sent(context_, solved.wires);
      const uint32_t count = static_cast<uint32_t>(wires_), others = static_cast<uint32_t>(wires_ - inputs_);
      sums.a = first_.of_scalars(a_.at(), wires.at(), count);
      sums.b1 = first_.of_scalars(b1_.at(), wires.at(), count);
      sums.others = first_.of_scalars(others_.at(), wires.at(inputs_ * sizeof(Fr)), others);
      sums.b2 = second_.of_scalars(b2_.at(), wires.at(), count);
      second_.let_go();
    }
    const Buffer a = sent(context_, solved.a), b = sent(context_, solved.b), c = sent(context_, solved.c);
    const size_t size = solved.a.size();
    const Fr shift = has_values_ ? zk::root_of_one(static_cast<unsigned>(std::countr_zero(size)) + 1) : zk::coset_shift();
    for (const Buffer* list : {&a, &b, &c}) ntt_.move_to_coset(list->at(), shift);
    ntt_.divide_out(a.at(), b.at(), c.at(), has_values_ ? Fr::one() : (zk::power_of(shift, size) - Fr::one()).inverted());
    if (!has_values_) ntt_.from_coset(a.at(), shift);
    sums.powers = first_.of_scalars(powers_.at(), a.at(), static_cast<uint32_t>(has_values_ ? size : size - 1));
    first_.let_go();
    return sums;
  }

 private:
  static unsigned log2_of(const zk::Groth16Key& key) { return static_cast<unsigned>(std::bit_width(key.powers.size() - (key.has_values ? 1 : 0))); }

  std::shared_ptr<const Context> context_;
  Ntt ntt_;
  bool has_values_;
  Msm first_;
  MsmOf<Fp2> second_;
  size_t inputs_, wires_;
  Buffer a_, b1_, b2_, others_, powers_;
};

class CudaPointMaker final : public zk::PointMaker {
 public:
  explicit CudaPointMaker(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  std::vector<G1Affine> first(std::span<const Fr> scalars) override { return made<Fp>({Fp::one(), Fp::of(2)}, scalars); }
  std::vector<G2Affine> second(std::span<const Fr> scalars) override { return made<Fp2>(zk::second_generator(), scalars); }

 private:
  template <typename F>
  std::vector<AffinePoint<F>> made(const AffinePoint<F>& generator, std::span<const Fr> scalars) {
    context_->enter();
    const Buffer given = sent(context_, std::vector<Fr>(scalars.begin(), scalars.end()));
    const Buffer out(context_, scalars.size() * sizeof(AffinePoint<F>));
    make_multiples<F>(context_, generator, given.at(), scalars.size(), out.at());
    std::vector<AffinePoint<F>> points(scalars.size());
    ASSAY_CUDA_CALL(cuMemcpyDtoH, points.data(), out.at(), out.bytes());
    return points;
  }
  std::shared_ptr<const Context> context_;
};

}  // namespace

std::unique_ptr<zk::Groth16Device> cuda_groth16(const std::shared_ptr<const Context>& context, const zk::Groth16Key& key) {
  context->enter();
  return std::make_unique<CudaGroth16>(context, key);
}

std::unique_ptr<zk::PointMaker> cuda_point_maker(const std::shared_ptr<const Context>& context) { return std::make_unique<CudaPointMaker>(context); }

}  // namespace assay::cuda
