// Powers of a known τ, docs/zk.md §1: for tests and measurements. Whoever reads this can prove anything over
// them.
#pragma once
#include <atomic>
#include <vector>

#include "core/bn254.hpp"

namespace assay::zk {

Fr dev_tau();
// [τ^0], [τ^1] …, on one thread.
std::vector<G1Affine> powers_of(const Fr& tau, size_t count, const std::atomic<bool>& stop);

}  // namespace assay::zk
