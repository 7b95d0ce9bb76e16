#include "analyze/training/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::analyze {

std::vector<CurvePoint> curve_of(std::span<const TrainingStep> log, double TrainingStep::*number) {
  std::vector<CurvePoint> curve;
  for (const TrainingStep& step : log)
    if (std::isfinite(step.*number)) curve.push_back({static_cast<double>(step.step), step.*number});
  return curve;
}

std::size_t smoothing_window(std::size_t steps) { return std::clamp<std::size_t>(steps / 50, 3, 200); }

std::vector<CurvePoint> smoothed(std::span<const CurvePoint> curve, std::size_t window) {
  std::vector<CurvePoint> result;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const std::size_t count = std::min(i + 1, std::max<std::size_t>(window, 1));
    double sum = 0;  // anew each time: a running sum keeps the rounding of every large value that left it
    for (std::size_t k = i + 1 - count; k <= i; ++k) sum += curve[k].y;
    result.push_back({curve[i].x, sum / static_cast<double>(count)});
  }
  return result;
}

std::vector<ThinnedPoint> thinned(std::span<const CurvePoint> curve, std::size_t most) {
  std::vector<ThinnedPoint> result;
  const std::size_t each = (curve.size() + most - 1) / std::max<std::size_t>(most, 1);
  for (std::size_t i = 0; i < curve.size(); i += each) {
    const auto part = curve.subspan(i, std::min(each, curve.size() - i));
    ThinnedPoint point{0, 0, part[0].y, part[0].y};
    for (const CurvePoint& one : part) {
      point.x += one.x / static_cast<double>(part.size());
      point.y += one.y / static_cast<double>(part.size());
      point.low = std::min(point.low, one.y);
      point.high = std::max(point.high, one.y);
    }
    result.push_back(point);
  }
  return result;
}

double value_at(std::span<const CurvePoint> curve, double x) {
  if (curve.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto after = std::lower_bound(curve.begin(), curve.end(), x,
                                      [](const CurvePoint& point, double at) { return point.x < at; });
  if (after == curve.begin()) return curve.front().y;
  if (after == curve.end()) return curve.back().y;
  const CurvePoint &a = *(after - 1), &b = *after;
  return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

}  // namespace hone::analyze
