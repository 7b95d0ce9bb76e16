#include "report/svg/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hone::report::svg {

Markup document(const Canvas& canvas, double height, std::string_view label, const Markup& content) {
  return tag("svg",
             {{"class", canvas.compact ? "chart compact" : "chart wide"},
              {"viewBox", fmt::format("0 0 {} {}", number(canvas.width), number(height))},
              {"role", "img"},
              {"aria-label", std::string(label)}},
             content);
}

std::string cause_class(analyze::Cause cause) { return fmt::format("cause-{}", analyze::cause_name(cause)); }
std::string operator_class_css(trace::OperatorClass operator_class) {
  return fmt::format("class-{}", trace::operator_class_name(operator_class));
}

std::string_view kind_css(std::string_view kind) {
  if (kind.starts_with("synchronization")) return "kind-sync";
  if (kind.starts_with("communication") || kind.starts_with("collective")) return "kind-comm";
  if (kind.starts_with("allocation")) return "kind-alloc";
  if (kind == "input") return "kind-input";
  if (kind == "io") return "kind-io";
  return "";
}

Markup line(double x1, double y1, double x2, double y2, std::string_view css) {
  return tag("line",
             {{"x1", number(x1)},
              {"y1", number(y1)},
              {"x2", number(x2)},
              {"y2", number(y2)},
              {"class", std::string(css)}},
             Markup());
}

Markup box(double x, double y, double width, double height, std::string_view css, std::string_view tip) {
  return tag("rect",
             {{"x", number(x)},
              {"y", number(y)},
              {"width", number(std::max(0.5, width))},
              {"height", number(height)},
              {"class", std::string(css)}},
             tip.empty() ? Markup() : tag("title", tip));
}

Markup text(double x, double y, std::string_view words, std::string_view css, Anchor anchor) {
  const char* names[] = {"", "middle", "end"};
  return tag("text",
             {{"x", number(x)},
              {"y", number(y)},
              {"class", std::string(css)},
              {"text-anchor", names[static_cast<int>(anchor)]}},
             words);
}

std::vector<double> ticks(double limit, int count) {
  if (!(limit > 0) || !std::isfinite(limit) || count < 1) return {0};
  double rough = limit / count;
  double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * (rough / power <= 1.5 ? 1 : rough / power <= 3.5 ? 2 : rough / power <= 7.5 ? 5 : 10);
  std::vector<double> values;
  for (int i = 0; i * step <= limit * (1 + 1e-9); ++i) values.push_back(i * step);
  return values;
}

double LogScale::operator()(double value) const {
  double clamped = std::clamp(value, low, high);
  return start + (end - start) * std::log(clamped / low) / std::log(high / low);
}

}  // namespace hone::report::svg
