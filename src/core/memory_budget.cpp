#include "core/memory_budget.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>

#include "core/units.h"

namespace hone {
namespace {

std::atomic<std::size_t> budget = 0;
std::atomic<std::size_t> in_use = 0;
std::atomic<std::size_t> peak = 0;

std::string bytes_text(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// The number in a file of one line; 0 where there is none ("max": a cgroup without a limit).
std::size_t number_in(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : 0;
}

std::size_t free_in_machine() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::size_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit))
    if (key == "MemAvailable:") return kilobytes * 1024;
  return 0;
}

// cgroup version 2, then 1. A container sees its own group at the root.
std::size_t free_in(const char* limit_path, const char* used_path) {
  const std::size_t limit = number_in(limit_path);
  return limit - std::min(limit, number_in(used_path));
}

}  // namespace

OverMemoryBudget::OverMemoryBudget(std::size_t asked)
    : text_("it needs " + bytes_text(asked) + " of memory, and of the " + bytes_text(memory_budget()) +
            " that tensors may take " + bytes_text(memory_in_use()) +
            " are taken; give smaller shapes, or allow more with --memory") {}

void set_memory_budget(std::size_t bytes) { budget = bytes; }
std::size_t memory_budget() { return budget; }
std::size_t memory_in_use() { return in_use; }
std::size_t memory_peak() { return peak; }
void restart_memory_peak() { peak = in_use.load(); }

void charge_memory(std::size_t bytes) {
  const std::size_t limit = budget.load(std::memory_order_relaxed);
  std::size_t before = in_use.load(std::memory_order_relaxed);
  do {
    if (limit != 0 && (bytes > limit || before > limit - bytes)) throw OverMemoryBudget(bytes);
  } while (!in_use.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  std::size_t most = peak.load(std::memory_order_relaxed);
  while (most < before + bytes &&
         !peak.compare_exchange_weak(most, before + bytes, std::memory_order_relaxed)) {
  }
}

void release_memory(std::size_t bytes) noexcept { in_use.fetch_sub(bytes, std::memory_order_relaxed); }

std::size_t available_memory() {
  std::size_t least = free_in_machine();
  for (const std::size_t group : {free_in("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                                  free_in("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                          "/sys/fs/cgroup/memory/memory.usage_in_bytes")})
    if (group != 0) least = least == 0 ? group : std::min(least, group);
  return least;
}

std::optional<std::size_t> parse_memory(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const std::size_t power = std::string_view("KMGT").find(unit.empty() ? 'B' : unit[0]) + 1;  // 0: bytes
  const std::string_view spelled = unit.empty() ? unit : unit.substr(1);
  const bool known =
      unit.empty() || unit == "B" || (power > 0 && (spelled.empty() || spelled == "iB" || spelled == "B"));
  const double bytes = value * std::pow(1024.0, static_cast<double>(power));
  if (failed != std::errc() || !known || !(value > 0) || !(bytes >= 1) || !(bytes < 1e18))
    return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

}  // namespace hone
