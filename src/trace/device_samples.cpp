#include "trace/device_samples.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hone::trace {

bool DeviceSamples::add(int64_t start, int64_t end, std::span<const double> row) {
  const bool follows = start >= (end_ns.empty() ? 0 : end_ns.back()) && end > start;
  if (!follows || row.size() != metrics.size() ||
      !std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); }))
    return false;
  start_ns.push_back(start);
  end_ns.push_back(end);
  values.insert(values.end(), row.begin(), row.end());
  return true;
}

Status check_samples(const std::vector<DeviceSamples>& series, std::size_t strings) {
  for (std::size_t i = 0; i < series.size(); ++i) {
    const DeviceSamples& each = series[i];
    DeviceSamples again;
    again.metrics = each.metrics;
    const bool named = std::all_of(each.metrics.begin(), each.metrics.end(),
                                   [&](StringId metric) { return metric.index < strings; });
    bool good =
        named && each.end_ns.size() == each.size() && each.values.size() == each.size() * each.metrics.size();
    for (std::size_t k = 0; good && k < each.size(); ++k)
      good = again.add(each.start_ns[k], each.end_ns[k], each.row(k));
    if (!good)
      return corrupt(
          fmt::format("trace: samples {} of a device lack a name, are out of order or no numbers", i));
  }
  return {};
}

}  // namespace hone::trace
