// The explanation of a run for a terminal. The first screen must tell a stranger what to change: the verdict,
// the ledger, what to do; what stands behind it follows.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;
using analyze::Analysis;

constexpr std::size_t kFullFindings = 3;  // the rest in two lines each
constexpr std::size_t kEvidenceLines = 3;
constexpr std::size_t kStragglerLines = 5;  // who is late, by which operators, and which gain is meant
constexpr std::size_t kKernelsAlone = 5;
constexpr std::size_t kLongLine = 300;  // generated names run to thousands of characters
constexpr std::size_t kPathSegments = 8;
constexpr double kNamedStretch = 0.005;    // of the step
constexpr std::size_t kWarningsAbove = 2;  // the first screen is for what to change

std::string about(const Analysis& analysis, const TerminalStyle& style) {
  std::string out = wrapped(shortened(clean_utf8(analysis.source), 2 * style.width), 0, style);
  std::string facts = analysis.device.empty() ? "" : analysis.device + ", ";
  if (analysis.ranks.size() > 1) facts += fmt::format("{} ranks, ", analysis.ranks.size());
  out += wrapped(facts + steps_sentence(analysis.step), 0, style);
  for (const std::string& note : analysis.step.notes) out += wrapped(note, 0, style);
  return paint(out, Colour::kFaint, style);
}

std::string finding(const analyze::Finding& row, int number, bool full, const Analysis& analysis,
                    const TerminalStyle& style) {
  const std::string gain = gain_sentence(row, analysis);
  const std::string& head = row.fix.empty() ? row.title : row.fix;
  std::string out = wrapped(fmt::format("{}. {}", number, head), 2, style, 3);
  if (!gain.empty()) out += paint(wrapped("wins " + gain, 5, style), Colour::kGreen, style);
  if (!row.fix.empty())
    out += wrapped(fmt::format("{}: {}", analyze::cause_label(row.cause), row.title), 5, style);
  if (!full) return out;
  std::string details;
  const std::size_t most = row.cause == analyze::Cause::kStraggler ? kStragglerLines : kEvidenceLines;
  const std::size_t shown = std::min(most, row.evidence.size());
  for (std::size_t i = 0; i < shown; ++i)
    details += wrapped("- " + shortened(clean_utf8(row.evidence[i]), kLongLine), 5, style, 2);
  if (!row.caveat.empty()) details += wrapped("mind: " + row.caveat, 5, style, 6);
  return details.empty() ? out : out + paint(details, Colour::kFaint, style);
}

std::string findings(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.findings.empty()) return "";
  std::string out = heading("What to change", style);
  if (const std::string note = gains_note(analysis); !note.empty())
    out += paint(wrapped(note, 2, style), Colour::kFaint, style);
  int number = 0;
  for (const analyze::Finding* row : ordered_findings(analysis)) {
    const bool full = number < static_cast<int>(kFullFindings);
    out += finding(*row, ++number, full, analysis, style);
  }
  return out;
}

std::string kernels(const Analysis& analysis, const TerminalStyle& style) {
  // As many as operators were asked for; where there are no operators, a few.
  const std::size_t asked = analysis.top.empty() ? kKernelsAlone : analysis.top.size();
  const std::size_t shown = std::min(analysis.kernels.size(), asked);
  if (shown == 0) return "";
  const std::size_t name_width = style.width - 5 - (11 + 8 + 10 + 12);
  std::string out = heading(most_time(shown, "kernel", analysis), style);
  out += paint("  #  " + left("kernel", name_width) + right("time", 11) + right("share", 8) +
                   right("launches", 10) + right("mean", 12),
               Colour::kFaint, style) +
         "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::KernelTime& row = analysis.kernels[i];
    out += fmt::format("{:3}  ", i + 1) + name_cell(row.name, name_width) +
           right(fixed_ms(row.ms, analysis.step.ms.median), 11) + right(format_percent(row.share), 8) +
           right(fmt::format("{:.0f}", row.launches), 10) + right(format_ms(row.mean_us * 1e-3), 12) + "\n";
    if (const std::string what = kernel_detail(row, 60); !what.empty())
      out += paint(wrapped(what, 5, style), Colour::kFaint, style);
  }
  return out;
}

std::string metrics(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.targets.empty()) return "";
  const std::size_t label_width = std::min<std::size_t>(42, style.width - 2 - 18 - 2 - 18 - 8);
  std::string out = heading("The numbers to steer by", style);
  for (const analyze::Metric& metric : analysis.targets) {
    const std::string target = metric_target(metric);
    const std::string_view mark = metric_mark(metric);
    std::string line = "  " + name_cell(metric.label, label_width) +
                       right(shortened(clean_utf8(metric_value(metric)), 17), 18) + "  " +
                       left(shortened(clean_utf8(target), 17), 18);
    line += paint(mark, metric.reached() ? Colour::kGreen : Colour::kYellow, style);
    if (mark.empty()) line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (!metric.doubt.empty()) out += paint(wrapped(metric.doubt, 5, style), Colour::kFaint, style);
  }
  return out;
}

