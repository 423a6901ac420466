// See ntt.hpp.
#include "ntt.hpp"

#include "cuda/zk/powers_shape.hpp"
#include "zk/groth16/roots.hpp"

namespace assay::cuda {

namespace {

constexpr uint64_t kLow = uint64_t{1} << kNttLowBits;

void make_table(const Context& context, const Fr& first, const Fr& x, uint64_t count, CUdeviceptr out) {
  const uint64_t threads = (count + kPowersEach - 1) / kPowersEach;
  context.launch({"zk_powers", static_cast<uint32_t>((threads + 255) / 256), 256}, first, x, count, out);
}

}  // namespace

Ntt::Ntt(std::shared_ptr<const Context> context, unsigned log2) : context_(std::move(context)), log2_(log2) {
  context_->load_proofs();
  share_ = Fr::of(uint64_t{1} << log2).inverted();
  for (const Which which : {Which::forward, Which::inverse}) {
    const auto turned = [&](const Fr& root) { return which == Which::forward ? root : root.inverted(); };
    Roots& own = roots_[static_cast<size_t>(which)];
    own.powers = tables_of(turned(zk::root_of_one(log2)), Fr::one());
    constexpr uint64_t kSmall = uint64_t{1} << (kNttMostBits - 1);
    own.small = Buffer(context_, kSmall * sizeof(Fr));
    make_table(*context_, Fr::one(), turned(zk::root_of_one(kNttMostBits)), kSmall, own.small.at());
  }
}

Ntt::Tables Ntt::tables_of(const Fr& x, const Fr& first) const {
  const uint64_t high = log2_ > kNttLowBits ? uint64_t{1} << (log2_ - kNttLowBits) : 1;
  Tables tables{Buffer(context_, kLow * sizeof(Fr)), Buffer(context_, high * sizeof(Fr))};
  make_table(*context_, Fr::one(), x, kLow, tables.low.at());
  make_table(*context_, first, zk::power_of(x, kLow), high, tables.high.at());
  return tables;
}

void Ntt::pass(CUdeviceptr list, Which which, Order from) const {
  // Passes of about the same number of bits each, the highest first.
  const unsigned passes = (log2_ + kNttMostBits - 1) / kNttMostBits;
  const Roots& roots = roots_[static_cast<size_t>(which)];
  for (unsigned i = 0; i < passes; ++i) {
    const unsigned number = from == Order::plain ? i : passes - 1 - i;
    const unsigned above = log2_ * number / passes, bits = log2_ * (number + 1) / passes - above;
    const NttShape shape{log2_, log2_ - above - bits, bits, from == Order::reversed ? 1u : 0u};
    const uint64_t blocks = ((uint64_t{1} << log2_) + kNttTile - 1) / kNttTile;
    context_->launch({"zk_ntt", static_cast<uint32_t>(blocks), kNttThreads}, shape, roots.small.at(), roots.powers.both(), list);
  }
}

void Ntt::reorder(CUdeviceptr list) const { context_->launch({"zk_reorder", blocks(), kNttThreads}, uint32_t{log2_}, list); }

void Ntt::times_powers(CUdeviceptr list, const Fr& x, const Fr& first, Order order) const {
  const Tables tables = tables_of(x, first);
  context_->launch({"zk_times_powers", blocks(), kNttThreads}, uint32_t{log2_}, order == Order::reversed ? 1u : 0u, tables.both(), list);
  context_->synchronize();
}

void Ntt::forward(CUdeviceptr list) const {
  pass(list, Which::forward, Order::plain);
  reorder(list);
}

void Ntt::inverse(CUdeviceptr list) const {
  pass(list, Which::inverse, Order::plain);
  reorder(list);
  times_powers(list, Fr::one(), share_, Order::plain);
}

void Ntt::move_to_coset(CUdeviceptr list, const Fr& shift) const {
  pass(list, Which::inverse, Order::plain);
  times_powers(list, shift, share_, Order::reversed);
  pass(list, Which::forward, Order::reversed);
}

void Ntt::from_coset(CUdeviceptr list, const Fr& shift) const {
  pass(list, Which::inverse, Order::plain);
  times_powers(list, shift.inverted(), share_, Order::reversed);
  reorder(list);
}

void Ntt::divide_out(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, const Fr& factor) const {
  context_->launch({"zk_divide_out", blocks(), kNttThreads}, uint64_t{1} << log2_, factor, b, c, a);
}

void Ntt::cross(CUdeviceptr a, CUdeviceptr b) const {
  pass(a, Which::forward, Order::plain);
  pass(b, Which::forward, Order::plain);
  context_->launch({"zk_cross_values", blocks(), kNttThreads}, uint64_t{1} << log2_, share_, b, a);
  pass(a, Which::inverse, Order::reversed);
}

}  // namespace assay::cuda
