#include "report/svg/series.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/statistics.h"

namespace hone::report::svg {
namespace {

using analyze::CurvePoint;
using analyze::ThinnedPoint;

constexpr double kTopEdge = 12, kBottomEdge = 34, kLeftEdge = 62, kRightEdge = 12;
constexpr std::size_t kMostPoints = 300, kMostDots = 150;

std::vector<CurvePoint> finite(const std::vector<CurvePoint>& curve) {
  std::vector<CurvePoint> kept;
  for (const CurvePoint& point : curve)
    if (std::isfinite(point.x) && std::isfinite(point.y)) kept.push_back(point);
  return kept;
}

class SeriesPainter {
 public:
  SeriesPainter(const SeriesChart& chart, const Canvas& canvas) : chart_(chart), canvas_(canvas) {
    for (const Series& series : chart.series) {
      const std::vector<CurvePoint> line = finite(series.line), range = finite(series.range);
      for (const CurvePoint& point : finite(series.points)) see(point.x, point.y);
      if (range.empty())
        for (const CurvePoint& point : line) see(point.x, point.y);
      else
        see_most_of(range);
    }
    if (chart.last_step && last_ > first_) {
      first_ = std::min(first_, 1.0);
      last_ = std::max(last_, *chart.last_step);
    }
    if (chart.marked) see_value(*chart.marked);
    if (chart.from_zero) see_value(0);
    if (!(high_ > low_)) {  // a constant
      const double around = std::max(std::abs(high_) * 0.1, 1e-12);
      if (!chart.from_zero) low_ -= around;
      high_ += around;
    }
    // To round numbers, of which there are a few.
    const std::vector<double> rounded = ticks(high_ - low_, chart.height < 180 ? 2 : 4);
    tick_ = rounded.size() > 1 ? rounded[1] : high_ - low_;
    low_ = std::floor(low_ / tick_ + 1e-9) * tick_;
    high_ = std::ceil(high_ / tick_ - 1e-9) * tick_;
  }

  Markup paint() const {
    if (!(last_ > first_) || !std::isfinite(high_ - low_)) return {};
    Markup content = axes();
    for (const Series& series : chart_.series) content += band(finite(series.range));
    if (chart_.marked)
      content +=
          line(kLeftEdge, y(*chart_.marked), canvas_.width - kRightEdge, y(*chart_.marked), "curve again");
    for (const Series& series : chart_.series) content += path(series);
    for (const Series& series : chart_.series) content += dots(series);
    return document(canvas_, chart_.height, chart_.label, content);
  }

 private:
  void see_value(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  void see(double step, double value) {
    first_ = std::min(first_, step);
    last_ = std::max(last_, step);
    see_value(value);
  }
  // A few values far away do not press all others flat; they are drawn at the edge.
  void see_most_of(const std::vector<CurvePoint>& curve) {
    std::vector<double> values;
    for (const CurvePoint& point : curve) values.push_back(point.y);
    if (values.empty()) return;
    for (const double q : {chart_.cut, 1 - chart_.cut}) see_value(quantile(values, q));
    first_ = std::min(first_, curve.front().x);
    last_ = std::max(last_, curve.back().x);
  }

  double x(double step) const {
    return kLeftEdge + (step - first_) / (last_ - first_) * (canvas_.width - kLeftEdge - kRightEdge);
  }
  double y(double value) const {
    return kTopEdge + (high_ - std::clamp(value, low_, high_)) / (high_ - low_) *
                          (chart_.height - kTopEdge - kBottomEdge);
  }
  std::string at(double step, double value) const {
    return fmt::format("{} {}", number(x(step)), number(y(value)));
  }
  std::string words(double value) const {
    return chart_.text ? chart_.text(value)
                       : fmt::format("{:.4g}", std::abs(value) < 1e-9 * tick_ ? 0 : value);
  }
  std::size_t most_points() const { return canvas_.compact ? kMostPoints / 2 : kMostPoints; }

  Markup band(const std::vector<CurvePoint>& curve) const {
    const std::vector<ThinnedPoint> points = analyze::thinned(curve, most_points());
    if (points.size() < 2) return {};
    if (points.size() ==
        curve.size()) {  // every value has its place: a line shows more than a band of no width
      std::string steps;
      for (const CurvePoint& point : curve) steps += (steps.empty() ? "M" : "L") + at(point.x, point.y);
      return tag("path", {{"d", steps}, {"class", "curve faint"}}, Markup());
    }
    std::string around;
    for (const ThinnedPoint& point : points) around += (around.empty() ? "M" : "L") + at(point.x, point.high);
    for (auto point = points.rbegin(); point != points.rend(); ++point)
      around += "L" + at(point->x, point->low);
    return tag("path", {{"d", around + "Z"}, {"class", "band"}}, Markup());
  }

  Markup path(const Series& series) const {
    std::string steps;
    for (const ThinnedPoint& point : analyze::thinned(finite(series.line), most_points()))
      steps += (steps.empty() ? "M" : "L") + at(point.x, point.y);
    if (steps.find('L') == std::string::npos) return {};
    return tag("path", {{"d", steps}, {"class", series.css.empty() ? "curve" : "curve " + series.css}},
               Markup());
  }

  Markup dots(const Series& series) const {
    Markup all;
    const std::vector<CurvePoint> points = finite(series.points);
    const std::size_t every = points.size() / kMostDots + 1;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % every != 0 && i + 1 != points.size()) continue;
      all +=
          tag("circle",
              {{"cx", number(x(points[i].x))},
               {"cy", number(y(points[i].y))},
               {"r", "3"},
               {"class", series.css.empty() ? "measured" : "measured " + series.css}},
              tag("title", fmt::format("{}, step {:.0f}: {}", series.name, points[i].x, words(points[i].y))));
    }
    return all;
  }

  Markup axes() const {
    Markup all;
    const auto lines = static_cast<int>(std::lround((high_ - low_) / tick_));
    for (int i = 0; i <= lines; ++i) {
      const double value = low_ + tick_ * i;
      all += line(kLeftEdge, y(value), canvas_.width - kRightEdge, y(value), "grid");
      all += text(kLeftEdge - 8, y(value) + 4, words(value), "axis", Anchor::kEnd);
    }
    for (const double step : ticks(last_, canvas_.compact ? 3 : 8))
      if (step >= first_)
        all += text(x(step), chart_.height - 14, fmt::format("{:.0f}", step), "axis", Anchor::kMiddle);
    return all;
  }

  const SeriesChart& chart_;
  const Canvas& canvas_;
  double first_ = INFINITY, last_ = -INFINITY, low_ = INFINITY, high_ = -INFINITY, tick_ = 1;
};

}  // namespace

Markup series_chart(const SeriesChart& chart, const Canvas& canvas) {
  return SeriesPainter(chart, canvas).paint();
}

}  // namespace hone::report::svg
