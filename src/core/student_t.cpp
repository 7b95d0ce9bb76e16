#include "core/student_t.h"

#include <cmath>
#include <limits>
#include <vector>

namespace hone {
namespace {

// The continued fraction of the incomplete beta function (Abramowitz and Stegun, 26.5.8), by Lentz's method; converges fast
// for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMost = 1000;
  constexpr double kSmall = 1e-300, kEnough = 1e-15;
  const auto away_from_zero = [](double value) { return std::abs(value) < kSmall ? kSmall : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMost; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      factor = c * d;
      result *= factor;
    }
    if (std::abs(factor - 1) < kEnough) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

struct Moments {
  double mean = 0, variance_of_mean = 0, freedom = 0;
};

Moments moments_of(std::span<const double> values) {
  Moments moments;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) moments.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.freedom = n - 1;
  moments.variance_of_mean = n > 1 ? squares / (n - 1) / n : 0;
  return moments;
}

// Of a difference of means, whose variance was found with so many degrees of freedom.
MeansTest tested(double difference, double variance, double freedom, double level) {
  MeansTest test;
  test.difference = test.low = test.high = difference;
  if (!(variance > 0)) {  // values without spread: equal, or different beyond doubt
    test.p = difference == 0 ? 1 : 0;
    test.freedom = std::numeric_limits<double>::infinity();
    return test;
  }
  test.freedom = freedom;
  const double error = std::sqrt(variance);
  const double t = student_t_quantile(0.5 + level / 2, freedom);
  test.p = 2 * student_t_cdf(-std::abs(difference) / error, freedom);
  test.low = difference - t * error;
  test.high = difference + t * error;
  test.detectable = (t + student_t_quantile(0.8, freedom)) * error;
  return test;
}

}  // namespace

double student_t_cdf(double t, double freedom) {
  const double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

// By halving: the function is monotone, and nobody calls this often.
double student_t_quantile(double p, double freedom) {
  double low = -1, high = 1;
  while (student_t_cdf(low, freedom) > p) low *= 2;
  while (student_t_cdf(high, freedom) < p) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * std::abs(high); ++i) {
    const double middle = (low + high) / 2;
    (student_t_cdf(middle, freedom) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

MeansTest paired_test(std::span<const double> a, std::span<const double> b, double level) {
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = b[i] - a[i];
  const Moments moments = moments_of(differences);
  MeansTest test = tested(moments.mean, moments.variance_of_mean, moments.freedom, level);
  test.paired = true;
  return test;
}

MeansTest welch_test(std::span<const double> a, std::span<const double> b, double level) {
  const Moments first = moments_of(a), second = moments_of(b);
  const double variance = first.variance_of_mean + second.variance_of_mean;
  const auto part = [](const Moments& m) { return m.variance_of_mean * m.variance_of_mean / m.freedom; };
  const double freedom = variance * variance / (part(first) + part(second));
  return tested(second.mean - first.mean, variance, freedom, level);
}

}  // namespace hone
