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
// Imaginary parts first.
void append(std::vector<uint8_t>& to, const G2Affine& point);
// False: not 64 bytes of a point of the curve in its one spelling, or 128 of one of the second curve.
bool read_point(const uint8_t* bytes, G1Affine& out);
bool read_point(const uint8_t* bytes, G2Affine& out);

// What a prover talks to: messages go in, challenges come out.
class Dialogue {
 public:
  virtual ~Dialogue() = default;
  virtual void absorb(uint8_t kind, std::span<const uint8_t> bytes) = 0;
  virtual Fr challenge() = 0;
  std::vector<Fr> challenges(size_t count);
};

class Transcript final : public Dialogue {
 public:
  explicit Transcript(const Hash& statement);
  void absorb(uint8_t kind, std::span<const uint8_t> bytes) override;
  Fr challenge() override;

 private:
  Hash state_;
  bool has_drawn_ = false;
};

}  // namespace assay::zk
