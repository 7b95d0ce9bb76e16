#include "runtime/memory_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace hone::runtime {
namespace {

bool alive_together(const Lifetime& a, const Lifetime& b) {
  if (a.lane >= 0 && a.lane == b.lane) return a.lane_first <= b.lane_last && b.lane_first <= a.lane_last;
  return a.first <= b.last && b.first <= a.last;
}

// The most bytes alive at one step, where no lanes are told apart.
std::size_t most_alive_at_once(std::span<const Lifetime> buffers) {
  uint32_t steps = 0;
  for (const Lifetime& buffer : buffers) steps = std::max(steps, buffer.last + 1);
  std::vector<std::ptrdiff_t> change(steps + 1, 0);
  for (const Lifetime& buffer : buffers) {
    change[buffer.first] += static_cast<std::ptrdiff_t>(placed_bytes(buffer.bytes));
    change[buffer.last + 1] -= static_cast<std::ptrdiff_t>(placed_bytes(buffer.bytes));
  }
  std::ptrdiff_t alive = 0;
  std::ptrdiff_t most = 0;
  for (std::ptrdiff_t c : change) most = std::max(most, alive += c);
  return static_cast<std::size_t>(most);
}

// A lane's own buffers together need what most of them need at one of its steps.
std::size_t most_alive_bytes(std::span<const Lifetime> buffers) {
  std::vector<Lifetime> together;
  std::map<int, std::vector<Lifetime>> lanes;
  for (const Lifetime& buffer : buffers) (buffer.lane < 0 ? together : lanes[buffer.lane]).push_back(buffer);
  for (auto& [number, own] : lanes) {
    Lifetime lane = own.front();
    for (Lifetime& buffer : own) {
      buffer.first = buffer.lane_first;
      buffer.last = buffer.lane_last;
    }
    lane.bytes = most_alive_at_once(own);
    together.push_back(lane);
  }
  return most_alive_at_once(together);
}

// The lowest gap of `bytes` between the buffers in `placed` (sorted by offset) that are alive with `buffer`.
std::size_t lowest_gap(const Lifetime& buffer, std::span<const Lifetime> buffers,
                       std::span<const std::size_t> placed, const std::vector<std::size_t>& offsets) {
  std::size_t end = 0;
  for (std::size_t other : placed) {
    if (!alive_together(buffer, buffers[other])) continue;
    if (offsets[other] >= end + placed_bytes(buffer.bytes)) return end;
    end = std::max(end, offsets[other] + placed_bytes(buffers[other].bytes));
  }
  return end;
}

}  // namespace

std::size_t placed_bytes(std::size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

MemoryPlan plan_memory(std::span<const Lifetime> buffers) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  plan.lower_bound = most_alive_bytes(buffers);
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t index : order) {
    plan.offsets[index] = lowest_gap(buffers[index], buffers, placed, plan.offsets);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[index] + placed_bytes(buffers[index].bytes));
    auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](std::size_t a, std::size_t b) {
      return plan.offsets[a] < plan.offsets[b];
    });
    placed.insert(at, index);
  }
  return plan;
}

}  // namespace hone::runtime
