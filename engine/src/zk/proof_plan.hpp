// What a proof of one segment is about, docs/zk.md §4: links, tables, and the place of each block of values among the commitments. Read from the bytes
// that src/work/plan/encode-plan.ts makes of a plan: all sizes are checked here before memory is taken for any.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace assay::zk {

struct TableShape {
  enum class Kind : uint8_t { range, relu, sign };
  Kind kind;
  unsigned bits;
};

enum class Column : uint8_t {
  features, labels, before, after,
  h, a, m, d, low, low_back, limb0, limb1, multiplicity,
  helper, helper_back, bias_helper, weight_helper, table_helper,
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
  // Of the layers, inputs first.
  std::vector<uint32_t> sizes;
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
  unsigned range_table(unsigned bits) const;
  unsigned relu_table() const { return static_cast<unsigned>(tables.size()) - 3; }
  unsigned h_table() const { return static_cast<unsigned>(tables.size()) - 2; }
  unsigned d_table() const { return static_cast<unsigned>(tables.size()) - 1; }
  const Block& block(Column column, size_t of) const { return blocks.at({column, static_cast<unsigned>(of)}); }
  // What a prover takes at most, on host and device together.
  uint64_t bytes() const;
};

// Throws EngineError bad_request.
ProofPlan read_proof_plan(std::span<const uint8_t> bytes);

}  // namespace assay::zk
