#include "lab/gate/latency.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace hone::lab {
namespace {

constexpr std::size_t kBatches = 32;

std::vector<double> batch_medians(std::span<const double> samples) {
  const std::size_t batches = std::min(kBatches, samples.size());
  std::vector<double> medians;
  for (std::size_t b = 0; b < batches; ++b) {
    const std::size_t begin = b * samples.size() / batches, end = (b + 1) * samples.size() / batches;
    medians.push_back(median(samples.subspan(begin, end - begin)));
  }
  return medians;
}

Status warm_up(const Workload& workload, const LatencyOptions& options) {
  for (int run = 0; run < options.warm_up_runs; ++run) HONE_CHECK(workload());
  if (options.warm_up_runs >= 0) return {};
  const int64_t start = options.clock();
  int64_t last = 0;
  // Stops when the next call would go past the end, so that a long call warms up once only.
  do {
    const int64_t begin = options.clock();
    HONE_CHECK(workload());
    last = options.clock() - begin;
  } while (options.clock() - start + last <= options.warm_up_ns);
  return {};
}

}  // namespace

Latency summarise_latency(std::vector<double> samples_ms, double level) {
  Latency latency;
  latency.runs = static_cast<int>(samples_ms.size());
  if (samples_ms.empty()) return latency;
  latency.p50 = median(samples_ms);
  latency.p90 = quantile(samples_ms, 0.9);
  latency.p99 = quantile(samples_ms, 0.99);
  latency.mean =
      std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0) / static_cast<double>(samples_ms.size());
  const auto [low, high] = std::minmax_element(samples_ms.begin(), samples_ms.end());
  latency.low = *low;
  latency.high = *high;
  const Interval batches = median_interval(batch_medians(samples_ms), level);
  latency.median_ms = {latency.p50, std::clamp(batches.low, 0.0, latency.p50),
                       std::max(batches.high, latency.p50), level};
  latency.samples_ms = std::move(samples_ms);
  return latency;
}

Result<Latency> measure_latency(const Workload& workload, const LatencyOptions& options) {
  HONE_CHECK(warm_up(workload, options));
  std::vector<double> samples;
  samples.reserve(1024);
  const ContentionMeter meter;
  const int64_t start = options.clock();
  const bool counted = options.exact_runs > 0;
  for (int run = 0; run < (counted ? options.exact_runs : options.max_runs); ++run) {
    const int64_t begin = options.clock();
    HONE_CHECK(workload());
    const int64_t end = options.clock();
    samples.push_back(static_cast<double>(end - begin) * 1e-6);
    const double spent = counted ? static_cast<double>(run + 1) / options.exact_runs
                                 : static_cast<double>(end - start) / static_cast<double>(options.budget_ns);
    if (options.progress && !options.progress(std::min(1.0, spent)))
      return Error{ErrorCode::kCancelled, "latency measurement: interrupted"};
    if (!counted && spent >= 1 && run + 1 >= options.min_runs) break;
  }
  Latency latency = summarise_latency(std::move(samples), options.level);
  latency.contention = meter.share();
  return latency;
}

}  // namespace hone::lab
