// Curves of a training run: made smooth, thinned for drawing, averaged. Pure functions of numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyze/training/training_run.h"

namespace hone::analyze {

struct CurvePoint {
  double x = 0;
  double y = 0;
};

// Of one number of each step, by its member; steps where it is not finite are left out.
std::vector<CurvePoint> curve_of(std::span<const TrainingStep> log, double TrainingStep::*number);

// How many steps a smoothed curve averages over: a fiftieth of the run, 3 to 200.
std::size_t smoothing_window(std::size_t steps);

// Each point the mean of the last `window` points, itself included: what was known then, nothing that came later.
std::vector<CurvePoint> smoothed(std::span<const CurvePoint> curve, std::size_t window);

// Neighbouring points as one, so that at most `most` stay: where their mean lies, and between which values.
struct ThinnedPoint {
  double x = 0;
  double y = 0;  // mean
  double low = 0, high = 0;
};
std::vector<ThinnedPoint> thinned(std::span<const CurvePoint> curve, std::size_t most);

// The curve at x, straight between its points; that of its nearest end outside. NaN for an empty curve.
double value_at(std::span<const CurvePoint> curve, double x);

}  // namespace hone::analyze
