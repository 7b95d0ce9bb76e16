#include "report/counter_words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyze/compare.h"
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

std::string place_text(const analyze::HotLine& line) {
  if (line.line > 0) return fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
  return fmt::format("{} + {:#x}", line.function, static_cast<uint64_t>(line.offset));
}

std::string stall_text(const analyze::HotLine& line) {
  if (line.stall == "selected") return "issued, not waiting";
  return "waiting for " + line.waits_for;
}

std::string lines_title(const analyze::CountedKernel& kernel) {
  return fmt::format("{}, of {:.0f} samples", kernel.line_info == "known" ? "Hot lines" : "Hot instructions",
                     kernel.samples);
}

std::string lines_note(const analyze::CountedKernel& kernel) {
  if (kernel.line_info == "none")
    return "its code has no line information, which would name the lines of its source: compile with "
           "-lineinfo (nvcc, NVRTC), which costs no speed";
  if (kernel.line_info == "code unseen")
    return "which lines these are is not known: the code was loaded before hone could look at it, or by "
           "more than it keeps";
  return {};
}

std::string kernel_gain_text(const analyze::KernelFinding& finding) {
  if (finding.predicted_gain_us <= 0) return {};
  return fmt::format("{} {} of a launch", finding.gain_is_bound ? "at most" : "about",
                     format_ms(finding.predicted_gain_us * 1e-3));
}

std::string figure_text(std::optional<double> value, const std::string& unit) {
  if (!value) return "–";
  analyze::CounterFigure figure;
  figure.value = *value;
  figure.unit = unit;
  return figure_text(figure);
}

bool has_changed(const analyze::FigureChange& row) {
  constexpr double kHundredth = 0.01;
  if (!row.a || !row.b) return true;
  if (row.unit == "%") return std::abs(*row.b - *row.a) >= 100 * kHundredth;
  return std::abs(*row.b - *row.a) >= kHundredth * std::max(std::abs(*row.a), std::abs(*row.b)) &&
         *row.a != *row.b;
}

std::string figure_change_text(const analyze::FigureChange& row) {
  if (!row.a || !row.b) return {};
  if (row.unit == "%") return fmt::format("{:+.1f} points", *row.b - *row.a);
  return *row.a > 0 ? fmt::format("×{:.3g}", *row.b / *row.a) : std::string();
}

std::string kernel_change_text(const analyze::KernelChange& row) {
  std::string text = fmt::format("{} → {} a launch, {}", format_ms(row.a.us * 1e-3),
                                 format_ms(row.b.us * 1e-3), analyze::pace(row.a.us * 1e-3, row.b.us * 1e-3));
  const auto add = [&](const std::vector<std::string>& rules, std::string_view what) {
    for (const std::string& rule : rules) text += fmt::format("; {} {}", rule, what);
  };
  add(row.mended, "is gone");
  add(row.appeared, "is new");
  if (row.b.bound != row.a.bound && !row.a.bound.empty() && !row.b.bound.empty())
    text += fmt::format("; bound by {} instead of {}", row.b.bound, row.a.bound);
  return text;
}

std::string hot_line_change_text(const analyze::KernelChange& row) {
  if (row.a.lines.empty() || row.b.lines.empty()) return {};
  const auto text = [](const analyze::HotLine& line) {
    return fmt::format("{} ({}, {})", place_text(line), format_percent(line.share), stall_text(line));
  };
  return fmt::format("hottest line: {} → {}", text(row.a.lines[0]), text(row.b.lines[0]));
}

std::string_view counters_note(bool once) {
  return once ? "Counted apart from the timeline, each kernel alone, at the clock that the device had then: "
                "times and "
                "traffic to DRAM are of launches that ran once, with caches as the program left them; all "
                "else is of "
                "launches that ran several times, and found in caches what the run before had left there"
              : "Counted apart from the timeline, each kernel alone, at the clock that the device had then; "
                "Nsight "
                "Compute empties caches before each run unless it is told not to (--cache-control none)";
}

std::string_view counters_note(const analyze::Analysis& analysis) {
  return counters_note(std::any_of(analysis.counted_kernels.begin(), analysis.counted_kernels.end(),
                                   [](const analyze::CountedKernel& kernel) { return kernel.once; }));
}

const analyze::Analysis& counted_side(const analyze::LabReport& report) {
  return report.optimised.counted_kernels.empty() ? report.baseline : report.optimised;
}

}  // namespace hone::report
