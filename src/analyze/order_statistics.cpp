#include "analyze/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::analyze {
namespace {

constexpr std::size_t kShiftSamples = 256;

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> result(samples.begin(), samples.end());
  std::sort(result.begin(), result.end());
  return result;
}

double sorted_quantile(const std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  double position = q * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(position);
  std::size_t above = std::min(below + 1, values.size() - 1);
  double fraction = position - static_cast<double>(below);
  return values[below] + fraction * (values[above] - values[below]);
}

// The largest rank r (from 0) such that the interval [x(r), x(n-1-r)] covers the median with `confidence`:
// P(Binomial(n, 1/2) ≤ r) ≤ (1 − confidence)/2 lets r + 1 samples be cut from each end. Logarithms, because
// 2^-n underflows.
std::size_t cut_from_each_end(std::size_t n, double confidence) {
  double tail = (1 - confidence) / 2;
  double log_choose = 0;
  double log_half = -static_cast<double>(n) * std::log(2.0);
  double cumulative = 0;
  std::size_t cut = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    cumulative += std::exp(log_choose + log_half);
    if (cumulative > tail) break;
    cut = k + 1;
    log_choose += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
  }
  return cut;
}

// The two-sided standard normal quantile, by bisection of erfc: called rarely, needs no table.
double normal_quantile(double confidence) {
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > 1 - confidence ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> thinned(std::span<const double> samples) {
  if (samples.size() <= kShiftSamples) return {samples.begin(), samples.end()};
  std::vector<double> result(kShiftSamples);
  for (std::size_t i = 0; i < kShiftSamples; ++i) result[i] = samples[i * samples.size() / kShiftSamples];
  return result;
}

}  // namespace

double quantile(std::span<const double> samples, double q) { return sorted_quantile(sorted(samples), q); }

Estimate median_estimate(std::span<const double> samples, double confidence) {
  if (samples.empty()) return {};
  std::vector<double> values = sorted(samples);
  std::size_t cut = cut_from_each_end(values.size(), confidence);
  // Cutting r samples from an end leaves x(r) as the bound: P(median below it) = P(Binomial ≤ r − 1) is kept
  // within the tail.
  std::size_t rank = cut == 0 ? 0 : cut - 1;
  return {sorted_quantile(values, 0.5), values[rank], values[values.size() - 1 - rank]};
}

Estimate shift_estimate(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.empty() || b.empty()) return {};
  std::vector<double> left = thinned(a), right = thinned(b);
  std::vector<double> differences;
  differences.reserve(left.size() * right.size());
  for (double x : left)
    for (double y : right) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  auto n = static_cast<double>(left.size()), m = static_cast<double>(right.size());
  double half_width = normal_quantile(confidence) * std::sqrt(n * m * (n + m + 1) / 12);
  double rank = std::floor(n * m / 2 - half_width);
  std::size_t cut = rank <= 0 ? 0 : static_cast<std::size_t>(rank);
  return {sorted_quantile(differences, 0.5), differences[cut], differences[differences.size() - 1 - cut]};
}

}  // namespace hone::analyze
