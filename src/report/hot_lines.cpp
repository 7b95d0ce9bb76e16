#include "report/hot_lines.h"

#include <fmt/format.h>

#include "analyze/host_lines.h"
#include "core/units.h"
#include "report/text.h"

namespace hone::report {
namespace {

constexpr double kWorthTelling = 0.2;  // of the main thread's samples

std::string line_text(const analyze::HostLine& line) {
  std::string text = fmt::format("  {:>7}  {}", format_percent(line.share), clean_utf8(line.where));
  if (!line.waits.empty()) text += "; it " + line.waits;
  if (!line.calls.empty())
    text += fmt::format("{} in {}", line.waits.empty() ? ", most of it" : "", clean_utf8(line.calls));
  return text + "\n";
}

}  // namespace

std::string hot_lines_text(const analyze::HotLines& hot) {
  std::string text;
  if (hot.running > 0) {
    text += fmt::format("Where its threads ran ({} of all its processes)\n", counted(hot.running, "sample"));
    for (const analyze::HostLine& line : hot.lines) text += line_text(line);
  }
  if (hot.main_samples > 0 && hot.main_waiting >= kWorthTelling * hot.main_samples) {
    text += fmt::format("Where its main thread waited, {} of the time\n",
                        format_percent(hot.main_waiting / hot.main_samples));
    for (const analyze::HostLine& line : hot.waits) text += line_text(line);
  }
  if (!hot.use.empty()) text += "What it took of the machine, a second\n";
  for (const analyze::Metric& metric : hot.use)
    text += fmt::format("  {}: {:.3g}{}\n", metric.label, metric.value,
                        metric.unit == "1/step" || metric.unit.empty() ? "" : " " + metric.unit);
  return text;
}

}  // namespace hone::report
