// Keys of 64 bits sorted on the device, none equal to another, so that any sort gives the same order: a part of the sources of
// kernels that add what goes to one place in an order that depends on the data alone.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace hone::kernels::gpu {

inline constexpr const char* kSortTilesEntry = "hone_sort_tiles";    // keys
inline constexpr const char* kSortStepEntry = "hone_sort_step";      // keys, distance, run (int64_t)
inline constexpr const char* kMergeTilesEntry = "hone_merge_tiles";  // keys, run (int64_t)

// Launched in this order: tiles; for each run = 2·tile, 4·tile, … up to `sorted` the steps of distance run/2, …, tile and then
// the merge.
struct KeySort {
  int64_t sorted = 0;       // keys of 8 bytes: a power of two, those behind the last of kNoKey
  int64_t tile = 0;         // keys that one block of tile / 2 threads sorts
  int64_t step_blocks = 0;  // of 256 threads
};

// Of `keys` keys; more than 2²⁴ are unsupported.
Result<KeySort> plan_key_sort(int64_t keys);
// HoneKey, kNoKey, kSorted and the kernels. What stands before it has the base prelude and hone_thread().
std::string key_sort_text(const KeySort& sort);

}  // namespace hone::kernels::gpu
