#include "lab/ceilings/ceilings.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iomanip>
#include <limits>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "lab/ceilings/cache.h"
#include "lab/ceilings/measure.h"

namespace hone::lab {
namespace {

// The longest that measuring should take, with some reserve below the promised 8 and 2 s: buffers and kernels
// have to be made, too.
constexpr double kFullSeconds = 6.5, kQuickSeconds = 1.5;

// Rates that will be measured, for sharing the time and showing progress. With each number of threads those
// of arithmetic and matrix products, 3 for each of three cache levels and 4 for DRAM, which is a guess: CPUs
// differ; and two costs of threads.
int expected_rates(const internal::CeilingsRun& run) {
  return static_cast<int>(run.thread_counts.size()) * (internal::count_compute_rates(run) + 13) + 2;
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

// Since a time as utc_now() writes it; infinite where it is none.
double hours_since(const std::string& then) {
  std::tm parts{};
  std::istringstream text(then);
  text >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  if (text.fail()) return std::numeric_limits<double>::infinity();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return std::difftime(now, timegm(&parts)) / 3600;
}

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  for (std::string& each : more) list.push_back(std::move(each));
}

// Old quick roofs, made better by another quick measurement, and kept as measured now.
Result<Ceilings> measure_over(const Ceilings& old, const Machine& machine, const CeilingsCache& cache,
                              const CeilingsOptions& options) {
  HONE_ASSIGN(Ceilings fresh, measure_ceilings(machine, options));
  internal::take_higher(old.roofs, fresh.roofs);
  append(fresh.notes, raise_nearer_levels(fresh.roofs));
  (void)cache.write(fresh);  // a convenience: the next run measures again
  return fresh;
}

}  // namespace

SampleBudget internal::CeilingsRun::budget(double share) const {
  const double left = std::max(0.0, static_cast<double>(deadline_ns - now_ns()) * 1e-9);
  const double seconds = left / std::max(1, rates_left);
  return {seconds * share, left == 0 ? 3 : quick ? 5 : 9};
}

void internal::CeilingsRun::account(const Samples& samples, const std::string& what) {
  result.repetitions += samples.repetitions;
  result.disturbed += samples.disturbed;
  std::vector<std::string>& doubtful = result.doubtful;
  if (samples.busy && std::find(doubtful.begin(), doubtful.end(), what) == doubtful.end())
    doubtful.push_back(what);
}

bool internal::CeilingsRun::wants(DType dtype) const {
  return only == nullptr || std::find(only->dtypes.begin(), only->dtypes.end(), dtype) != only->dtypes.end();
}

bool internal::CeilingsRun::wants(const std::string& memory_level) const {
  if (only == nullptr) return true;
  const auto& levels = only->memory_levels;
  return std::find(levels.begin(), levels.end(), memory_level) != levels.end();
}

Status internal::measure_threads(CeilingsRun& run) {
  const int threads = run.result.roofs.threads;
  HONE_CHECK(run.progress("thread start"));
  const Samples starts = collect(run.budget(), [&] { return time_parallel_regions(threads); });
  HONE_CHECK(run.progress("barrier"));
  const Samples barriers = collect(run.budget(), [&] { return time_barriers(threads); });
  run.account(starts, "thread start");
  run.account(barriers, "barrier");
  run.result.roofs.thread_start = duration_of(starts, kThreadRepeats);
  run.result.roofs.barrier = duration_of(barriers, kThreadRepeats);
  return {};
}

Result<Ceilings> measure_ceilings(const Machine& machine, const CeilingsOptions& options) {
  const int64_t start = now_ns();
  const int threads = options.threads > 0 ? options.threads : machine.cores;
  internal::CeilingsRun run{.machine = machine, .quick = options.quick, .thread_counts = {1}};
  if (threads > 1) run.thread_counts.push_back(threads);
  run.deadline_ns = start + static_cast<int64_t>(1e9 * (options.quick ? kQuickSeconds : kFullSeconds));
  const int expected = expected_rates(run);
  run.rates_left = expected + 1;
  run.progress = [&](const std::string&) -> Status {
    run.rates_left = std::max(1, run.rates_left - 1);
    const double share = 1 - static_cast<double>(run.rates_left) / expected;
    if (options.progress && !options.progress(share))
      return Error{ErrorCode::kCancelled, "measuring roofs: interrupted"};
    return {};
  };
  Ceilings& result = run.result;
  result.quick = options.quick;
  result.roofs.machine = machine_title(machine);
  result.roofs.threads = threads;
  HONE_CHECK(internal::measure_compute(run));
  HONE_CHECK(internal::measure_memory(run));
  HONE_CHECK(internal::measure_threads(run));
  append(result.notes, raise_nearer_levels(result.roofs));
  result.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  result.measured_at = utc_now();
  if (options.progress) options.progress(1);
  return std::move(run.result);
}

double age_hours(const Ceilings& ceilings) { return hours_since(ceilings.measured_at); }

analyze::RoofsOrigin origin_of(const Ceilings& ceilings) {
  return {ceilings.measured_at, age_hours(ceilings), ceilings.seconds,
          ceilings.repetitions, ceilings.disturbed,  ceilings.doubtful};
}

Result<Ceilings> load_or_measure_ceilings(const Machine& machine, const CeilingsOptions& options) {
  const int threads = options.threads > 0 ? options.threads : machine.cores;
  const CeilingsCache cache(options.cache_folder, machine, threads);
  std::vector<std::string> notes;
  if (!options.refresh) {
    auto cached = cache.read();
    if (cached.ok() && !cached->quick) return cached;
    if (cached.ok() && options.quick) {
      const double lasts = cached->doubtful.empty() ? kQuickRoofsLastHours : kDoubtfulRoofsLastHours;
      return age_hours(*cached) < lasts ? cached : measure_over(*cached, machine, cache, options);
    }
    if (!cached.ok() && cached.error().code != ErrorCode::kNotFound)
      notes.push_back(cached.error().message + "; measuring again");
  }
  HONE_ASSIGN(Ceilings measured, measure_ceilings(machine, options));
  if (!worth_keeping(measured)) {
    notes.push_back("the machine was busy: what was measured is not kept for the next time");
  } else if (const Status written = cache.write(measured); !written.ok()) {
    notes.push_back(written.error().message);  // the measurement is as good without
  }
  measured.notes.insert(measured.notes.begin(), notes.begin(), notes.end());
  return measured;
}

}  // namespace hone::lab
