#include "observe/session/counting.h"

#include <fmt/format.h>

#include "core/file.h"
#include "observe/control.h"

namespace hone::observe {

namespace segments = trace::segments;

std::string counter_request(const std::vector<KernelTime>& kernels, const CountingOptions& options) {
  std::string request;
  for (const trace::CounterMetric& metric : trace::counter_metrics()) {
    if (metric.set == trace::CounterSet::kFull && options.set != trace::CounterSet::kFull) continue;
    request += "metric";
    for (const std::string_view name : metric.names)
      if (!name.empty()) request += fmt::format(" {}", name);
    request += '\n';
  }
  for (const KernelTime& kernel : kernels)
    request += fmt::format("kernel {} {} {} {} {} {} {} {} {}\n", options.instances, kernel.device,
                           kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1],
                           kernel.block[2], kernel.symbol);
  if (options.lines) request += "lines\n";
  return request;
}

Status write_counter_request(const std::filesystem::path& run_folder, int pid, const std::string& request) {
  const std::filesystem::path folder = run_folder / kCountersFolder;
  HONE_CHECK(make_folder(folder));
  return write_file(folder / std::to_string(pid), request);
}

void CountedLaunches::see(const SegmentRecord& record) {
  if (record.at.kind() != segments::Kind::kCounters) return;
  if (const auto counters = record.at.as<segments::Counters>())
    ++counted_[{record.pid, counters->device, counters->name, counters->grid, counters->block}];
}

int CountedLaunches::of(int pid, const KernelTime& kernel, const SegmentTail& tail) const {
  int count = 0;
  for (const auto& [key, counted] : counted_) {
    const auto& [of_pid, device, name, grid, block] = key;
    if (of_pid == pid && device == kernel.device && grid == kernel.grid && block == kernel.block &&
        tail.name(pid, name) == kernel.symbol)
      count += counted;
  }
  return count;
}

}  // namespace hone::observe
