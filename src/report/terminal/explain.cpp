// The explanation of a run for a terminal. The first screen must tell a stranger what to change: the verdict,
// the ledger, what to do; what stands behind it follows.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/description/grids.h"
#include "report/description/memory_fields.h"
#include "report/device_words.h"
#include "report/memory_words.h"
#include "report/sampled_words.h"
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
constexpr double kNamedSegment = 0.005;    // of the step
constexpr std::size_t kWarningsAbove = 2;  // the first screen is for what to change

std::string about(const Analysis& analysis, const TerminalStyle& style) {
  std::string out = wrapped(shortened(clean_utf8(analysis.source), 2 * style.width), 0, style);
  std::string facts = analysis.device.empty()    ? ""
                      : analysis.device == "cpu" ? "on the CPU, "
                                                 : analysis.device + ", ";
  if (analysis.ranks.size() > 1) facts += fmt::format("{} ranks, ", analysis.ranks.size());
  out += wrapped(facts + steps_sentence(analysis.step), 0, style);
  return paint(out, Colour::kFaint, style);
}

// What to know of the steps, for who has read what they are.
std::string about_steps(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.step.notes.empty()) return "";
  std::string out = heading("About these steps", style);
  for (const std::string& note : analysis.step.notes) out += wrapped("- " + note, 2, style, 2);
  return out;
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
  if (!row.caveat.empty()) details += wrapped("note: " + row.caveat, 5, style, 6);
  return details.empty() ? out : out + paint(details, Colour::kFaint, style);
}

std::string findings(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.findings.empty()) return "";
  std::string out = heading(findings_heading(analysis), style);
  if (const std::string note = gains_note(analysis); !note.empty())
    out += paint(wrapped(note, 2, style), Colour::kFaint, style);
  int number = 0;
  for (const analyze::Finding& row : analysis.findings) {
    const bool full = number < static_cast<int>(kFullFindings);
    out += finding(row, ++number, full, analysis, style);
  }
  return out;
}

std::string kernels(const Analysis& analysis, const TerminalStyle& style) {
  // As many as operators were asked for; where there are no operators, a few.
  const bool alone = analysis.top.empty() || top_noun(analysis).empty();
  const std::size_t asked = alone ? std::max(kKernelsAlone, analysis.top.size()) : analysis.top.size();
  const std::size_t shown = std::min(analysis.kernels.size(), asked);
  if (shown == 0) return "";
  return heading(most_time(shown, "kernel", analysis), style) +
         table(kernel_grid(analysis, Form::kTerminal, shown), style, true);
}

std::string metrics(const Analysis& analysis, const TerminalStyle& style) {
  const std::string rows = table(metric_grid(analysis, Form::kTerminal), style);
  return rows.empty() ? "" : heading("The numbers to steer by", style) + rows;
}

std::string sampled(const Analysis& analysis, const TerminalStyle& style) {
  std::string out;
  for (const analyze::SampledDevice& device : shown_devices(analysis))
    out += heading(sampled_heading(device), style) +
           table(sampled_grid(analysis, device, Form::kTerminal), style);
  return out;
}

std::string memory(const Analysis& analysis, const TerminalStyle& style) {
  constexpr std::size_t kHoldings = 8;
  std::string out;
  for (const analyze::DeviceMemory& device : memory_of(analysis)) {
    out += heading(memory_heading(device), style);
    for (const std::string& sentence : memory_sentences(device)) out += wrapped("- " + sentence, 2, style, 2);
    out += table(memory_grid(analysis, device, Form::kTerminal, kHoldings), style, true);
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
  const std::string out = heading("Ranks", style) + table(rank_grid(analysis, Form::kTerminal), style);
  return has_lateness(analysis)
             ? out + paint(wrapped(std::string(lateness_note()), 2, style), Colour::kFaint, style)
             : out;
}

std::string collectives(const Analysis& analysis, const TerminalStyle& style) {
  const std::string rows = table(collective_grid(analysis, Form::kTerminal), style);
  return rows.empty() ? "" : heading("Collectives", style) + rows;
}

std::string critical_path(const Analysis& analysis, const TerminalStyle& style) {
  if (analysis.critical_path.empty()) return "";
  std::vector<analyze::PathSegment> longest;
  for (const analyze::PathSegment& row : analysis.critical_path)
    if (row.ms >= kNamedSegment * analysis.step.ms.median) longest.push_back(row);
  std::stable_sort(longest.begin(), longest.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  const std::size_t all = longest.size();
  longest.resize(std::min(kPathSegments, all));
  const std::string title =
      longest.size() == all
          ? std::string("The critical path")
          : fmt::format("The critical path, the {} longest of {} segments", longest.size(), all);
  const std::string of_recorded =
      analysis.step.recorded_ms
          ? fmt::format(" of a recorded step, {}",
                        fixed_ms(analysis.step.recorded_ms->median, analysis.step.ms.median))
          : "";
  return heading(title + of_recorded, style) + table(path_grid(analysis, Form::kTerminal, longest), style);
}

}  // namespace

std::string explain_terminal(const Analysis& analysis, const TerminalStyle& style) {
  std::string out = "\n" + paint(wrapped(analysis.verdict.sentence, 0, style), Colour::kBold, style);
  if (const std::string fix = first_fix(analysis); !fix.empty())
    out += paint(wrapped("→ " + fix, 0, style, 2), Colour::kGreen, style);
  // A snapshot of memory has no times.
  if (is_of_memory_alone(analysis))
    return out + paint(wrapped(analysis.source, 0, style), Colour::kFaint, style) +
           warnings(analysis.warnings, style) + memory(analysis, style);
  out += about(analysis, style);
  const auto rest = analysis.warnings.begin() +
                    static_cast<std::ptrdiff_t>(std::min(kWarningsAbove, analysis.warnings.size()));
  out += warnings({analysis.warnings.begin(), rest}, style);
  out += heading("Where the time goes", style) + ledger_table(analysis, style);
  out += findings(analysis, style);
  out += ranks(analysis, style);
  if (const std::string_view noun = top_noun(analysis); !analysis.top.empty() && !noun.empty())
    out += heading(most_time(analysis.top.size(), noun, analysis), style) + top_table(analysis, style);
  out += kernels(analysis, style);
  out += counted_kernels(analysis, style);
  out += collectives(analysis, style);
  out += metrics(analysis, style);
  out += sampled(analysis, style);
  out += memory(analysis, style);
  out += critical_path(analysis, style);
  out += phases(analysis, style);
  if (analysis.coverage)
    out += "\n" + wrapped("Coverage: " + coverage_sentence(*analysis.coverage), 0, style, 2);
  out += about_steps(analysis, style);
  if (rest != analysis.warnings.end()) out += "\n" + warnings({rest, analysis.warnings.end()}, style);
  return out;
}

}  // namespace hone::report
