// The heat simulation of src/work/simulate/heat.ts as a CUDA kernel written by hand: what the engine's own
// kernel for that program is measured against, in one run on one card. The same whole numbers: flows of i32
// at 2^24 over four sides, each rounded once.
//   nvcc -O3 -arch=sm_90a bench/stencil.cu -o stencil && ./stencil        prints a JSON line for each size
//     and kernel
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int64_t RATE = 3355443;  // 0.2 at 2^24
constexpr int32_t LIMIT = 64 << 24;

__device__ int64_t flow(int64_t low, int64_t high) { return ((high - low) * RATE + (1 << 23)) >> 24; }

__global__ void spread(const int32_t* __restrict__ from, int32_t* __restrict__ to, int rows, int columns) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const auto value = [&](int row, int column) -> int64_t { return from[int64_t{(row + rows) % rows} * columns + (column + columns) % columns]; };
  const int64_t here = value(y, x);
  const int64_t moved = here + flow(here, value(y, x + 1)) - flow(value(y, x - 1), here) + flow(here, value(y + 1, x)) - flow(value(y - 1, x), here);
  to[int64_t{y} * columns + x] = static_cast<int32_t>(min(max(moved, int64_t{-LIMIT}), int64_t{LIMIT}));
}

// Four cells a thread: rows in accesses of 16 bytes, a flow between two of them found once, no division.
__global__ void spread_fours(const int32_t* __restrict__ from, int32_t* __restrict__ to, int rows, int columns) {
  const int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int64_t above = int64_t{y == 0 ? rows - 1 : y - 1} * columns, here = int64_t{y} * columns, below = int64_t{y == rows - 1 ? 0 : y + 1} * columns;
  const int4 a = *reinterpret_cast<const int4*>(from + above + x), h = *reinterpret_cast<const int4*>(from + here + x),
             b = *reinterpret_cast<const int4*>(from + below + x);
  const int32_t up[4] = {a.x, a.y, a.z, a.w}, down[4] = {b.x, b.y, b.z, b.w};
  const int32_t own[6] = {from[here + (x == 0 ? columns - 1 : x - 1)], h.x, h.y, h.z, h.w, from[here + (x + 4 == columns ? 0 : x + 4)]};
  int64_t along[5];
  for (int i = 0; i < 5; ++i) along[i] = flow(own[i], own[i + 1]);
  int32_t out[4];
  for (int i = 0; i < 4; ++i) {
    const int64_t moved = own[i + 1] + along[i + 1] - along[i] + flow(own[i + 1], down[i]) - flow(up[i], own[i + 1]);
    out[i] = static_cast<int32_t>(min(max(moved, int64_t{-LIMIT}), int64_t{LIMIT}));
  }
  *reinterpret_cast<int4*>(to + here + x) = {out[0], out[1], out[2], out[3]};
}

using Kernel = void (*)(const int32_t*, int32_t*, int, int);

double time_one(Kernel kernel, int cells, int32_t* const* fields, int side) {
  const dim3 block(64 / cells, 8), grid((side + 63) / 64, (side + 7) / 8);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 60; ++i) {
    cudaEventRecord(begin);
    for (int step = 0; step < 10; ++step) kernel<<<grid, block>>>(fields[step % 2], fields[1 - step % 2], side, side);
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    times.push_back(ms / 10);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int main() {
  for (const int side : {1024, 4096, 8192}) {
    int32_t* fields[2];
    for (auto& field : fields) cudaMalloc(&field, sizeof(int32_t) * side * side);
    std::vector<int32_t> start(size_t(side) * side);
    for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int32_t>(i * 2654435761u) >> 4;
    std::vector<int32_t> ends[2];
    for (const int cells : {1, 4}) {
      cudaMemcpy(fields[0], start.data(), sizeof(int32_t) * start.size(), cudaMemcpyHostToDevice);
      const double ms = time_one(cells == 1 ? spread : spread_fours, cells, fields, side);
      auto& last = ends[cells == 4];
      last.resize(start.size());
      cudaMemcpy(last.data(), fields[0], sizeof(int32_t) * start.size(), cudaMemcpyDeviceToHost);
      std::printf("{\"what\":\"heat\",\"side\":%d,\"cellsAThread\":%d,\"msPerStep\":%.5f}\n", side, cells, ms);
    }
    if (ends[0] != ends[1] || cudaGetLastError() != cudaSuccess) return std::puts("the two differ"), 1;
    for (auto field : fields) cudaFree(field);
  }
}
