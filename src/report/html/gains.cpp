#include "report/html/gains.h"

#include <algorithm>

#include "core/units.h"
#include "report/html/parts.h"
#include "report/svg/bars.h"

namespace hone::report::html {

void GainScale::widen(double predicted_ms, const std::optional<analyze::Estimate>& measured_ms) {
  low = std::min(low, predicted_ms);
  high = std::max(high, predicted_ms);
  if (!measured_ms) return;
  low = std::min(low, measured_ms->low);
  high = std::max(high, measured_ms->high);
}

Markup gain_cells(const std::optional<double>& predicted_ms,
                  const std::optional<analyze::Estimate>& measured_ms, const GainScale& scale,
                  double step_ms) {
  Markup cells = cell("predicted", predicted_ms ? fixed_ms(*predicted_ms, step_ms) : "–");
  cells += cell("measured", measured_ms ? fixed_ms(measured_ms->median, step_ms) : "–");
  const bool drawn = predicted_ms || measured_ms;
  return cells + tag("td", drawn ? svg::gain(predicted_ms.value_or(0), measured_ms, scale.low, scale.high)
                                 : Markup());
}

Markup outcome_cell(bool kept, const std::string& outcome) {
  return tag("td", tag("span", {{"class", kept ? "yes" : "no"}}, outcome));
}

Markup gain_legend() {
  return Markup::literal(
      "<div class=\"legend\"><span><i class=\"dot\" style=\"background:var(--accent)\"></i>measured, with "
      "its interval</span>"
      "<span><i class=\"diamond\"></i>predicted</span></div>");
}

Markup gain_heads(std::string_view what) {
  return tag("thead",
             tag("tr", tag("th", what) + tag("th", {{"class", "n"}}, "predicted") +
                           tag("th", {{"class", "n"}}, "measured") + Markup::literal("<th></th><th></th>")));
}

}  // namespace hone::report::html
