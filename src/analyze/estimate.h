// Estimates of measured times for findings: core/statistics.h's intervals, which are unbounded where there
// are too few samples for their level, as finite numbers that can be shown.
#pragma once

#include <span>

#include "analyze/findings.h"

namespace hone::analyze {

inline constexpr double kConfidence = 0.95;

// The median with its interval; with too few samples (fewer than 6 at 95 %) the interval is the whole range.
// Zeros for no samples.
Estimate median_estimate(std::span<const double> samples, double confidence = kConfidence);

// The mean with the interval of the normal distribution, within the range. Zeros for no samples.
Estimate mean_estimate(std::span<const double> samples);

struct Shift {
  Estimate change;    // how far b lies above a; with too few samples from the least to the largest difference
  bool sure = false;  // the interval excludes no change
};
// For independent samples. Zeros without any.
Shift shift_estimate(std::span<const double> a, std::span<const double> b, double confidence = kConfidence);

}  // namespace hone::analyze
