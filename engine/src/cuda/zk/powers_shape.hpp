// What the kernels of powers.cu and their launcher (msm.cpp) agree on: what a thread makes.
#pragma once
#include <cstdint>

namespace assay::cuda {

constexpr uint32_t kPowersEach = 16, kMultiplesEach = 8;

}  // namespace assay::cuda
