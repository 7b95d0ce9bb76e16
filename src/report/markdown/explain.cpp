// The explanation of a run as Markdown.
#include <fmt/format.h>

#include "core/units.h"
#include "report/description/grids.h"
#include "report/description/memory_fields.h"
#include "report/device_words.h"
#include "report/markdown.h"
#include "report/markdown/parts.h"
#include "report/memory_words.h"
#include "report/rank_words.h"
#include "report/sampled_words.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace markdown;
using analyze::Analysis;

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("## {}\n\n{}", title, body);
}

std::string findings(const Analysis& analysis) {
  std::string out;
  int number = 0;
  for (const analyze::Finding& row : analysis.findings) {
    out += fmt::format("{}. **{}** ({})", ++number, with_code(row.fix.empty() ? row.title : row.fix),
                       analyze::cause_label(row.cause));
    if (const std::string gain = gain_sentence(row, analysis); !gain.empty()) out += " wins " + gain;
    out += ".\n";
    if (!row.fix.empty()) out += fmt::format("   - {}\n", with_code(row.title));
    for (const std::string& line : row.evidence) out += fmt::format("   - {}\n", with_code(line));
    if (!row.caveat.empty()) out += fmt::format("   - Note: {}\n", with_code(row.caveat));
  }
  if (out.empty()) return "";
  const std::string note = gains_note(analysis);
  return (note.empty() ? "" : fmt::format("{}.\n\n", note)) + out + "\n";
}

std::string ranks(const Analysis& analysis) {
  if (analysis.rank_summaries.size() < 2) return "";
  return table(rank_grid(analysis, Form::kMarkdown)) +
         (has_lateness(analysis) ? fmt::format("\n{}.\n", lateness_note()) : std::string());
}

std::string late_rank(const Analysis& analysis) {
  const std::string rows = table(late_rank_grid(analysis, Form::kMarkdown));
  return rows.empty() ? "" : late_note(analysis) + "\n\n" + rows;
}

std::string about(const Analysis& analysis) {
  std::string out = fmt::format("{}{}.\n\n", analysis.device.empty() ? "" : plain(analysis.device) + ", ",
                                plain(steps_sentence(analysis.step)));
  for (const std::string& note : analysis.step.notes) out += fmt::format("{}\n\n", plain(note));
  return out;
}

std::string memory(const Analysis& analysis, const analyze::DeviceMemory& device) {
  constexpr std::size_t kHoldings = 30;
  std::string out;
  for (const std::string& sentence : memory_sentences(device)) out += fmt::format("- {}\n", plain(sentence));
  return out + "\n" + table(memory_grid(analysis, device, Form::kMarkdown, kHoldings));
}

}  // namespace

std::string explain_markdown(const Analysis& analysis) {
  std::string out = fmt::format("# {}\n\n", plain(analysis.source));
  if (const std::string action = headline_action(analysis); !action.empty())
    out += fmt::format("**{}**\n\n", with_code(action));
  out += with_code(analysis.verdict.sentence) + "\n\n";
  if (!is_of_memory_alone(analysis)) out += about(analysis);
  out += warnings(analysis.warnings);
  if (!is_of_memory_alone(analysis)) out += section("Where the time goes", ledger(analysis));
  out += section(findings_heading(analysis), findings(analysis));
  out += section("Ranks", ranks(analysis));
  if (analysis.late_rank) out += section(late_title(analysis), late_rank(analysis));
  if (const std::string_view noun = top_noun(analysis); !analysis.top.empty() && !noun.empty())
    out += section(fmt::format("Top {}s", noun), top(analysis));
  out += section("Kernels", table(kernel_grid(analysis, Form::kMarkdown, analysis.kernels.size())));
  out += section("Kernels under the counters", counted_kernels(analysis));
  out += section("Collectives", table(collective_grid(analysis, Form::kMarkdown)));
  out += section("The numbers to steer by", table(metric_grid(analysis, Form::kMarkdown)));
  for (const analyze::SampledDevice& device : shown_devices(analysis))
    out += section(sampled_heading(device), table(sampled_grid(analysis, device, Form::kMarkdown)));
  for (const analyze::DeviceMemory& device : memory_of(analysis))
    out += section(memory_heading(device), memory(analysis, device));
  out += section("Phases", table(phase_grid(analysis, Form::kMarkdown)));
  out += section("The critical path", table(path_grid(analysis, Form::kMarkdown, analysis.critical_path)));
  if (analysis.coverage) out += section("Coverage", plain(coverage_sentence(*analysis.coverage)) + "\n");
  return out;
}

}  // namespace hone::report
