// Passes over another card's products, for cpu_equals_cuda: with one card, two contexts on it play two cards.
// The copy between them is then a copy within the card; that two cards reach each other is the driver's
// doing.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "cuda/cuda_device.hpp"

namespace assay {

struct PeerCheck {
  std::function<void(bool, const std::string&)> expect;
  std::function<void(ErrorCode, const std::string&, const std::function<void()>&)> expect_thrown;
  std::function<Hash(uint32_t)> numbered;
};

inline bool equal(const Hash& a, const Hash& b) { return std::memcmp(a.b, b.b, 32) == 0; }

// `reference` is the CPU where that is fast enough, else the owner's own pass.
inline void compare_peer(const PeerCheck& t, ProbeKernels& owner, ProbeKernels& peer, ProbeKernels* reference, const GemmSpec& spec, uint32_t slots,
                         const std::string& what) {
  static const std::atomic<bool> go{false}, stop{true};
  const auto kept = owner.keep(spec, slots);
  const auto same_on_reference = reference != nullptr ? reference->keep(spec, slots) : nullptr;
  std::vector<uint32_t> order, turned;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    owner.gemm_round(*kept, slot, t.numbered(slot), go);
    if (reference != nullptr) reference->gemm_round(*same_on_reference, slot, t.numbered(slot), go);
    order.push_back((slot + 1) % slots);
    turned.push_back(slot);
  }
  const Hash nonce = t.numbered(500);
  const Hash want = reference != nullptr ? reference->stream_pass(*same_on_reference, order, nonce, go)
                                         : owner.stream_pass(*kept, order, nonce, go);
  for (int again = 0; again < 3; ++again) t.expect(equal(peer.stream_pass(*kept, order, nonce, go), want), what + ": a peer's pass");
  t.expect(equal(owner.stream_pass(*kept, order, nonce, go), want), what + ": the owner's pass");
  t.expect(!equal(peer.stream_pass(*kept, turned, nonce, go), want), what + ": the order of slots counts for a peer");
  t.expect(!equal(peer.stream_pass(*kept, order, t.numbered(501), go), want), what + ": the nonce counts for a peer");
  const std::vector<uint32_t> beyond = {slots}, none = {};
  t.expect_thrown(ErrorCode::cancelled, what + ": a stopped pass of a peer", [&] { peer.stream_pass(*kept, order, nonce, stop); });
  t.expect_thrown(ErrorCode::bad_request, what + ": a peer's slot that is not there", [&] { peer.stream_pass(*kept, beyond, nonce, go); });
  t.expect_thrown(ErrorCode::bad_request, what + ": a peer's pass over nothing", [&] { peer.stream_pass(*kept, none, nonce, go); });

  // The owner goes on with other products meanwhile, and the peer with its own after it.
  const auto others = owner.keep(spec, 2);
  const Hash root = owner.gemm_round(*others, 0, t.numbered(7), go);
  std::atomic<bool> done{false};
  bool undisturbed = true;
  std::thread work([&] {
    while (!done) undisturbed = undisturbed && equal(owner.gemm_round(*others, 1, t.numbered(7), go), root);
  });
  bool right = true;
  for (int again = 0; again < 8; ++again) right = right && equal(peer.stream_pass(*kept, order, nonce, go), want);
  done = true;
  work.join();
  t.expect(right && undisturbed, what + ": a peer's pass while the owner works");
  const auto own = peer.keep(spec, 1);
  t.expect(equal(peer.gemm_round(*own, 0, t.numbered(7), go), root), what + ": the peer works on its own after it");
  t.expect(equal(peer.stream_pass(*kept, order, nonce, go), want), what + ": and reads again");
}

inline void compare_peers(const PeerCheck& t, ProbeKernels& cpu, cuda::CudaDevice& gpu, bool small) {
  for (const auto which : {cuda::Context::Which::primary, cuda::Context::Which::own}) {
    const std::string how = which == cuda::Context::Which::primary ? "peer in the same context" : "peer in another context";
    cuda::CudaDevice peer(gpu.context().device(), which);
    t.expect(&peer.context() != &gpu.context(), how + ": two devices");
    compare_peer(t, gpu, peer, &cpu, {Precision::int8, 128, 512, 128}, 5, how + ", 128 KiB");
    compare_peer(t, peer, gpu, &cpu, {Precision::fp16, 384, 1536, 256}, 3, how + ", 1.1 MiB, the other way");
    if (small) continue;
    compare_peer(t, gpu, peer, &cpu, {Precision::int8, 2688, 8704, 128}, 3, how + ", 45 MiB");
    compare_peer(t, gpu, peer, nullptr, {Precision::int8, 16384, 16384, 1024}, 6, how + ", 512 MiB");
  }
}

// A card filled by its owner leaves its peer a few percent to work in.
inline void check_full_peer(const PeerCheck& t, cuda::CudaDevice& gpu, Kept& kept, const std::vector<uint32_t>& ring, const GemmSpec& spec) {
  static const std::atomic<bool> go{false};
  const Hash nonce = t.numbered(9), want = gpu.stream_pass(kept, ring, nonce, go);
  for (const auto which : {cuda::Context::Which::primary, cuda::Context::Which::own}) {
    cuda::CudaDevice peer(gpu.context().device(), which);
    peer.stream_pass(kept, {ring.data(), 1}, nonce, go);  // makes its room
    const auto start = std::chrono::steady_clock::now();
    const Hash root = peer.stream_pass(kept, ring, nonce, go);
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    t.expect(equal(root, want), "full card: a peer's pass");
    std::printf("a peer's pass over %.1f GB on the same card, %s context: %.3f s, %.0f GB/s\n", 1e-9 * spec.bytes() * ring.size(),
                which == cuda::Context::Which::primary ? "in the same" : "from another", s,
                1e-9 * spec.bytes() * ring.size() / s);
  }
}

// What the card says while it works. Without NVML all numbers are 0, and that is all that can be said.
inline void check_gauge(const PeerCheck& t, cuda::CudaDevice& gpu) {
  static const std::atomic<bool> go{false};
  const Gauge gauge = gpu.gauge();
  t.expect(static_cast<bool>(gauge), "a card has a gauge");
  const auto kept = gpu.keep({Precision::int8, 16384, 16384, 16384}, 1);
  std::atomic<bool> done{false};
  std::thread work([&] {
    while (!done) gpu.gemm_round(*kept, 0, t.numbered(1), go);
  });
  Reading last;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const auto start = std::chrono::steady_clock::now();
    last = gauge();
    const double ms = 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("reading: %u MHz, memory %u MHz, %.1f W, %u C, reasons 0x%x, in %.2f ms\n", last.core_mhz, last.memory_mhz,
                last.power_mw / 1000.0, last.temperature_c, last.throttle_reasons, ms);
  }
  done = true;
  work.join();
  if (cuda::nvml_api() != nullptr)
    t.expect(last.core_mhz > 100 && last.memory_mhz > 100 && last.power_mw > 1000 && last.temperature_c > 0 && last.temperature_c < 120,
             "readings of a card at work");
  else
    t.expect(last.core_mhz == 0 && last.power_mw == 0, "zeros without NVML");
}

}  // namespace assay
