#include "report/svg/bars.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report::svg {
namespace {

constexpr double kWidth = 170, kHeight = 22, kMargin = 8;

}  // namespace

Markup gain(double predicted_ms, const std::optional<analyze::Estimate>& measured_ms, double low_ms,
            double high_ms) {
  double span = high_ms > low_ms ? high_ms - low_ms : 1;
  auto x = [&](double ms) { return kMargin + (ms - low_ms) / span * (kWidth - 2 * kMargin); };
  double middle = kHeight / 2;
  Markup content = line(kMargin, middle, kWidth - kMargin, middle, "grid");
  content += line(x(0), 3, x(0), kHeight - 3, "zero");
  if (measured_ms) {
    content += line(x(measured_ms->low), middle, x(measured_ms->high), middle, "interval");
    content += tag(
        "circle",
        {{"cx", number(x(measured_ms->median))}, {"cy", number(middle)}, {"r", "4.5"}, {"class", "measured"}},
        tag("title", fmt::format("measured {} ({} to {})", format_ms(measured_ms->median),
                                 format_ms(measured_ms->low), format_ms(measured_ms->high))));
  }
  if (predicted_ms != 0) {
    double px = x(predicted_ms);
    content +=
        tag("path",
            {{"d", fmt::format("M{0} {1}l5.5 5.5l-5.5 5.5l-5.5-5.5z", number(px), number(middle - 5.5))},
             {"class", "predicted"}},
            tag("title", fmt::format("predicted {}", format_ms(predicted_ms))));
  }
  return tag(
      "svg",
      {{"class", "gain"}, {"viewBox", fmt::format("0 0 {} {}", kWidth, kHeight)}, {"aria-hidden", "true"}},
      content);
}

Markup share(double fraction, std::string_view css) {
  double width = 100 * std::clamp(fraction, 0.0, 1.0);
  return tag("svg",
             {{"class", "share"},
              {"viewBox", "0 0 100 6"},
              {"preserveAspectRatio", "none"},
              {"aria-hidden", "true"}},
             box(0, 0, 100, 6, "track", "") + box(0, 0, width, 6, css, ""));
}

}  // namespace hone::report::svg
