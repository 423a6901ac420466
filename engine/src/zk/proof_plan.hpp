// What a proof of one segment is about, docs/zk.md §4: links, tables, and the place of each block of values
// among the commitments. Read from the bytes that src/work/plan/encode-plan.ts makes of a plan: all sizes are
// checked here before memory is taken for any.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "zk/window.hpp"

namespace assay::zk {

struct TableShape {
  enum class Kind : uint8_t { range, relu, sign, exp };
  Kind kind;
  unsigned bits;
};

// Bits of a number in two parts, the lower first.
struct TwoParts {
  unsigned low, high;
};

enum class Column : uint8_t {
  features, labels, before, after,
  h, a, m, d, low, low_back, limb0, limb1, multiplicity,
  exp, top, low_score, peak, inverse, inverse0, remainder0, rest0,
  helper, helper_back, bias_helper, weight_helper, table_helper,
  score_helper, inverse_helper, remainder_helper, rest_helper,
};

// A power of two of values, at a multiple of their number.
struct Block {
  uint64_t at;
  unsigned bits;
};

constexpr unsigned kGroups = 6;
// The first four are of the statement; helpers are committed after the challenges that they need.
enum GroupNumber : unsigned { kFeatures, kLabels, kBefore, kAfter, kValues, kHelpers };
struct Group {
  uint64_t first_chunk, chunks;
  // Of the group with zeros up to a power of two.
  unsigned bits;
};

// ⌈log₂ n⌉
unsigned bits_for(uint64_t n);

struct ProofPlan {
  unsigned chunk_bits, step_bits, batch_bits, row_bits, scale, low_bits, h, d, activation, gradient;
  std::array<unsigned, 3> limbs;
  // Powers of a known τ, made here.
  bool is_dev;
  // Weights come as 64 bits each, of which 40 are used; else as 32.
  bool is_wide;
  // Numbers of a row or picture, then units of each link.
  std::vector<uint32_t> sizes;
  // By link: of those that are convolutions. K of a loss by softmax; 0: half the squared error. docs/zk.md
  // §14.
  std::vector<std::optional<Window>> windows;
  unsigned quotient;
  std::vector<TableShape> tables;
  std::array<Group, kGroups> groups;
  std::map<std::pair<Column, unsigned>, Block> blocks;
  // All groups together have 2^bits values.
  unsigned bits;

  size_t links() const { return sizes.size() - 1; }
  unsigned size_bits(size_t layer) const { return bits_for(sizes[layer]); }
  uint64_t width(size_t layer) const { return uint64_t{1} << size_bits(layer); }
  unsigned place_bits() const { return step_bits + batch_bits; }
  uint64_t places() const { return uint64_t{1} << place_bits(); }
  uint64_t steps() const { return uint64_t{1} << step_bits; }
  uint64_t batch() const { return uint64_t{1} << batch_bits; }
  uint64_t rows() const { return uint64_t{1} << row_bits; }
  uint64_t chunk() const { return uint64_t{1} << chunk_bits; }
  // No weight that is given has more bits than this, without its sign.
  unsigned weight_bits() const { return is_wide ? 39 : 31; }
  bool is_last(size_t link) const { return link + 1 == links(); }
  bool is_softmax() const { return quotient != 0; }
  // The only plans that cards and contracts know.
  bool is_plain() const;
  // Places of a link's window; columns of its patches, or its inputs; channels that come out, or its units.
  uint64_t spots(size_t link) const { return windows[link] ? windows[link]->places() : 1; }
  uint64_t inputs(size_t link) const { return windows[link] ? windows[link]->columns() : sizes[link]; }
  uint64_t outputs(size_t link) const { return sizes[link + 1] / spots(link); }
  unsigned spot_bits(size_t link) const { return bits_for(spots(link)); }
  unsigned input_bits(size_t link) const { return bits_for(inputs(link)); }
  unsigned output_bits(size_t link) const { return bits_for(outputs(link)); }
  // A bias is added to the link's last unit: patches have a column of their own for it.
  bool is_biased(size_t link) const { return !is_last(link) && !windows[link + 1]; }
  // Of what rounding a score loses, of ⌊2^K / Σ e⌋, of Σ e.
  TwoParts score_parts() const { return two_parts(quotient - gradient); }
  TwoParts inverse_parts() const { return two_parts(quotient - gradient + 1); }
  TwoParts sum_parts() const { return two_parts(gradient + size_bits(links())); }
  unsigned range_table(unsigned bits) const;
  unsigned relu_table() const { return d_table() - 2; }
  unsigned h_table() const { return d_table() - 1; }
  unsigned d_table() const { return static_cast<unsigned>(tables.size()) - (is_softmax() ? 2 : 1); }
  unsigned exp_table() const { return static_cast<unsigned>(tables.size()) - 1; }
  // e^(-u) of softmax, for each distance u.
  std::vector<int64_t> exp_rows() const;
  const Block& block(Column column, size_t of) const { return blocks.at({column, static_cast<unsigned>(of)}); }
  // What a prover takes at most, on host and device together.
  uint64_t bytes() const;

 private:
  static TwoParts two_parts(unsigned of) { return {of - of / 2, of / 2}; }
};

// Throws EngineError bad_request.
ProofPlan read_proof_plan(std::span<const uint8_t> bytes);

}  // namespace assay::zk
