// Gains in tables of what was tried: predicted beside measured, on one scale.
#pragma once

#include <optional>
#include <string>

#include "analyze/findings.h"
#include "report/markup.h"

namespace hone::report::html {

struct GainScale {
  double low = 0, high = 0;

  void widen(double predicted_ms, const std::optional<analyze::Estimate>& measured_ms);
};

// The cells of a gain: two numbers and a picture.
Markup gain_cells(const std::optional<double>& predicted_ms,
                  const std::optional<analyze::Estimate>& measured_ms, const GainScale& scale,
                  double step_ms);
Markup outcome_cell(bool kept, const std::string& outcome);
Markup gain_legend();
// Of a table whose first column is `what`.
Markup gain_heads(std::string_view what);

}  // namespace hone::report::html
