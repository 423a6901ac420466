// Values of polynomials at all 2^log2-th roots of 1 on a card, and back. All addresses are the card's; the
// caller has entered the context.
#pragma once
#include "core/bn254.hpp"
#include "cuda/context.hpp"
#include "ntt_shape.hpp"

namespace assay::cuda {

class Ntt {
 public:
  // 2^log2 numbers; 1 to 28.
  Ntt(std::shared_ptr<const Context> context, unsigned log2);

  // From coefficients to values at root^0, root^1 …, in place, and back.
  void forward(CUdeviceptr list) const;
  void inverse(CUdeviceptr list) const;
  // From values at all roots to those at shift·root^i; from there to coefficients.
  void move_to_coset(CUdeviceptr list, const Fr& shift) const;
  void from_coset(CUdeviceptr list, const Fr& shift) const;
  // (a·b - c)·factor, in the place of a.
  void divide_out(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, const Fr& factor) const;
  // From coefficients of a and b to those of a(X)·b(1/X) + a(1/X)·b(X) modulo X^size − 1, in the place of a;
  // b is used up.
  void cross(CUdeviceptr a, CUdeviceptr b) const;

 private:
  enum class Which { forward, inverse };
  enum class Order { plain, reversed };
  struct Tables {
    Buffer low, high;
    PowerTables both() const { return {reinterpret_cast<const void*>(low.at()), reinterpret_cast<const void*>(high.at())}; }
  };
  // first·x^i.
  Tables tables_of(const Fr& x, const Fr& first) const;
  // From the plain order to reversed bits, or from there.
  void pass(CUdeviceptr list, Which which, Order from) const;
  void reorder(CUdeviceptr list) const;
  void times_powers(CUdeviceptr list, const Fr& x, const Fr& first, Order order) const;
  uint32_t blocks() const { return static_cast<uint32_t>(((uint64_t{1} << log2_) + kNttThreads - 1) / kNttThreads); }

  std::shared_ptr<const Context> context_;
  unsigned log2_;
  Fr share_;
  struct Roots {
    Tables powers;
    Buffer small;
  } roots_[2];
};

}  // namespace assay::cuda
