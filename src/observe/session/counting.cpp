#include "observe/session/counting.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/file.h"
#include "observe/control.h"

namespace hone::observe {

namespace {

// Counting ends when none of the kernels was launched for so long: the program has gone on to others.
constexpr double kLeastQuiet_s = 3, kQuietSteps = 2.5;
constexpr double kSecondsAKernel = 3, kLeastPatience_s = 15;
constexpr double kLines_s = 5;  // of the instructions of all of them

}  // namespace

double CountingOptions::patience_s(std::size_t chosen) const {
  const double needed =
      std::max(kLeastPatience_s, kSecondsAKernel * static_cast<double>(chosen)) + (lines ? kLines_s : 0);
  return most_s > 0 ? std::min(most_s, needed) : needed;
}

std::string counter_request(const std::vector<KernelTime>& kernels, const CountingOptions& options,
                            double step_s) {
  std::string request = fmt::format("quiet {:.0f}\n", 1e3 * std::max(kLeastQuiet_s, kQuietSteps * step_s));
  for (const trace::CounterMetric& metric : trace::counter_metrics()) {
    if (metric.set == trace::CounterSet::kFull && options.set != trace::CounterSet::kFull) continue;
    std::string names;
    for (const std::string_view name : metric.names)
      if (!name.empty()) names += fmt::format(" {}", name);
    const bool once = metric.counted_in == trace::CountedIn::kOnlyPass;
    if (once) request += "once" + names + '\n';
    // Always counted: launches of one kernel and geometry may do different work, and their time tells them apart.
    if (!once || metric.counter == trace::Counter::kDuration) request += "metric" + names + '\n';
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

}  // namespace hone::observe
