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

// What one level was measured to reach, in bytes/s; 0 where it was not.
struct LevelRates {
  std::string name;
  double capacity = 0;  // 0: DRAM
  double read = 0, write = 0, copy = 0;

  // Bytes read and written side by side run as a copy does; what is left over, as reading or writing alone.
  double seconds(double read_bytes, double written_bytes) const {
    const double any = copy > 0 ? copy : (read > 0 ? read : write);
    if (any <= 0) return 0;
    const double paired = std::min(read_bytes, written_bytes);
    return 2 * paired / any + (read_bytes - paired) / (read > 0 ? read : any) +
           (written_bytes - paired) / (write > 0 ? write : any);
  }
};

// The levels from the smallest to DRAM.
std::vector<LevelRates> levels_of(const std::vector<MemoryRoof>& rows, int thread_count) {
  std::vector<LevelRates> levels;
  for (const MemoryRoof& row : rows) {
    const auto of_level = [&](const auto& other) { return other.level == row.level; };
    if (row.threads != nearest_threads(rows, thread_count, of_level)) continue;
    auto known =
        std::find_if(levels.begin(), levels.end(), [&](const auto& l) { return l.name == row.level; });
    if (known == levels.end()) known = levels.insert(levels.end(), {row.level, row.capacity_bytes, 0, 0, 0});
    if (row.operation == "read") known->read = row.bytes.median;
    if (row.operation == "write") known->write = row.bytes.median;
    if (row.operation == "copy") known->copy = row.bytes.median;
  }
  const auto extent = [](const LevelRates& level) {
    return level.capacity > 0 ? level.capacity : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(levels.begin(), levels.end(),
                   [&](const LevelRates& a, const LevelRates& b) { return extent(a) < extent(b); });
  return levels;
}

}  // namespace

double Roofs::compute_roof(DType dtype, int thread_count) const {
  const auto best_of = [&](DType wanted) {
    const auto of_dtype = [&](const ComputeRoof& row) {
      return row.dtype == wanted && row.method != kTf32Method;
    };
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

TrafficTime Roofs::traffic(double read_bytes, double written_bytes, double from_dram,
                           int thread_count) const {
  const std::vector<LevelRates> levels = levels_of(memory, thread_count);
  if (levels.empty()) return {};
  const double streamed = std::min(read_bytes, from_dram);
  const double read = read_bytes - streamed;
  const double total = read + written_bytes;
  TrafficTime time;
  double longest = 0, held = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelRates& level = levels[i];
    const bool last = i + 1 == levels.size();
    const double served = last ? total - held : std::clamp(level.capacity - held, 0.0, total - held);
    const double share = total > 0 ? served / total : 0;
    double seconds = level.seconds(share * read, share * written_bytes);
    if (last) seconds += level.seconds(streamed, 0);
    held += served;
    time.seconds += seconds;
    if (seconds < longest) continue;
    longest = seconds;
    if (seconds > 0 || i == 0) time.level = level.name;
  }
  return time;
}

}  // namespace hone
