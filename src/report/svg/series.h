// A number over the steps of a run: lines, the range that thinned points lie in, and single points.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyze/training/curves.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

struct Series {
  std::string name;      // for what a pointer is told
  std::string css = {};  // "" or a second class of a curve: "after", "again"
  std::vector<analyze::CurvePoint> line = {};
  std::vector<analyze::CurvePoint> range = {};   // drawn as the band that they lie in
  std::vector<analyze::CurvePoint> points = {};  // drawn as dots
};

struct SeriesChart {
  std::string label = {};  // read out instead of the picture
  std::vector<Series> series = {};
  double height = 250;
  std::optional<double> last_step = {};  // the picture begins at step 1 then, and ends there
  bool from_zero = false;
  double cut = 0.005;                 // the share of a range's values at either end that may lie outside
  std::optional<double> marked = {};  // a value with a line across: a target
  std::function<std::string(double)> text =
      {};  // of a value at the axis; a plain number where it is left out
};

// Empty where there are fewer than two steps to draw.
Markup series_chart(const SeriesChart& chart, const Canvas& canvas);

}  // namespace hone::report::svg
