// Elements of inputs and constants that a seed gives, by the rule of vectors/README.md: several
// implementations run the same program on the same numbers.
#pragma once
#include "core/philox.hpp"
#include "work/program.hpp"

namespace assay_test {

inline std::vector<uint8_t> given_elements(const assay::work::Tensor& tensor, uint32_t number, const assay::PhiloxKey& key) {
  const uint32_t size = assay::work::bytes_of(tensor.type);
  std::vector<uint8_t> bytes(assay::work::element_count(tensor.dims) * size);
  const unsigned __int128 span = static_cast<unsigned __int128>(__int128{tensor.interval.hi} - tensor.interval.lo) + 1;
  for (uint64_t e = 0; e * size < bytes.size(); ++e) {
    const assay::Philox4 block = assay::philox4x32_10(key, static_cast<uint32_t>(e), 11, number, 0);
    const uint64_t word = block.w[0] | uint64_t{block.w[1]} << 32;
    const auto value = static_cast<uint64_t>(tensor.interval.lo + static_cast<__int128>(word % span));
    for (uint32_t b = 0; b < size; ++b) bytes[e * size + b] = static_cast<uint8_t>(value >> (8 * b));
  }
  return bytes;
}

}  // namespace assay_test
