#include "cuda/work/limb_product.hpp"

#include <algorithm>

#include "cuda/work/work_shape.hpp"

namespace assay::cuda {
namespace {

using namespace work;

// One or two planes of an operand that one launch multiplies.
struct PlaneGroup {
  uint32_t first, count;  // plane numbers, the lowest byte is 0
  bool is_signed;
  // The higher plane first; where there is one, twice.
  uint32_t plane(uint32_t p) const { return first + (p < count ? count - 1 - p : 0); }
};
std::vector<PlaneGroup> groups_of(uint32_t planes) {
  if (planes <= 2) return {{0, planes, true}};
  return {{2, planes - 2, true}, {0, 2, false}};
}

TensorMap plane_map(CUdeviceptr at, const Dims& dims, uint64_t pitch, uint32_t box_rows) {
  TensorMap map{};
  const uint64_t sizes[3] = {dims[2], dims[1], dims[0]}, strides[2] = {pitch, dims[1] * pitch};
  const uint32_t box[3] = {kLimbTileK, box_rows, 1}, steps[3] = {1, 1, 1};
  ASSAY_CUDA_CALL(cuTensorMapEncodeTiled, &map, /* bytes */ 0, 3u, reinterpret_cast<void*>(at), sizes, strides, box, steps, 0,
                  /* 128-byte swizzle */ 3, /* promotion to 256 bytes */ 3, 0);
  return map;
}

std::string kernel_of(const char* family, const PlaneGroup& a, const PlaneGroup& b) {
  std::string name = family;
  for (const PlaneGroup* one : {&a, &b}) {
    name += '_';
    name += static_cast<char>('0' + one->count);
    name += one->is_signed ? 's' : 'u';
  }
  return name;
}

uint64_t tiles_of(const LimbProduct& what, uint32_t rows, uint32_t columns) {
  return uint64_t{what.batch} * ((what.m + rows - 1) / rows) * ((what.n + columns - 1) / columns);
}

// Where tiles do not fill the card evenly, blocks share K too, by `places` at once. Their sums meet in
// memory: they need no order.
uint32_t share_depth(LimbProduct& what, uint64_t tiles, uint64_t places) {
  constexpr uint64_t kLeast = 512;                // of K for a part
  const uint64_t kMost = what.packs ? 1 : 64;     // parts: what is packed cannot be added to
  constexpr uint64_t kStore = 1024;  // storing a tile takes as long as multiplying about so much of K
  const uint64_t k = what.k_end - what.k_first;
  const auto cost = [&](uint64_t parts) { return (tiles * parts + places - 1) / places * ((k + parts - 1) / parts + (parts > 1 ? kStore : 0)); };
  uint64_t best = 1;
  for (uint64_t parts = 2; parts <= std::min(kMost, k / kLeast); ++parts)
    if (cost(parts) < cost(best)) best = parts;
  what.k_part = static_cast<uint32_t>((k + best - 1) / best + kLimbTileK - 1) / kLimbTileK * kLimbTileK;
  return limb_parts(what);
}

LimbLaunch by_warpgroups(const Context& context, const Op& op, const PlaneGroup& a, const LimbOperand& left, const PlaneGroup& b,
                         const LimbOperand& right, LimbProduct what) {
  const bool is_narrow = what.n <= kLimbNarrowN && a.count == 2 && b.count == 2 && a.is_signed && b.is_signed;
  const uint32_t tile_n = is_narrow ? kLimbNarrowN : limb_tile_n(a.count, b.count);
  LimbMaps maps{};
  for (uint32_t p = 0; p < 2; ++p) {
    maps.a[p] = plane_map(left.at + a.plane(p) * left.layout.plane_bytes, op.operands[0].dims, left.layout.pitch, kLimbTileM);
    maps.b[p] = plane_map(right.at + b.plane(p) * right.layout.plane_bytes, op.operands[1].dims, right.layout.pitch, tile_n / 2);
  }
  const uint32_t tall = (what.m + kLimbTileM - 1) / kLimbTileM;
  what.apart = what.batch > 1 && tall % 2 == 1 && tall <= 7;
  const uint64_t columns = (what.n + tile_n - 1) / tile_n, pairs = uint64_t{what.apart ? 1 : what.batch} * limb_row_pairs(what) * columns, all = pairs * share_depth(what, pairs, std::max(1u, context.units() / 2));
  const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(2 * all, context.units() & ~1u));
  return {kernel_of(is_narrow ? "limb_narrow" : "limb", a, b), true, blocks, 1, limb_shared_bytes(a.count, b.count, tile_n), maps, {}, what, 0};
}

LimbLaunch by_warps(const Context& context, const PlaneGroup& a, const LimbOperand& left, const PlaneGroup& b, const LimbOperand& right,
                    LimbProduct what) {
  LimbPlanes planes{{}, {}, left.layout.pitch};
  for (uint32_t p = 0; p < 2; ++p) {
    planes.a[p] = reinterpret_cast<const uint8_t*>(left.at + a.plane(p) * left.layout.plane_bytes);
    planes.b[p] = reinterpret_cast<const uint8_t*>(right.at + b.plane(p) * right.layout.plane_bytes);
  }
  const uint64_t blocks = tiles_of(what, kLimbTileM, limb_mma_shape(a.count, b.count, context.compute()).n());
  if (blocks > INT32_MAX) throw EngineError(ErrorCode::unsupported, "a product too large for this card");
  const uint32_t parts = share_depth(what, blocks, context.units());
  return {kernel_of("limb_mma", a, b), false, static_cast<uint32_t>(blocks), parts, limb_mma_shared_bytes(a.count, b.count, context.compute()), {},
          planes, what, 0};
}

}  // namespace

