// The statistics that analysis and the gate stand on: quantiles and distribution-free intervals. Pure
// functions of numbers. No assumption of normal noise anywhere: timings have heavy tails.
#pragma once

#include <span>

namespace hone {

// An estimate and an interval that covers the true value with probability `level` or more.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  double level = 0;
};

// The q-quantile (0 ≤ q ≤ 1) with linear interpolation between order statistics (type 7 of Hyndman and Fan,
// "Sample Quantiles in Statistical Packages", 1996). NaN for no values.
double quantile(std::span<const double> values, double q);
double median(std::span<const double> values);

// The sample median with the interval between two order statistics (sign test; Hollander, Wolfe and Chicken,
// "Nonparametric Statistical Methods", 3rd ed., §3.6). Needs independent values. Where there are too few
// values for `level` (fewer than 6 for 95 %), the interval is -inf..inf.
Interval median_interval(std::span<const double> values, double level);

// The Hodges-Lehmann estimate (median of the pairwise means) with the interval that inverts the Wilcoxon
// signed-rank test (same book, §3.2 and §3.3). Exact where values are symmetric about the truth; closed at
// both ends, so ties only make it wider. -inf..inf where there are too few values for `level`. O(n² log n)
// time and memory.
Interval signed_rank_interval(std::span<const double> values, double level);

// How far `b` lies above `a`, independent samples: the Hodges-Lehmann shift (median of all differences b - a)
// with the interval that inverts the Mann-Whitney test (same book, §4.2 and §4.3; normal approximation).
// -inf..inf where there are too few values for `level`. O(n·m) memory: larger samples are thinned evenly to
// 256 each.
Interval shift_interval(std::span<const double> a, std::span<const double> b, double level);

// The smallest c that a binomial(n, p) variable exceeds with probability at most `tail`.
int binomial_upper_bound(int n, double p, double tail);

}  // namespace hone
