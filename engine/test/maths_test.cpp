// core/ and the host's hashes and trees: known answers, the vectors that TypeScript reads too, fast against
// reference.
// Usage: maths_test FOLDER_OF_VECTORS [few]   few: a part of what is repeated, for builds that check
//                                             themselves
#include "kit/groth16_checks.hpp"
#include "kit/check.hpp"
#include "core/chase.hpp"
#include "core/recurrence.hpp"
#include "cpu/kernels.hpp"
#include "cpu/sha256_host.hpp"
#include "cpu/tree.hpp"
#include "zk/cpu/cpu_proof.hpp"
#include "zk/prove_session.hpp"
#include "zk/run/run_fold.hpp"
#include "kit/drawn_segment.hpp"
#include "kit/paths.hpp"
#include "kit/proof_memory_checks.hpp"
#include "kit/vector_file.hpp"

using namespace assay;
using namespace assay_test;

namespace {

const std::atomic<bool> kGo{false};

// The rule of vectors/README.md for made-up leaves.
std::vector<uint8_t> ruled_leaf(const Hash& seed, uint32_t index) {
  std::vector<uint8_t> leaf(1024);
  for (uint32_t block = 0; block < 64; ++block) {
    const Philox4 p = philox4x32_10(philox_key(seed.b), block, 9, index, 0);
    memcpy(leaf.data() + 16 * block, p.w, 16);
  }
  return leaf;
}

// Salmon et al.'s own known answers: all zeros, all ones, digits of pi.
void test_philox() {
  const Philox4 zero = philox4x32_10({0, 0}, 0, 0, 0, 0);
  check(zero.w[0] == 0x6627e8d5 && zero.w[1] == 0xe169c58d && zero.w[2] == 0xbc57ac4c && zero.w[3] == 0x9b00dbd8, "philox zeros");
  const uint32_t f = 0xffffffff;
  const Philox4 ones = philox4x32_10({f, f}, f, f, f, f);
  check(ones.w[0] == 0x408f276d && ones.w[1] == 0x41c83b0e && ones.w[2] == 0xa20bc7c6 && ones.w[3] == 0x6d5451fd, "philox ones");
  const Philox4 pi = philox4x32_10({0xa4093822, 0x299f31d0}, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344);
  check(pi.w[0] == 0xd16cfe09 && pi.w[1] == 0x94fdcceb && pi.w[2] == 0x5001e420 && pi.w[3] == 0x24126ea1, "philox pi");
  const Philox4 other = philox4x32_10({1, 0}, 0, 0, 0, 0);
  check(other.w[0] != zero.w[0], "another key gives another block");
}

std::span<const uint8_t> bytes_of_text(const std::string& s) { return {reinterpret_cast<const uint8_t*>(s.data()), s.size()}; }

// FIPS 180-4's examples, and every length around a block's end.
void test_sha256() {
  const auto hex = [](const Hash& h) { return to_hex(h.b, 32); };
  check(hex(sha256_bytes({})) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sha256 of nothing");
  check(hex(sha256_bytes(bytes_of_text("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "sha256 abc");
  check(hex(sha256_bytes(bytes_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))) ==
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        "sha256 two blocks");
  check(hex(sha256_bytes(bytes_of_text(std::string(1000000, 'a')))) ==
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        "sha256 a million times a");
}

void test_sha256_engines() {
  const auto engines = sha256_engines();
  printf("sha256 engines: %zu, best %s\n", engines.size(), engines.back().name);
  std::vector<uint8_t> bytes(64 * 40);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i * 31 + i / 7);
  for (const Sha256Engine& engine : engines) {
    for (size_t blocks = 0; blocks <= 40; ++blocks) {
      uint32_t want[8], got[8];
      for (uint32_t i = 0; i < 8; ++i) want[i] = got[i] = i * 0x9E3779B1u + static_cast<uint32_t>(blocks);
      engines[0].compress(want, bytes.data(), blocks);
      engine.compress(got, bytes.data(), blocks);
      check(memcmp(want, got, 32) == 0, std::string("sha256 engine ") + engine.name + ", blocks " + std::to_string(blocks));
    }
  }
}

void test_host_hashes() {
  const std::vector<uint8_t> leaf = ruled_leaf(seed_of(1), 3);
  check(same(leaf_hash(leaf.data()), reference_leaf(leaf)), "leaf hash is core's");
  const Hash a = seed_of(4), b = seed_of(5);
  check(same(node_hash(a, b), reference_node(a, b)), "node hash is core's");
  check(!same(node_hash(a, b), node_hash(b, a)), "a node's children have an order");
  check(!same(chained_hash(Tag::seed, a, b), chained_hash(Tag::nonce, a, b)), "tags differ");
  check(!same(chained_hash(Tag::seed, a, b), node_hash(a, b)), "a seed is no node");
}

void test_trees() {
  ThreadPool pool(2);
  const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 31, 33, 255, 256, 257, 300, 511, 513, 1000};
  for (const uint32_t count : counts) {
    std::vector<std::vector<uint8_t>> leaves;
    for (uint32_t i = 0; i < count; ++i) leaves.push_back(ruled_leaf(seed_of(count), i));
    const Hash want = reference_root(leaves);
    for (const unsigned chunk_log2 : {0u, 1u, 4u, 8u}) {
      const ChunkedTree tree(
          pool, count, chunk_log2,
          [&](uint64_t first, uint32_t n, Hash* out) {
            for (uint32_t i = 0; i < n; ++i) out[i] = leaf_hash(leaves[first + i].data());
          },
          kGo);
      const std::string name = "tree of " + std::to_string(count) + ", chunks of 2^" + std::to_string(chunk_log2);
      check(same(tree.root(), want), name);
      std::vector<uint32_t> places = {0, count - 1, count / 2, count / 3, count - 1};
      auto openings = tree.open(pool, places, [&](uint64_t i, uint8_t* out) { memcpy(out, leaves[i].data(), 1024); });
      for (size_t i = 0; i < places.size(); ++i) {
        check(openings[i].index == places[i] && leads_to(openings[i], count, want), name + ", leaf " + std::to_string(places[i]));
      }
      Opening bad = openings[2];
      bad.leaf[17] ^= 1;
      check(!leads_to(bad, count, want), name + ": a changed leaf is seen");
      bad = openings[2];
      bad.path.push_back(want);
      check(!leads_to(bad, count, want), name + ": a longer path is seen");
    }
  }
  std::atomic<bool> stop{true};
  bool cancelled = false;
  try {
    ChunkedTree(pool, 1000, 4, [](uint64_t, uint32_t, Hash*) {}, stop);
  } catch (const EngineError& e) {
    cancelled = e.code() == ErrorCode::cancelled;
  }
  check(cancelled, "a stopped tree throws cancelled");
}

void test_pool() {
  ThreadPool pool(3);
  for (const uint64_t count : {0u, 1u, 2u, 100u, 10000u}) {
    std::atomic<uint64_t> sum{0};
    pool.run(count, [&](uint64_t i) { sum += i + 1; });
    check(sum == count * (count + 1) / 2, "the pool visits every index once");
  }
  bool threw = false;
  try {
    pool.run(100, [](uint64_t i) {
      if (i == 50) throw std::runtime_error("fifty");
    });
  } catch (const std::runtime_error&) {
    threw = true;
  }
  check(threw, "an exception in the pool comes out");
  std::atomic<int> after{0};
  pool.run(10, [&](uint64_t) { ++after; });
  check(after == 10, "the pool works on after an exception");
}

void test_vectors(const std::string& folder) {
  for (const Row& r : read_vectors(folder, "philox")) {
    const Philox4 p = philox4x32_10({r.u32("k0"), r.u32("k1")}, r.u32("c0"), r.u32("c1"), r.u32("c2"), r.u32("c3"));
    check(p.w[0] == r.u32("w0") && p.w[1] == r.u32("w1") && p.w[2] == r.u32("w2") && p.w[3] == r.u32("w3"), "philox.json");
  }
  for (const Row& r : read_vectors(folder, "entries")) {
    const Hash seed = hash_from_hex(r.text("seed"));
    const uint64_t index = static_cast<uint64_t>(r.number("row") * r.number("k") + r.number("col"));
    check(matrix_entry(precision_named(r.text("precision")), philox_key(seed.b), r.u32("matrix"), index) == r.number("entry"),
          "entries.json " + r.text("precision"));
  }
  const std::map<std::string, Tag> tags = {
      {"assay/leaf/1", Tag::leaf}, {"assay/node/1", Tag::node}, {"assay/seed/1", Tag::seed}, {"assay/nonce/1", Tag::nonce},
      {"assay/chase/1", Tag::chase}};
  unsigned tagged = 0;
  for (const Row& r : read_vectors(folder, "tagged-hash")) {
    const auto tag = tags.find(r.text("tag"));
    if (tag == tags.end()) continue;  // tags of the verifier alone
    ++tagged;
    check(to_hex(tagged_hash(tag->second, from_hex(r.text("input"))).b, 32) == r.text("hash"), "tagged-hash.json " + r.text("tag"));
  }
  check(tagged > 0, "tagged-hash.json has the engine's tags");
  ThreadPool pool(2);
  for (const Row& r : read_vectors(folder, "sha-tree")) {
    const Hash seed = hash_from_hex(r.text("seed"));
    const uint32_t count = r.u32("count"), index = r.u32("index");
    const ChunkedTree tree(
        pool, count, 4,
        [&](uint64_t first, uint32_t n, Hash* out) {
          for (uint32_t i = 0; i < n; ++i) out[i] = leaf_hash(ruled_leaf(seed, static_cast<uint32_t>(first) + i).data());
        },
        kGo);
    std::string path;
    const auto openings = tree.open(pool, std::span(&index, 1), [](uint64_t, uint8_t*) {});
    for (const Hash& node : openings[0].path) path += to_hex(node.b, 32);
    check(to_hex(tree.root().b, 32) == r.text("root") && path == r.text("path"), "sha-tree.json " + r.text("count"));
  }
  const assay_kernels::Kernels* sets[assay_kernels::kMaxSets];
  const size_t set_count = assay_kernels::usable_kernels(sets);
  for (const Row& r : read_vectors(folder, "mix")) {
    const Hash nonce = hash_from_hex(r.text("nonce"));
    const std::vector<uint8_t> leaf = ruled_leaf(hash_from_hex(r.text("seed")), r.u32("leaf"));
    uint32_t words[256];
    memcpy(words, leaf.data(), 1024);
    const Digest d = mix_leaf(mix_keys(nonce.b), words, r.u32("keptLeaf"));
    uint8_t bytes[8];
    memcpy(bytes, &d, 8);
    check(to_hex(bytes, 8) == r.text("digest"), "mix.json");
    for (size_t i = 0; i < set_count; ++i) {
      uint32_t digest[2];
      sets[i]->mix(nonce.b, leaf.data(), r.u32("keptLeaf"), 1, digest);
      check(digest[0] == d.a && digest[1] == d.b, std::string("mix.json, kernels ") + sets[i]->name);
    }
  }
  for (const Row& r : read_vectors(folder, "hop")) {
    const uint64_t state = std::stoull(r.text("state"), nullptr, 16);
    const std::vector<uint8_t> leaf = ruled_leaf(hash_from_hex(r.text("seed")), r.u32("leaf"));
    uint32_t words[256];
    memcpy(words, leaf.data(), 1024);
    MixKeys keys = mix_keys(hash_from_hex(r.text("nonce")).b);
    keys.start = static_cast<uint32_t>(state);
    const uint64_t next = hop_end(state, mix_leaf(keys, words, static_cast<uint32_t>(state >> 32)));
    check(next == std::stoull(r.text("next"), nullptr, 16), "hop.json: the next state");
    check(hop_target(state, 1, r.u32("leaves")).q == r.u32("target"), "hop.json: the target");
    // However many rounds the leaves lie in, the place is the quotient and the rest.
    for (const uint32_t rounds : {1u, 3u, 267u, 1u << 20}) {
      const uint32_t leaves = 128 * (1 + static_cast<uint32_t>(next >> 48));
      const HopTarget target = hop_target(next, rounds, leaves);
      check(target.round == target.q / leaves && target.leaf == target.q % leaves && target.round < rounds, "a hop's round and leaf");
    }
  }
  for (const Row& r : read_vectors(folder, "recurrence")) {
    const PhiloxKey key = philox_key(hash_from_hex(r.text("seed")).b);
    const Precision p = precision_named(r.text("precision"));
    const uint32_t lane = r.u32("lane"), steps = r.u32("steps");
    const uint64_t bits = p == Precision::fp64   ? run_lane<LaneF64>(key, lane, steps)
                          : p == Precision::fp32 ? run_lane<LaneF32>(key, lane, steps)
                                                 : run_lane<LaneI32>(key, lane, steps);
    check(bits == std::stoull(r.text("bits"), nullptr, 16), "recurrence.json " + r.text("precision"));
  }
  for (const Row& r : read_vectors(folder, "fma")) {
    const auto bits = [&](const char* key) { return std::stoull(r.text(key), nullptr, 16); };
    if (r.text("precision") == "fp32") {
      const auto f = [&](const char* key) { return bit_copy<float>(static_cast<uint32_t>(bits(key))); };
      check(bit_copy<uint32_t>(fmaf(f("a"), f("b"), f("c"))) == bits("r"), "fma.json fp32");
    } else {
      const auto f = [&](const char* key) { return bit_copy<double>(static_cast<uint64_t>(bits(key))); };
      check(bit_copy<uint64_t>(::fma(f("a"), f("b"), f("c"))) == bits("r"), "fma.json fp64");
    }
  }
}

// By several threads, all of which are done when it is there.
void test_mask(bool has_few) {
  constexpr size_t kCount = (1 << 16) + 1;
  Hash secret{};
  secret.b[31] = 9;
  bool are_right = true;
  for (int time = 0; time < (has_few ? 2 : 10); ++time) {
    const zk::FoldMask mask = zk::mask_of(secret, kCount);
    are_right = are_right && mask.size() == kCount;
    for (size_t i = 0; i < kCount; i += 4095) {
      uint8_t bytes[36] = {};
      bytes[31] = 9;
      for (size_t k = 0; k < 4; ++k) bytes[32 + k] = static_cast<uint8_t>(i >> (24 - 8 * k));
      are_right = are_right && mask[i] == zk::scalar_mod_order(keccak256(bytes, sizeof bytes));
    }
  }
  check(are_right && zk::mask_of(Hash{}, kCount).empty(), "the mask of a fold");
}

// What an opening of a run is made of: by one thread and by several, and by its definition.
void test_crossed() {
  ThreadPool one(1), several(3);
  const auto a = zk::CpuProof(one).prepare(0), b = zk::CpuProof(several).prepare(0);
  MemoryChecks crossed(*a, *b, [](bool holds, const std::string& what) { check(holds, what); });
  for (const size_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 100, 256, 257}) {
    crossed.check_crossed(count, count, true);
    crossed.check_crossed(count, count - (count + 2) / 3, true);
  }
  for (const size_t count : {4096, 6000, 8192}) crossed.check_crossed(count + 1, count, false);
}

// A device that does not run what a plan has says so before it takes memory, so that whoever asks can ask
// another.
void test_wide_plans() {
  struct PlainKernels : zk::CpuProof {
    using CpuProof::CpuProof;
    bool runs_wide_plans() const override { return false; }
  };
  ThreadPool pool(1);
  zk::CpuProof host(pool);
  PlainKernels card(pool);
  const auto answer = [](zk::ProofKernels& kernels, const std::vector<uint8_t>& plan) -> std::string {
    try {
      zk::ProveSession session(kernels, plan);
      return "";
    } catch (const EngineError& error) {
      return (error.code() == ErrorCode::unsupported ? "unsupported: " : "another code: ") + std::string(error.what());
    }
  };
  check(answer(host, softmax_plan()).empty(), "softmax on a CPU");
  check(answer(card, softmax_plan()) == "unsupported: this device proves no convolutions and no softmax: the engine's CPU does", "softmax on a card");
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_few = argc > 2 && std::string(argv[2]) == "few";
  test_mask(has_few);
  test_crossed();
  test_wide_plans();
  test_philox();
  test_sha256();
  test_sha256_engines();
  test_host_hashes();
  test_pool();
  test_trees();
  try {
    if (argc < 2) throw std::runtime_error("usage: maths_test FOLDER_OF_VECTORS [few]");
    test_vectors(argv[1]);
    test_bn254(argv[1]);
    test_groth16(argv[1], has_few);
  } catch (const std::exception& e) {
    check(false, e.what());
  }
  return report();
}
