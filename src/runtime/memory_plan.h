// The memory plan: where each buffer of a plan lies in one arena, computed ahead. Buffers whose lifetimes
// overlap never overlap in memory. Pure arithmetic: no device, no graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hone::runtime {

// A buffer that lives from step `first` to step `last`, both included. Of steps that run at once in lanes,
// only the order within a lane is known: a buffer that one lane alone uses lives as long as all of them
// beside any other buffer, but beside the same lane's buffers only from `lane_first` to `lane_last`.
struct Lifetime {
  std::size_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  int lane = -1;  // a number of its own for each lane of the plan; negative: not one lane's alone
  uint32_t lane_first = 0;
  uint32_t lane_last = 0;
};

// Of each buffer's place: what a GPU's own allocations have, and what cuBLASLt refuses a workspace without.
inline constexpr std::size_t kBufferAlignment = 256;
// What a buffer of so many bytes takes up: the next one starts aligned to kBufferAlignment.
std::size_t placed_bytes(std::size_t bytes);

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // a buffer's place in the arena, aligned to kBufferAlignment
  std::size_t arena_bytes = 0;
  std::size_t lower_bound = 0;  // the most bytes alive at one step: no plan is smaller
};

// Greedy by size: the largest buffer first, each at the lowest offset free over its whole lifetime (Pisarchyk
// and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). O(n²) in the number of
// buffers.
MemoryPlan plan_memory(std::span<const Lifetime> buffers);

}  // namespace hone::runtime
