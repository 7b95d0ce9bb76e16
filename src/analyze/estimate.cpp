#include "analyze/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics.h"

namespace hone::analyze {
namespace {

Estimate within(const Interval& interval, double least, double largest) {
  return {interval.median, std::max(interval.low, least), std::min(interval.high, largest)};
}

}  // namespace

Estimate median_estimate(std::span<const double> samples, double confidence) {
  if (samples.empty()) return {};
  const auto [least, largest] = std::minmax_element(samples.begin(), samples.end());
  return within(median_interval(samples, confidence), *least, *largest);
}

Estimate mean_estimate(std::span<const double> samples) {
  constexpr double kDeviations = 1.96;  // of 95 %
  if (samples.empty()) return {};
  const auto count = static_cast<double>(samples.size());
  const double mean = std::reduce(samples.begin(), samples.end()) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  const double error = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  const auto [least, largest] = std::minmax_element(samples.begin(), samples.end());
  return {mean, std::max(*least, mean - kDeviations * error), std::min(*largest, mean + kDeviations * error)};
}

Shift shift_estimate(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.empty() || b.empty()) return {};
  const Interval interval = shift_interval(a, b, confidence);
  const auto [a_least, a_largest] = std::minmax_element(a.begin(), a.end());
  const auto [b_least, b_largest] = std::minmax_element(b.begin(), b.end());
  return {within(interval, *b_least - *a_largest, *b_largest - *a_least),
          interval.low > 0 || interval.high < 0};
}

}  // namespace hone::analyze
