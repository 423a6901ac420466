// SHA-256 on the host: the CPU's own instructions where it has them (ARMv8 SHA2, x86 SHA-NI), else
// core/sha256.hpp, which they are tested against. And the tagged hashes of docs/hardware-proof.md §1.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/sha256.hpp"

namespace assay {

enum class Tag { leaf, node, seed, nonce, chase };

struct Sha256Engine {
  const char* name;
  void (*compress)(uint32_t state[8], const uint8_t* blocks, size_t count);
};

// All that this CPU can run, the reference first, the fastest last.
std::span<const Sha256Engine> sha256_engines();

Hash hash_of(const Sha256State& state);
const Sha256State& tag_midstate(Tag tag);  // the state after the tag's block
Hash sha256_bytes(std::span<const uint8_t> bytes);
Hash tagged_hash(Tag tag, std::span<const uint8_t> bytes);
// seed_{r+1} and nonce_{p+1}
Hash chained_hash(Tag tag, const Hash& before, const Hash& root);

Hash leaf_hash(const uint8_t leaf[1024]);
Hash node_hash(const Hash& left, const Hash& right);

}  // namespace assay
