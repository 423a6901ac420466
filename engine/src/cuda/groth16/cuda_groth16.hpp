// Proofs of Groth16 on a card, and what keys of known secrets are made of.
#pragma once
#include "cuda/context.hpp"
#include "zk/groth16/groth16.hpp"

namespace assay::cuda {

// Brings the key to the card.
std::unique_ptr<zk::Groth16Device> cuda_groth16(const std::shared_ptr<const Context>& context, const zk::Groth16Key& key);
std::unique_ptr<zk::PointMaker> cuda_point_maker(const std::shared_ptr<const Context>& context);

}  // namespace assay::cuda
