#include "kernels/cuda/key_sort.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostSortedInTile = 2048;  // keys: 16 KiB of shared memory
constexpr int64_t kMostSorted = int64_t{1} << 24;
constexpr int64_t kSortStepThreads = 256;

constexpr std::string_view kSortKernels = R"cuda(
// Batcher's bitonic network. Keys whose number lacks the bit `run` rise, the others fall.
HONE_FUNCTION void hone_exchange(HoneKey& low, HoneKey& high, bool rises) {
  if ((low > high) == rises) {
    const HoneKey other = low;
    low = high;
    high = other;
  }
}
HONE_FUNCTION void hone_merge_in_tile(HoneKey* tile, int from, hone_i64 begin, hone_i64 run) {
  for (int distance = from; distance > 0; distance /= 2) {
    __syncthreads();
    const int at = (int)threadIdx.x / distance * 2 * distance + (int)threadIdx.x % distance;
    hone_exchange(tile[at], tile[at + distance], ((begin + at) & run) == 0);
  }
}
extern "C" __global__ void __launch_bounds__(kTile / 2, 1) hone_sort_tiles(HoneKey* keys) {
  __shared__ HoneKey tile[kTile];
  const hone_i64 begin = (hone_i64)blockIdx.x * kTile;
  const int t = (int)threadIdx.x;
  tile[t] = keys[begin + t];
  tile[t + kTile / 2] = keys[begin + t + kTile / 2];
  for (int run = 2; run <= kTile; run *= 2) hone_merge_in_tile(tile, run / 2, begin, run);
  __syncthreads();
  keys[begin + t] = tile[t];
  keys[begin + t + kTile / 2] = tile[t + kTile / 2];
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_sort_step(HoneKey* keys, hone_i64 distance, hone_i64 run) {
  const hone_i64 pair = hone_thread();
  if (pair >= kSorted / 2) return;
  const hone_i64 at = pair / distance * 2 * distance + pair % distance;
  HoneKey low = keys[at], high = keys[at + distance];
  hone_exchange(low, high, (at & run) == 0);
  keys[at] = low;
  keys[at + distance] = high;
}
extern "C" __global__ void __launch_bounds__(kTile / 2, 1) hone_merge_tiles(HoneKey* keys, hone_i64 run) {
  __shared__ HoneKey tile[kTile];
  const hone_i64 begin = (hone_i64)blockIdx.x * kTile;
  const int t = (int)threadIdx.x;
  tile[t] = keys[begin + t];
  tile[t + kTile / 2] = keys[begin + t + kTile / 2];
  hone_merge_in_tile(tile, kTile / 2, begin, run);
  __syncthreads();
  keys[begin + t] = tile[t];
  keys[begin + t + kTile / 2] = tile[t + kTile / 2];
}
)cuda";

}  // namespace

Result<KeySort> plan_key_sort(int64_t keys) {
  if (keys < 1 || keys > kMostSorted) return unsupported(fmt::format("a sort of {} keys", keys));
  KeySort sort;
  sort.sorted = std::max<int64_t>(64, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(keys))));
  sort.tile = std::min(sort.sorted, kMostSortedInTile);
  sort.step_blocks = (sort.sorted / 2 + kSortStepThreads - 1) / kSortStepThreads;
  return sort;
}

std::string key_sort_text(const KeySort& sort) {
  return fmt::format(
             "typedef unsigned long long HoneKey;\nconstexpr HoneKey kNoKey = ~0ull;\n"
             "constexpr hone_i64 kSorted = {};\nconstexpr int kTile = {};\n",
             sort.sorted, sort.tile) +
         std::string(kSortKernels);
}

}  // namespace hone::kernels::gpu