std::vector<LimbLaunch> limb_launches(const Context& context, bool warpgroups, const Op& op, const LimbOperand& left, const LimbOperand& right, bool packs) {
  const Dims &a_dims = op.operands[0].dims, &b_dims = op.operands[1].dims;
  const uint32_t k = a_dims[2];
  std::vector<LimbLaunch> launches;
  for (const PlaneGroup& a : groups_of(left.layout.count))
    for (const PlaneGroup& b : groups_of(right.layout.count)) {
      const uint32_t chunk = a.is_signed && b.is_signed ? kLimbChunk : kLimbChunkUnsigned;
      for (uint32_t first = 0; first < k; first += chunk) {
        const LimbProduct what{op.dims[0], op.dims[1], op.dims[2], first, std::min(k, first + chunk), 0, op.dims[0] / a_dims[0],
                               op.dims[0] / b_dims[0], 8 * (a.first + b.first), !launches.empty(), op.type == Type::i64, 0, packs};
        launches.push_back(warpgroups ? by_warpgroups(context, op, a, left, b, right, what) : by_warps(context, a, left, b, right, what));
        LimbLaunch& made = launches.back();
        if (limb_parts(made.what) > 1 && !made.what.adds) made.clears = element_count(op.dims) * bytes_of(op.type);
      }
    }
  return launches;
}

void run_limbs(const Context& context, const std::vector<LimbLaunch>& launches, CUdeviceptr out, CUstream stream) {
  for (const LimbLaunch& one : launches) {
    if (one.clears > 0) ASSAY_CUDA_CALL(cuMemsetD8Async, out, uint8_t{0}, one.clears, stream);
    const Where where = one.by_warpgroups ? Where::main_in_pairs : Where::main;
    const Launch how{one.kernel.c_str(), one.blocks, one.by_warpgroups ? kLimbThreads : kGemmThreads, one.shared_bytes, where, one.rows, stream};
    if (one.by_warpgroups) context.launch(how, one.maps, one.what, out);
    else context.launch(how, one.planes, one.what, out);
  }
}

void split_planes(const Context& context, CUdeviceptr from, Type type, uint64_t count, const LimbOperand& to, CUstream stream) {
  const PlaneLayout& layout = to.layout;
  // Without a gap between rows all of them are one.
  const bool whole = layout.pitch == layout.k;
  PlaneSplit into{{}, layout.count, whole ? count : layout.pitch};
  for (uint32_t p = 0; p < layout.count; ++p) into.planes[p] = reinterpret_cast<uint8_t*>(to.at + p * layout.plane_bytes);
  const uint64_t k = whole ? count : layout.k, rows = count / k, fours = (k + 3) / 4;
  const auto down = static_cast<uint32_t>(std::min<uint64_t>(rows, 65535)), across = static_cast<uint32_t>(std::min<uint64_t>((fours + 127) / 128, 1u << 20));
  context.launch({"split_planes", across, 128, 0, Where::main, down, stream}, from, static_cast<uint32_t>(type), rows, k, into);
}

}  // namespace assay::cuda
