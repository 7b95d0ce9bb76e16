// Student's t: what tests of means of few values need. Pure functions of numbers.
#pragma once

#include <span>

namespace hone {

// P(T <= t) for `freedom` > 0 degrees of freedom, which need not be whole.
double student_t_cdf(double t, double freedom);
// The t below which T lies with probability p, 0 < p < 1.
double student_t_quantile(double p, double freedom);

// A test of two means.
struct MeansTest {
  bool paired = false;       // which: paired_test(); else welch_test()
  double difference = 0;     // mean of b − mean of a
  double low = 0, high = 0;  // of its interval
  double p = 1;              // two-sided: that means which are equal come as far apart
  double freedom = 0;
  // The least true difference that samples like these would show at this level with probability 0.8: what a "no
  // difference" leaves open.
  double detectable = 0;
};
// Welch's (Biometrika 34, 1947): independent values, normal within each sample, variances that may differ. Two values of each
// at least.
MeansTest welch_test(std::span<const double> a, std::span<const double> b, double level);
// Student's, of the differences b[i] − a[i], which are normal: what both values of a pair have in common counts for nothing.
// As many of one as of the other, two at least.
MeansTest paired_test(std::span<const double> a, std::span<const double> b, double level);

}  // namespace hone
