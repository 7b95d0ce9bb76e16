#include "trace/kernel_counters.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hone::trace {

std::optional<double> counter_value(const KernelCounters& counters, const StringTable& strings,
                                    std::string_view metric) {
  const StringId id = strings.find(metric);
  if (!id.valid()) return std::nullopt;
  const auto at = std::lower_bound(
      counters.values.begin(), counters.values.end(), id,
      [](const CounterValue& each, StringId wanted) { return each.metric.index < wanted.index; });
  return at != counters.values.end() && at->metric == id ? std::optional(at->value) : std::nullopt;
}

void order_values(KernelCounters& counters) {
  std::erase_if(counters.values, [](const CounterValue& each) { return !std::isfinite(each.value); });
  std::stable_sort(
      counters.values.begin(), counters.values.end(),
      [](const CounterValue& a, const CounterValue& b) { return a.metric.index < b.metric.index; });
  const auto same = [](const CounterValue& a, const CounterValue& b) { return a.metric == b.metric; };
  counters.values.erase(std::unique(counters.values.begin(), counters.values.end(), same),
                        counters.values.end());
}

Status check_counters(const std::vector<KernelCounters>& rows, std::size_t strings) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelCounters& row = rows[i];
    if (row.kernel.index >= strings)
      return corrupt(fmt::format("trace: counters {} are of a kernel that has no name", i));
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      const CounterValue& each = row.values[k];
      const bool in_order = k == 0 || row.values[k - 1].metric.index < each.metric.index;
      if (each.metric.index >= strings || !in_order || !std::isfinite(each.value))
        return corrupt(
            fmt::format("trace: value {} of counters {} has no name, is out of order or no number", k, i));
    }
  }
  return {};
}

}  // namespace hone::trace
