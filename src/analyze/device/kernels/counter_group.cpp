#include "analyze/device/kernels/counter_group.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hone::analyze::device {
namespace {

using trace::Counter, trace::KernelCounters;

auto key_of(const KernelCounters& row) {
  return std::tuple(row.rank, row.device, row.kernel.index, row.grid, row.block, row.registers,
                    row.shared_bytes);
}

}  // namespace

// The two are counted in different passes, and a short kernel may take a fifth longer in one than in another; no
// multiprocessor is active for longer than the kernel runs.
std::optional<double> CounterGroup::active_share() const {
  using trace::Counter;
  const double active = value(Counter::kSmCyclesActive);
  if (!has(Counter::kSmCyclesElapsed) || !has(Counter::kSmCyclesActive)) return std::nullopt;
  const double elapsed =
      std::max({value(Counter::kSmCyclesElapsed), value(Counter::kSmCyclesActiveMost), active});
  return elapsed > 0 ? std::optional(active / elapsed) : std::nullopt;
}

CountedFlops CounterGroup::flops() const {
  return trace::counted_flops([this](Counter counter) { return value(counter); });
}

CounterGroups::CounterGroups(const trace::Trace& trace) {
  std::map<decltype(key_of({})), CounterGroup> by_key;
  std::map<decltype(key_of({})), std::array<uint32_t, trace::kCounterCount>> measured;
  const std::vector<char> alike = trace::alike_launches(trace);
  for (std::size_t at = 0; at < trace.counters.size(); ++at) {
    if (alike[at] == 0) continue;
    const KernelCounters& row = trace.counters[at];
    CounterGroup& group = by_key[key_of(row)];
    std::array<uint32_t, trace::kCounterCount>& counts = measured[key_of(row)];
    group.rank = row.rank;
    group.device = row.device;
    group.kernel = row.kernel;
    group.launch = {row.grid, row.block, row.registers, row.shared_bytes};
    group.passes = std::max(group.passes, row.passes);
    ++group.launches;
    if (row.passes == 1 && trace::counter_value(row, trace.strings, Counter::kDramRead)) group.once = true;
    for (std::size_t i = 0; i < group.means.size(); ++i)
      if (const auto value = trace::counter_value(row, trace.strings, static_cast<Counter>(i))) {
        // the mean of those that have it
        const double before = group.means[i].value_or(0);
        group.means[i] = before + (*value - before) / ++counts[i];
      }
  }
  for (auto& [key, group] : by_key)
    if (group.ns() > 0) rows_.push_back(std::move(group));
  std::stable_sort(rows_.begin(), rows_.end(), [](const CounterGroup& a, const CounterGroup& b) {
    return a.ns() * a.launches > b.ns() * b.launches;
  });
  for (std::size_t i = 0; i < rows_.size(); ++i) by_kernel_[rows_[i].kernel.index].push_back(i);
}

std::optional<std::size_t> CounterGroups::find(int rank, trace::StringId kernel,
                                               const trace::Launch& launch) const {
  const auto known = by_kernel_.find(kernel.index);
  if (known == by_kernel_.end()) return std::nullopt;
  std::optional<std::size_t> found;
  int best = -1;
  for (const std::size_t i : known->second) {
    const CounterGroup& group = rows_[i];
    if (group.launch.grid != launch.grid || group.launch.block != launch.block) continue;
    const int fits =
        (group.rank == rank ? 2 : 0) + (group.launch.shared_bytes == launch.shared_bytes ? 1 : 0);
    if (fits > best) found = i;
    best = std::max(best, fits);
  }
  return found;
}

}  // namespace hone::analyze::device
