// Medians and their distribution-free intervals: no assumption about how run times are distributed, which is
// what makes them honest on noisy machines. Pure functions of samples.
#pragma once

#include <span>

#include "analyze/findings.h"

namespace hone::analyze {

inline constexpr double kConfidence = 0.95;

// The q-quantile (0 to 1) with linear interpolation between order statistics; 0 for no samples.
double quantile(std::span<const double> samples, double q);

// The sample median with the interval between two order statistics that holds the population's median with at
// least `confidence`: ranks from the exact binomial(n, 1/2) distribution (Conover, Practical Nonparametric
// Statistics, 3.2). With too few samples for that (fewer than 6 at 95 %) the interval is the whole range.
Estimate median_estimate(std::span<const double> samples, double confidence = kConfidence);

// How far `b` lies above `a`, independent samples: the Hodges-Lehmann shift (median of all differences b − a)
// with its Mann-Whitney interval. O(n·m) memory: larger samples are thinned evenly to 256 each.
Estimate shift_estimate(std::span<const double> a, std::span<const double> b,
                        double confidence = kConfidence);

}  // namespace hone::analyze
