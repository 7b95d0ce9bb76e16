// Small charts that stand in table cells.
#pragma once

#include <optional>

#include "analyze/findings.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

// A pass's gain: the measured interval as a line with its median as a dot, the prediction as a hollow
// diamond, on a scale from `low_ms` to `high_ms` that all rows share; zero is marked.
Markup gain(double predicted_ms, const std::optional<analyze::Estimate>& measured_ms, double low_ms,
            double high_ms);

// A share of the whole as a filled track.
Markup share(double fraction, std::string_view css);

}  // namespace hone::report::svg
