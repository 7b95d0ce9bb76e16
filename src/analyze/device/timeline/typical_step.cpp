#include "analyze/device/timeline/typical_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics.h"

namespace hone::analyze::device {
namespace {

// With so few steps all of them count.
constexpr std::size_t kFewSteps = 3;

std::vector<std::size_t> central_steps(const RankTimeline& timeline, const std::vector<double>& times,
                                       double middle, const std::set<int32_t>& common) {
  std::vector<std::size_t> nearest(times.size());
  std::iota(nearest.begin(), nearest.end(), std::size_t{0});
  if (!common.empty())
    std::erase_if(nearest, [&](std::size_t step) { return !common.contains(timeline.steps[step].step); });
  std::stable_sort(nearest.begin(), nearest.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(times[a] - middle) < std::abs(times[b] - middle);
  });
  if (nearest.size() > kFewSteps) nearest.resize((nearest.size() + 1) / 2);
  return nearest;
}

// All steps that count for the mean. False: there are none.
bool weigh_all(const RankTimeline& timeline, const std::set<int32_t>& common, TypicalStep& typical) {
  std::vector<std::size_t> counted;
  for (const std::size_t k : timeline.stalls.counted)
    if (common.empty() || common.contains(timeline.steps[k].step)) counted.push_back(k);
  double total_ms = 0;
  for (const std::size_t step : counted) {
    typical.weight[step] = 1 / static_cast<double>(counted.size());
    total_ms += timeline.steps[step].ms();
  }
  if (counted.empty()) return false;
  typical.ms = typical.recorded_ms = total_ms / static_cast<double>(counted.size());
  return true;
}

}  // namespace

double whole_count(double count) {
  constexpr double kRounding = 1e-9;
  const double whole = std::round(count);
  return std::abs(count - whole) < kRounding * std::max(1.0, whole) ? whole : count;
}

TypicalStep typical_step(const RankTimeline& timeline, const std::set<int32_t>& common) {
  TypicalStep typical;
  std::vector<double> times;
  for (const DeviceStep& step : timeline.steps) times.push_back(step.ms());
  typical.weight.assign(times.size(), 0);
  if (timeline.stalls.recur && weigh_all(timeline, common, typical)) return typical;
  typical.ms = typical.recorded_ms = median(times);
  const std::vector<std::size_t> central = central_steps(timeline, times, typical.ms, common);
  if (central.empty()) return typical;

  const auto count = static_cast<double>(central.size());
  double mean = 0, variance = 0;
  for (std::size_t step : central) mean += times[step] / count;
  for (std::size_t step : central) variance += (times[step] - mean) * (times[step] - mean) / count;
  const double tilt = variance > 0 ? (typical.ms - mean) / variance : 0;
  double total = 0, average = 0;
  for (std::size_t step : central) total += std::max(0.0, 1 + tilt * (times[step] - mean));
  for (std::size_t step : central) {
    typical.weight[step] = std::max(0.0, 1 + tilt * (times[step] - mean)) / total;
    average += typical.weight[step] * times[step];
  }
  typical.scale = average > 0 ? typical.ms / average : 1;
  return typical;
}

}  // namespace hone::analyze::device
