// The curve of losses: those with the changes beside those of two unchanged runs, in the band that is allowed around these.
#pragma once

#include <vector>

#include "report/svg/chart.h"

namespace hone::report::svg {

struct LossCurves {
  std::vector<double> unchanged, again, changed;  // a loss a step
  double allowed = 0;                             // around the unchanged ones, of their mean
};

// Empty where there are fewer than two steps to draw.
Markup loss_curves(const LossCurves& curves, const Canvas& canvas);

}  // namespace hone::report::svg
