// What every backend shares of a `chase`: the tree over its labels, as they come and when all are there.
// docs/hardware-proof.md §13.
#pragma once
#include <span>
#include <vector>

#include "core/chase.hpp"
#include "core/sha256.hpp"

namespace assay {

// F of an interval: `lefts` are the left siblings on its label's path, bottom up.
Label chase_feed(const Hash& nonce, uint32_t interval, std::span<const Hash> lefts);

// Labels one after the other: the roots of whole subtrees so far are the next label's left siblings.
class LabelFold {
 public:
  explicit LabelFold(const Hash& nonce) : nonce_(nonce) {}
  Label feed() const;  // F of the interval whose label comes next
  void add(const Label& label);

 private:
  Hash nonce_;
  uint32_t count_ = 0;
  std::vector<Hash> lefts_;  // the largest first
};

// A finished chase over the newest `rounds` kept ones, which never change.
class Chase {
 public:
  Chase(uint32_t rounds, const Hash& nonce, std::vector<Label> labels);
  uint32_t intervals() const { return static_cast<uint32_t>(labels_.size()); }
  uint32_t rounds() const { return rounds_; }
  const Hash& nonce() const { return nonce_; }
  const Label& label(uint32_t interval) const { return labels_[interval]; }
  Hash root() const { return levels_.back()[0]; }
  std::vector<Hash> path(uint32_t interval) const;
  Label start(uint32_t interval) const;  // the states that it began with

 private:
  uint32_t rounds_;
  Hash nonce_;
  std::vector<Label> labels_;
  std::vector<std::vector<Hash>> levels_;  // the labels' hashes first; there are a power of two of them
};

}  // namespace assay
