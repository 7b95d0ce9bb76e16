#include "report/counter_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report {

std::string figure_text(const analyze::CounterFigure& figure) {
  if (figure.unit == "%") return format_percent(figure.value / 100);
  if (figure.unit == "bytes") return format_bytes(figure.value);
  if (figure.unit == "FLOP") return format_flops(figure.value);
  if (figure.unit == "us") return format_ms(figure.value * 1e-3);
  return fmt::format("{:.4g}{}{}", figure.value, figure.unit.empty() ? "" : " ", figure.unit);
}

std::string launch_text(const analyze::CountedKernel& kernel) {
  std::string text =
      fmt::format("{} of {}", counted(kernel.blocks, "block"), counted(kernel.threads, "thread"));
  if (kernel.registers > 0) text += fmt::format(", {}", counted(kernel.registers, "register"));
  if (kernel.shared_bytes > 0)
    text += fmt::format(", {} of shared memory", format_bytes(kernel.shared_bytes));
  return text + fmt::format("; {} counted", counted(kernel.launches, "launch", "launches"));
}

std::vector<std::string_view> figure_sections(const analyze::CountedKernel& kernel) {
  std::vector<std::string_view> sections;
  for (const analyze::CounterFigure& row : kernel.figures)
    if (std::find(sections.begin(), sections.end(), row.section) == sections.end())
      sections.push_back(row.section);
  return sections;
}

std::string kernel_gain_text(const analyze::KernelFinding& finding) {
  if (finding.predicted_gain_us <= 0) return {};
  return fmt::format("{} {} of a launch", finding.gain_is_bound ? "at most" : "about",
                     format_ms(finding.predicted_gain_us * 1e-3));
}

std::string_view counters_note() {
  return "Counted apart from the timeline: each kernel alone, with empty caches, at the clock that the "
         "device had then";
}

}  // namespace hone::report
