// The transcript of a proof, docs/zk.md §2: a state, to which messages go and from which challenges come.
#pragma once
#include <span>
#include <vector>

#include "core/bn254.hpp"
#include "core/keccak.hpp"

namespace assay::zk {

// 32 bytes, big-endian, modulo the order of the scalars.
Fr scalar_mod_order(const Hash& hash);

// x ‖ y, big-endian; zeros for the point at infinity.
void append(std::vector<uint8_t>& to, const G1Affine& point);
void append(std::vector<uint8_t>& to, const Fr& scalar);
// False: not 64 bytes of a point of the curve in its one spelling.
bool read_point(const uint8_t* bytes, G1Affine& out);

class Transcript {
 public:
  explicit Transcript(const Hash& statement);
  void absorb(uint8_t kind, std::span<const uint8_t> bytes);
  Fr challenge();
  std::vector<Fr> challenges(size_t count);

 private:
  Hash state_;
  bool has_drawn_ = false;
};

}  // namespace assay::zk