std::string phases(const Analysis& analysis, const TerminalStyle& style) {
  const std::string text = phases_text(analysis);
  return text.empty() ? "" : "\n" + wrapped(text, 0, style, 2);
}

// A line a rank: who computes longest, who comes late, who waits.
std::string ranks(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.rank_summaries.size() < 2) return "";
  const double step = analysis.step.ms.median;
  const bool devices = analysis.rank_summaries.front().device_index >= 0;
  const std::size_t rank_width = devices ? 13 : 5;
  const std::size_t name_width = style.width - 2 - rank_width - 11 - 9 - 11 - 11 - 10 - 11 - 2;
  std::string out = heading("Ranks", style);
  out +=
      paint("  " + right("rank", rank_width) + right("step", 11) + right("busy", 9) + right("computes", 11) +
                right("latest", 11) + right("usually", 10) + right("waits", 11) + "  file",
            Colour::kFaint, style) +
      "\n";
  for (const analyze::RankSummary& row : analysis.rank_summaries)
    out += "  " + right(rank_text(row), rank_width) + right(fixed_ms(row.step_ms, step), 11) +
           right(format_percent(row.busy_share), 9) + right(fixed_ms(row.compute_ms, step), 11) +
           right(latest_text(row, step), 11) + right(usually_late_text(row), 10) +
           right(fixed_ms(row.waiting_ms, step), 11) + "  " + shortened(clean_utf8(row.source), name_width) +
           "\n";
  return has_lateness(analysis)
             ? out + paint(wrapped(std::string(lateness_note()), 2, style), Colour::kFaint, style)
             : out;
}

std::string collectives(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.collectives.empty()) return "";
  const double step = analysis.step.ms.median;
  const std::size_t name_width = style.width - 2 - 8 - 12 - 11 - 11 - 26;
  std::string out = heading("Collectives", style);
  out += paint("  " + left("", name_width) + right("a step", 8) + right("bytes", 12) + right("takes", 11) +
                   right("exposed", 11) + right("busbw", 26),
               Colour::kFaint, style) +
         "\n";
  for (const analyze::CollectiveSummary& row : analysis.collectives) {
    std::string rate = row.bus_bytes_per_s > 0 ? format_byte_rate(row.bus_bytes_per_s) : "–";
    if (row.bus_bytes_per_s > 0 && row.roof_bytes_per_s > 0) rate += ", " + link_share(row);
    out += "  " + name_cell(row.name + ", " + row.group, name_width) +
           right(fmt::format("{:.3g}", row.count), 8) + right(format_bytes(row.bytes), 12) +
           right(fixed_ms(row.ms, step), 11) + right(fixed_ms(row.exposed_ms, step), 11) + right(rate, 26) +
           "\n";
  }
  return out;
}

std::string critical_path(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.critical_path.empty()) return "";
  std::vector<const analyze::PathSegment*> longest;
  for (const analyze::PathSegment& row : analysis.critical_path)
    if (row.ms >= kNamedStretch * analysis.step.ms.median) longest.push_back(&row);
  std::stable_sort(longest.begin(), longest.end(),
                   [](const auto* a, const auto* b) { return a->ms > b->ms; });
  const std::size_t shown = std::min(kPathSegments, longest.size());
  std::string out =
      heading(shown == longest.size()
                  ? std::string("The critical path")
                  : fmt::format("The critical path: the {} longest of {} stretches", shown, longest.size()),
              style);
  longest.resize(shown);
  const std::size_t half = (style.width - 2 - 11 - 12) / 2;
  for (const analyze::PathSegment* row : longest)
    out += right(fixed_ms(row->ms, analysis.step.ms.median), 12) + "  " +
           left(shortened(clean_utf8(row->kind), 11), 12) + name_cell(row->name, half) + " " +
           shortened(clean_utf8(row->track), half - 2) + "\n";
  return out;
}

}  // namespace

std::string explain_terminal(const Analysis& analysis, const TerminalStyle& style) {
  std::string out = "\n" + paint(wrapped(analysis.verdict.sentence, 0, style), Colour::kBold, style);
  if (const std::string fix = first_fix(analysis); !fix.empty())
    out += paint(wrapped("→ " + fix, 0, style, 2), Colour::kGreen, style);
  out += about(analysis, style);
  const auto rest = analysis.warnings.begin() +
                    static_cast<std::ptrdiff_t>(std::min(kWarningsAbove, analysis.warnings.size()));
  out += warnings({analysis.warnings.begin(), rest}, style);
  out += heading("Where the time goes", style) + ledger_table(analysis, style);
  out += findings(analysis, style);
  out += ranks(analysis, style);
  if (!analysis.top.empty())
    out += heading(most_time(analysis.top.size(), "operator", analysis), style) + top_table(analysis, style);
  out += kernels(analysis, style);
  out += collectives(analysis, style);
  out += metrics(analysis, style);
  out += critical_path(analysis, style);
  out += phases(analysis, style);
  if (analysis.coverage)
    out += "\n" + wrapped("Coverage: " + coverage_sentence(*analysis.coverage), 0, style, 2);
  if (rest != analysis.warnings.end()) out += "\n" + warnings({rest, analysis.warnings.end()}, style);
  return out;
}

}  // namespace hone::report
