// Looking roofs up. Only measured numbers are returned: nothing is scaled from one thread count to another.
#include "core/roofs.h"

#include <algorithm>
#include <limits>

namespace hone {
namespace {

// The measured thread count to read for `wanted`: itself, else the next below, else the smallest above.
template <typename Row, typename Keep>
int nearest_threads(const std::vector<Row>& rows, int wanted, Keep keep) {
  int below = 0;
  int above = std::numeric_limits<int>::max();
  for (const Row& row : rows) {
    if (!keep(row)) continue;
    if (row.threads <= wanted)
      below = std::max(below, row.threads);
    else
      above = std::min(above, row.threads);
  }
  return below != 0 ? below : above;
}

// Copy is what an operator does that reads one tensor and writes another; read stands in where it is missing.
int preference(const MemoryRoof& row) {
  if (row.operation == "copy") return 2;
  return row.operation == "read" ? 1 : 0;
}

const MemoryRoof* best_of_level(const std::vector<MemoryRoof>& rows, std::string_view level,
                                int thread_count) {
  const auto of_level = [&](const MemoryRoof& row) { return row.level == level; };
  const int threads = nearest_threads(rows, thread_count, of_level);
  const MemoryRoof* best = nullptr;
  for (const MemoryRoof& row : rows)
    if (of_level(row) && row.threads == threads && (best == nullptr || preference(row) > preference(*best)))
      best = &row;
  return best;
}

}  // namespace

double Roofs::compute_roof(DType dtype, int thread_count) const {
  const auto best_of = [&](DType wanted) {
    const auto of_dtype = [&](const ComputeRoof& row) { return row.dtype == wanted; };
    const int count = nearest_threads(compute, thread_count, of_dtype);
    double best = 0;
    for (const ComputeRoof& row : compute)
      if (of_dtype(row) && row.threads == count) best = std::max(best, row.flops.median);
    return best;
  };
  const double own = best_of(dtype);
  return own > 0 ? own : best_of(DType::kF32);
}

double Roofs::dram_roof(int thread_count) const {
  const MemoryRoof* row = best_of_level(memory, "DRAM", thread_count);
  return row == nullptr ? 0 : row->bytes.median;
}

const MemoryRoof* Roofs::memory_level(double working_set_bytes, int thread_count) const {
  const MemoryRoof* smallest = nullptr;
  for (const MemoryRoof& candidate : memory) {
    const MemoryRoof* row = best_of_level(memory, candidate.level, thread_count);
    if (row->capacity_bytes <= 0 || row->capacity_bytes < working_set_bytes) continue;
    if (smallest == nullptr || row->capacity_bytes < smallest->capacity_bytes) smallest = row;
  }
  return smallest != nullptr ? smallest : best_of_level(memory, "DRAM", thread_count);
}

double Roofs::memory_roof(double working_set_bytes, int thread_count) const {
  const MemoryRoof* level = memory_level(working_set_bytes, thread_count);
  return level == nullptr ? 0 : level->bytes.median;
}

}  // namespace hone
