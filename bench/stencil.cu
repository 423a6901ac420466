// The heat simulation of src/work/simulate/heat.ts as a CUDA kernel written by hand: what the engine's own kernel for that program is measured
// against, in one run on one card. The same whole numbers: flows of i32 at 2^24 over four sides, each rounded once.
//   nvcc -O3 -arch=sm_90a bench/stencil.cu -o stencil && ./stencil        prints a JSON line for each size
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

int main() {
  for (const int side : {1024, 4096, 8192}) {
    int32_t* fields[2];
    for (auto& field : fields) cudaMalloc(&field, sizeof(int32_t) * side * side);
    std::vector<int32_t> start(size_t(side) * side);
    for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<int32_t>(i * 2654435761u) >> 4;
    cudaMemcpy(fields[0], start.data(), sizeof(int32_t) * start.size(), cudaMemcpyHostToDevice);
    const dim3 block(64, 8), grid((side + 63) / 64, (side + 7) / 8);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    std::vector<float> times;
    for (int i = 0; i < 60; ++i) {
      cudaEventRecord(begin);
      for (int step = 0; step < 10; ++step) spread<<<grid, block>>>(fields[step % 2], fields[1 - step % 2], side, side);
      cudaEventRecord(end);
      cudaEventSynchronize(end);
      float ms = 0;
      cudaEventElapsedTime(&ms, begin, end);
      times.push_back(ms / 10);
    }
    std::sort(times.begin(), times.end());
    std::printf("{\"what\":\"heat\",\"side\":%d,\"msPerStep\":%.5f}\n", side, times[times.size() / 2]);
    for (auto field : fields) cudaFree(field);
  }
}
