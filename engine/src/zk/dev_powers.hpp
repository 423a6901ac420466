// Powers of a known τ, docs/zk.md §1: for tests and measurements. Whoever reads this can prove anything over them.
#pragma once
#include <atomic>
#include <vector>

#include "core/bn254.hpp"

namespace assay::zk {

std::vector<G1Affine> dev_powers(size_t count, const std::atomic<bool>& stop);

}  // namespace assay::zk
