// Roofs of memory levels that were measured one after the other, made to agree.
#include <limits>

#include <fmt/core.h>

#include "core/units.h"
#include "lab/ceilings/ceilings.h"

namespace hone::lab {
namespace {

double extent_of(const MemoryRoof& row) {
  return row.capacity_bytes > 0 ? row.capacity_bytes : std::numeric_limits<double>::infinity();
}

// The fastest level that is farther away than `row`'s, for the same operation; null where none is faster.
const MemoryRoof* faster_and_farther(const Roofs& roofs, const MemoryRoof& row) {
  const MemoryRoof* fastest = nullptr;
  for (const MemoryRoof& other : roofs.memory) {
    if (other.operation != row.operation || other.threads != row.threads) continue;
    if (extent_of(other) <= extent_of(row) || other.bytes.median <= row.bytes.median) continue;
    if (fastest == nullptr || other.bytes.median > fastest->bytes.median) fastest = &other;
  }
  return fastest;
}

}  // namespace

std::vector<std::string> raise_nearer_levels(Roofs& roofs) {
  std::vector<std::string> raised;
  const Roofs measured = roofs;
  for (MemoryRoof& row : roofs.memory) {
    const MemoryRoof* farther = faster_and_farther(measured, row);
    if (farther == nullptr) continue;
    raised.push_back(
        fmt::format("{} {} with {} was measured at {}, below {} at {}, which now stands for both", row.level,
                    row.operation, counted(row.threads, "thread"), format_byte_rate(row.bytes.median),
                    farther->level, format_byte_rate(farther->bytes.median)));
    row.bytes = farther->bytes;
  }
  return raised;
}

}  // namespace hone::lab
