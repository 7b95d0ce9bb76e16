#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Up to this many values the distribution of the signed-rank statistic is computed exactly; above, its normal
// approximation is good to far more digits than matter.
constexpr int kExactSignedRank = 60;

constexpr std::size_t kShiftSamples = 256;

// z with P(N(0,1) < -z) = tail, by bisection: called a few times a comparison.
double normal_quantile(double tail) {
  double low = 0, high = 40;
  for (int i = 0; i < 80; ++i) {
    const double z = (low + high) / 2;
    (0.5 * std::erfc(z / std::sqrt(2.0)) > tail ? low : high) = z;
  }
  return high;
}

// The largest c with P(T ≤ c-1) ≤ tail for the signed-rank statistic T of n values under symmetry about zero.
int64_t signed_rank_critical(int n, double tail) {
  const int64_t total = int64_t{n} * (n + 1) / 2;
  if (n > kExactSignedRank) {
    const double mean = static_cast<double>(total) / 2;
    const double deviation = std::sqrt(n * (n + 1.0) * (2.0 * n + 1) / 24);
    return std::max<int64_t>(
        0, static_cast<int64_t>(std::floor(mean - 0.5 - normal_quantile(tail) * deviation)));
  }
  // probability[s] = P(T = s): each rank j is added or not with probability one half. Only the lower half is
  // kept.
  std::vector<double> probability(static_cast<std::size_t>(total / 2 + 1), 0.0);
  probability[0] = 1;
  for (int64_t rank = 1; rank <= n; ++rank) {
    for (int64_t s = total / 2; s >= 0; --s) {
      const auto at = static_cast<std::size_t>(s);
      const double with = s >= rank ? probability[static_cast<std::size_t>(s - rank)] : 0.0;
      probability[at] = 0.5 * (probability[at] + with);
    }
  }
  double cumulative = 0;
  for (std::size_t s = 0; s < probability.size(); ++s) {
    cumulative += probability[s];
    if (cumulative > tail) return static_cast<int64_t>(s);
  }
  return total / 2;
}

// log of the binomial coefficient n over k.
double log_choose(int n, int k) {
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
}

double binomial_probability(int n, int k, double p) {
  if (p <= 0) return k == 0 ? 1 : 0;
  if (p >= 1) return k == n ? 1 : 0;
  return std::exp(log_choose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p));
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Every k-th value, so that no more than kShiftSamples are left.
std::vector<double> thinned(std::span<const double> values) {
  if (values.size() <= kShiftSamples) return {values.begin(), values.end()};
  std::vector<double> kept(kShiftSamples);
  for (std::size_t i = 0; i < kShiftSamples; ++i) kept[i] = values[i * values.size() / kShiftSamples];
  return kept;
}

// Quantile of values that are already sorted.
double sorted_quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return sorted_quantile(sorted_copy(values), q);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

Interval median_interval(std::span<const double> values, double level) {
  Interval interval{median(values), -kInfinity, kInfinity, level};
  const int n = static_cast<int>(values.size());
  const std::vector<double> sorted = sorted_copy(values);
  // The truth lies below the (k+1)-th smallest value with probability P(binomial(n, 1/2) ≤ k).
  double cumulative = 0;
  int outside = 0;  // values left out at either end
  for (int k = 0; k < n / 2; ++k) {
    cumulative += binomial_probability(n, k, 0.5);
    if (cumulative > (1 - level) / 2) break;
    outside = k + 1;
  }
  if (outside > 0) {
    interval.low = sorted[static_cast<std::size_t>(outside - 1)];
    interval.high = sorted[static_cast<std::size_t>(n - outside)];
  }
  return interval;
}

Interval signed_rank_interval(std::span<const double> values, double level) {
  const int n = static_cast<int>(values.size());
  Interval interval{std::numeric_limits<double>::quiet_NaN(), -kInfinity, kInfinity, level};
  if (n == 0) return interval;
  std::vector<double> means;  // the Walsh averages
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  std::sort(means.begin(), means.end());
  interval.median = sorted_quantile(means, 0.5);
  const int64_t critical = signed_rank_critical(n, (1 - level) / 2);
  if (critical > 0) {
    interval.low = means[static_cast<std::size_t>(critical - 1)];
    interval.high = means[means.size() - static_cast<std::size_t>(critical)];
  }
  return interval;
}

Interval shift_interval(std::span<const double> a, std::span<const double> b, double level) {
  Interval interval{std::numeric_limits<double>::quiet_NaN(), -kInfinity, kInfinity, level};
  if (a.empty() || b.empty()) return interval;
  const std::vector<double> left = thinned(a), right = thinned(b);
  std::vector<double> differences;
  differences.reserve(left.size() * right.size());
  for (double x : left)
    for (double y : right) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  interval.median = sorted_quantile(differences, 0.5);
  const auto n = static_cast<double>(left.size()), m = static_cast<double>(right.size());
  const double half_width = normal_quantile((1 - level) / 2) * std::sqrt(n * m * (n + m + 1) / 12);
  const double cut = std::floor(n * m / 2 - half_width);
  if (cut < 1) return interval;
  interval.low = differences[static_cast<std::size_t>(cut) - 1];
  interval.high = differences[differences.size() - static_cast<std::size_t>(cut)];
  return interval;
}

int binomial_upper_bound(int n, double p, double tail) {
  double cumulative = 0;
  for (int k = 0; k < n; ++k) {
    cumulative += binomial_probability(n, k, p);
    if (1 - cumulative <= tail) return k;
  }
  return n;
}

}  // namespace hone
