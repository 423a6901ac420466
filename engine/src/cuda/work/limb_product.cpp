#include "cuda/work/limb_product.hpp"

#include <algorithm>
#include <map>

#include "cuda/work/work_shape.hpp"

namespace assay::cuda {
namespace {

using namespace work;

// One or two planes of an operand that one launch multiplies.
struct PlaneGroup {
  uint32_t first, count;  // plane numbers, the lowest byte is 0
  bool is_signed;
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

const char* limb_kernel(const PlaneGroup& a, const PlaneGroup& b) {
  static const std::map<std::array<uint32_t, 4>, const char*> kernels = {
      {{1, 1, 1, 1}, "limb_1s_1s"}, {{1, 1, 2, 1}, "limb_1s_2s"}, {{2, 1, 1, 1}, "limb_2s_1s"},
      {{2, 1, 2, 1}, "limb_2s_2s"}, {{1, 1, 2, 0}, "limb_1s_2u"}, {{2, 0, 1, 1}, "limb_2u_1s"},
      {{2, 1, 2, 0}, "limb_2s_2u"}, {{2, 0, 2, 1}, "limb_2u_2s"}, {{2, 0, 2, 0}, "limb_2u_2u"}};
  return kernels.at({a.count, a.is_signed, b.count, b.is_signed});
}

}  // namespace

bool has_limb_kernels(const Context& context) { return context.has_warpgroups(); }

std::vector<LimbLaunch> limb_launches(const Context& context, const Op& op, const LimbOperand& left, const LimbOperand& right) {
  const Dims &a_dims = op.operands[0].dims, &b_dims = op.operands[1].dims;
  const uint32_t k = a_dims[2];
  std::vector<LimbLaunch> launches;
  for (const PlaneGroup& a : groups_of(left.layout.count))
    for (const PlaneGroup& b : groups_of(right.layout.count)) {
      const uint32_t chunk = a.is_signed && b.is_signed ? kLimbChunk : kLimbChunkUnsigned;
      const uint32_t tile_n = limb_tile_n(a.count, b.count);
      LimbMaps maps{};
      for (uint32_t p = 0; p < 2; ++p) {
        // The higher plane first.
        const uint32_t in_a = a.first + (p < a.count ? a.count - 1 - p : 0), in_b = b.first + (p < b.count ? b.count - 1 - p : 0);
        maps.a[p] = plane_map(left.at + in_a * left.layout.plane_bytes, a_dims, left.layout.pitch, kLimbTileM);
        maps.b[p] = plane_map(right.at + in_b * right.layout.plane_bytes, b_dims, right.layout.pitch, tile_n / 2);
      }
      for (uint32_t first = 0; first < k; first += chunk) {
        const LimbProduct what{op.dims[0], op.dims[1], op.dims[2], first, std::min(k, first + chunk), op.dims[0] / a_dims[0],
                               op.dims[0] / b_dims[0], 8 * (a.first + b.first), !launches.empty(), op.type == Type::i64};
        const uint64_t tiles = uint64_t{what.batch} * ((what.m + 2 * kLimbTileM - 1) / (2 * kLimbTileM)) * ((what.n + tile_n - 1) / tile_n);
        const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(2 * tiles, context.units() & ~1u));
        launches.push_back({limb_kernel(a, b), blocks, limb_shared_bytes(a.count, b.count), maps, what});
      }
    }
  return launches;
}

void run_limbs(const Context& context, const std::vector<LimbLaunch>& launches, CUdeviceptr out, CUstream stream) {
  for (const LimbLaunch& one : launches)
    context.launch({one.kernel, one.blocks, kLimbThreads, one.shared_bytes, Where::main_in_pairs, 1, stream}, one.maps, one.what, out);
}

void split_planes(const Context& context, CUdeviceptr from, Type type, uint64_t count, const LimbOperand& to, CUstream stream) {
  const PlaneLayout& layout = to.layout;
  PlaneSplit into{{}, layout.count, layout.pitch};
  for (uint32_t p = 0; p < layout.count; ++p) into.planes[p] = reinterpret_cast<uint8_t*>(to.at + p * layout.plane_bytes);
  // Without a gap between rows all of them are one.
  const bool whole = layout.pitch == layout.k;
  const uint64_t k = whole ? count : layout.k, rows = count / k, fours = (k + 3) / 4;
  const auto down = static_cast<uint32_t>(std::min<uint64_t>(rows, 65535)), across = static_cast<uint32_t>(std::min<uint64_t>((fours + 127) / 128, 1u << 20));
  context.launch({"split_planes", across, 128, 0, Where::main, down, stream}, from, static_cast<uint32_t>(type), rows, k, into);
}

}  // namespace assay::cuda
