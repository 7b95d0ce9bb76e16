// Kernels under the hardware counters in Markdown.
#include <fmt/format.h>

#include "report/code_text.h"
#include "report/counter_words.h"
#include "report/description/grids.h"
#include "report/markdown/parts.h"

namespace hone::report::markdown {
namespace {

using analyze::CountedKernel, analyze::KernelFinding;

std::string studied(const analyze::Analysis& analysis, const CountedKernel& kernel) {
  std::string out = fmt::format("### {}\n\n{}. {}.\n\n", code(kernel.name), plain(launch_text(kernel)),
                                plain(kernel.sentence));
  for (const KernelFinding& row : kernel.findings) {
    out += fmt::format("- **{}**: {}", plain(row.title), with_code(row.fix));
    if (const std::string gain = kernel_gain_text(row); !gain.empty()) out += "; wins " + gain;
    out += ".\n";
    for (const std::string& line : row.evidence) out += fmt::format("  - {}\n", plain(line));
  }
  if (!kernel.findings.empty()) out += "\n";
  if (!kernel.disagreement.empty()) out += plain(kernel.disagreement) + ".\n\n";
  if (!kernel.lines.empty()) {
    out += fmt::format("**{}**\n\n{}\n", lines_title(kernel),
                       table(hot_line_grid(analysis, kernel, Form::kMarkdown)));
    if (const std::string note = lines_note(kernel); !note.empty()) out += plain(capitalised(note)) + ".\n\n";
  }
  for (const std::string_view section : figure_sections(kernel))
    out += fmt::format("**{}**\n\n{}\n", section,
                       table(figure_grid(analysis, kernel, section, Form::kMarkdown)));
  return out;
}

}  // namespace

std::string counted_kernels(const analyze::Analysis& analysis) {
  if (analysis.counted_kernels.empty()) return "";
  std::string out =
      fmt::format("{}.\n\n{}\n", counters_note(analysis), table(counted_grid(analysis, Form::kMarkdown)));
  for (const CountedKernel& kernel : analysis.counted_kernels) out += studied(analysis, kernel);
  return out;
}

}  // namespace hone::report::markdown
