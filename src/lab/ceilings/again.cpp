// Some roofs measured again, because something ran faster than they allow.
#include <algorithm>

#include <fmt/core.h>

#include "core/clock.h"
#include "core/units.h"
#include "lab/ceilings/cache.h"
#include "lab/ceilings/ceilings.h"
#include "lab/ceilings/measure.h"

namespace hone::lab {
namespace {

constexpr double kAgainSeconds = 1.5;
constexpr int kRatesOfLevel = 4;  // measured for each number of threads; roughly

double copy_rate(const Roofs& roofs, const std::string& level) {
  double best = 0;
  for (const MemoryRoof& row : roofs.memory) {
    if (row.level == level && row.operation == "copy" && row.threads == roofs.threads)
      best = std::max(best, row.bytes.median);
  }
  return best;
}

std::vector<std::string> changes_between(const Roofs& before, const Roofs& after, const RoofChoice& choice) {
  std::vector<std::string> changes;
  for (DType dtype : choice.dtypes) {
    const double was = before.compute_roof(dtype, before.threads),
                 is = after.compute_roof(dtype, after.threads);
    if (is > was)
      changes.push_back(
          fmt::format("{} compute {} → {}", dtype_name(dtype), format_flop_rate(was), format_flop_rate(is)));
  }
  for (const std::string& level : choice.memory_levels) {
    const double was = copy_rate(before, level), is = copy_rate(after, level);
    if (is > was)
      changes.push_back(fmt::format("{} {} → {}", level, format_byte_rate(was), format_byte_rate(is)));
  }
  return changes;
}

}  // namespace

void internal::take_higher(const Roofs& measured, Roofs& roofs) {
  for (const ComputeRoof& row : measured.compute) {
    for (ComputeRoof& known : roofs.compute) {
      const bool same =
          known.dtype == row.dtype && known.method == row.method && known.threads == row.threads;
      if (same && row.flops.median > known.flops.median) known.flops = row.flops;
    }
  }
  for (const MemoryRoof& row : measured.memory) {
    for (MemoryRoof& known : roofs.memory) {
      const bool same =
          known.level == row.level && known.operation == row.operation && known.threads == row.threads;
      if (same && row.bytes.median > known.bytes.median) known.bytes = row.bytes;
    }
  }
}

Result<BetterRoofs> measure_again(const Roofs& roofs, const RoofChoice& choice, const Machine& machine,
                                  const CeilingsOptions& options) {
  internal::CeilingsRun run{.machine = machine, .thread_counts = {1}, .only = &choice};
  if (roofs.threads > 1) run.thread_counts.push_back(roofs.threads);
  run.deadline_ns = now_ns() + static_cast<int64_t>(kAgainSeconds * 1e9);
  const int rates =
      internal::count_compute_rates(run) + static_cast<int>(choice.memory_levels.size()) * kRatesOfLevel;
  const int all = rates * static_cast<int>(run.thread_counts.size());
  run.rates_left = all + 1;
  run.progress = [&](const std::string&) -> Status {
    run.rates_left = std::max(1, run.rates_left - 1);
    if (options.progress && !options.progress(1 - static_cast<double>(run.rates_left) / std::max(1, all)))
      return Error{ErrorCode::kCancelled, "measuring roofs: interrupted"};
    return {};
  };
  HONE_CHECK(internal::measure_compute(run));
  HONE_CHECK(internal::measure_memory(run));
  BetterRoofs better{roofs, {}};
  internal::take_higher(run.result.roofs, better.roofs);
  (void)raise_nearer_levels(better.roofs);  // by what `changes` says of the farther one
  better.changes = changes_between(roofs, better.roofs, choice);
  const CeilingsCache cache(options.cache_folder, machine, roofs.threads);
  if (auto kept = cache.read(); kept.ok()) {
    internal::take_higher(run.result.roofs, kept->roofs);
    (void)raise_nearer_levels(kept->roofs);
    (void)cache.write(*kept);  // a convenience: the next run finds out as this one did
  }
  return better;
}

}  // namespace hone::lab
