// The explanation of a run as Markdown.
#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/markdown.h"
#include "report/markdown/parts.h"
#include "report/rank_words.h"
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
  for (const analyze::Finding* row : ordered_findings(analysis)) {
    out += fmt::format("{}. **{}** ({})", ++number, plain(row->fix.empty() ? row->title : row->fix),
                       analyze::cause_label(row->cause));
    if (const std::string gain = gain_sentence(*row, analysis); !gain.empty()) out += " wins " + gain;
    out += ".\n";
    if (!row->fix.empty()) out += fmt::format("   - {}\n", plain(row->title));
    for (const std::string& line : row->evidence) out += fmt::format("   - {}\n", plain(line));
    if (!row->caveat.empty()) out += fmt::format("   - Mind: {}\n", plain(row->caveat));
  }
  if (out.empty()) return "";
  const std::string note = gains_note(analysis);
  return (note.empty() ? "" : fmt::format("{}.\n\n", note)) + out + "\n";
}

std::string kernels(const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const analyze::KernelTime& row : analysis.kernels)
    rows.push_back({code(row.name), plain(row.family), plain(row.precision),
                    row.operators.empty() ? "" : code(row.operators.front()),
                    fixed_ms(row.ms, analysis.step.ms.median), format_percent(row.share),
                    fmt::format("{:.0f}", row.launches), format_ms(row.mean_us * 1e-3)});
  if (rows.empty()) return "";
  return table({"kernel", "what it does", "precision", "launched by", "time", "share", "launches", "mean"}, 4,
               rows);
}

std::string metrics(const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const analyze::Metric& row : analysis.targets) {
    const std::string target = metric_target(row);
    rows.push_back({plain(row.label), plain(metric_detail(row)), std::string(metric_mark(row)),
                    plain(metric_value(row)), plain(target)});
  }
  return rows.empty() ? "" : table({"number", "formula", "", "value", "target"}, 3, rows);
}

std::string ranks(const Analysis& analysis) {
  if (analysis.rank_summaries.size() < 2) return "";
  const double step = analysis.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::RankSummary& row : analysis.rank_summaries)
    rows.push_back({rank_text(row), code(row.source), fixed_ms(row.step_ms, step),
                    format_percent(row.busy_share), fixed_ms(row.compute_ms, step), latest_text(row, step),
                    usually_late_text(row), fixed_ms(row.waiting_ms, step)});
  return table({"rank", "file", "step", "busy", "computes", "latest", "usually late", "waits"}, 2, rows) +
         (has_lateness(analysis) ? fmt::format("\n{}.\n", lateness_note()) : std::string());
}

std::string late_rank(const Analysis& analysis) {
  const double step = analysis.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::RankOperator& row : late_operators(analysis)) {
    const std::string other = row.shown_name.empty() ? "" : plain(row.shown_name);
    rows.push_back({code(row.name), other, fixed_ms(row.late_ms, step), calls_text(row.late_calls),
                    fixed_ms(row.shown_ms, step), calls_text(row.shown_calls),
                    signed_ms(row.late_ms - row.shown_ms, step)});
  }
  if (rows.empty()) return "";
  const std::string late = fmt::format("rank {}", analysis.late_rank->rank),
                    shown = fmt::format("rank {}", analysis.ledger_rank);
  return late_note(analysis) + "\n\n" +
         table({"operator", "on " + shown, late, "calls", shown, "calls", "difference"}, 2, rows);
}

std::string collectives(const Analysis& analysis) {
  const double step = analysis.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::CollectiveSummary& row : analysis.collectives)
    rows.push_back({code(row.name), plain(row.group), fmt::format("{:.3g}", row.count),
                    format_bytes(row.bytes), fixed_ms(row.ms, step), fixed_ms(row.exposed_ms, step),
                    row.bus_bytes_per_s > 0 ? format_byte_rate(row.bus_bytes_per_s) : "–",
                    row.roof_bytes_per_s > 0 ? format_byte_rate(row.roof_bytes_per_s) : "–"});
  if (rows.empty()) return "";
  return table({"collective", "group", "a step", "bytes", "takes", "exposed", "busbw", "roof"}, 2, rows);
}

std::string critical_path(const Analysis& analysis) {
  const double step = analysis.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::PathSegment& row : analysis.critical_path)
    rows.push_back({code(row.name), plain(row.kind), plain(row.track), fixed_ms(row.start_ms, step),
                    fixed_ms(row.ms, step)});
  return rows.empty() ? "" : table({"what", "kind", "where", "from", "takes"}, 3, rows);
}

std::string phases(const Analysis& analysis) {
  std::vector<Cells> rows;
  for (const analyze::PhaseShare& row : analysis.phases)
    rows.push_back({row.phase == trace::Phase::kUnknown ? "none" : std::string(trace::phase_name(row.phase)),
                    fixed_ms(row.ms, analysis.step.ms.median), format_percent(row.share)});
  return rows.empty() ? "" : table({"phase", "device time", "share"}, 1, rows);
}

std::string about(const Analysis& analysis) {
  std::string out = fmt::format("{}{}.\n\n", analysis.device.empty() ? "" : plain(analysis.device) + ", ",
                                plain(steps_sentence(analysis.step)));
  for (const std::string& note : analysis.step.notes) out += fmt::format("{}\n\n", plain(note));
  return out;
}

}  // namespace

std::string explain_markdown(const Analysis& analysis) {
  std::string out = fmt::format("# {}\n\n{}\n\n", plain(analysis.source), plain(analysis.verdict.sentence));
  out += about(analysis) + warnings(analysis.warnings);
  out += section("Where the time goes", ledger(analysis));
  out += section("What to change", findings(analysis));
  out += section("Ranks", ranks(analysis));
  if (analysis.late_rank) out += section(late_title(analysis), late_rank(analysis));
  out += section("Top operators", analysis.top.empty() ? "" : top(analysis));
  out += section("Kernels", kernels(analysis));
  out += section("Collectives", collectives(analysis));
  out += section("The numbers to steer by", metrics(analysis));
  out += section("Phases", phases(analysis));
  out += section("The critical path", critical_path(analysis));
  if (analysis.coverage) out += section("Coverage", plain(coverage_sentence(*analysis.coverage)) + "\n");
  return out;
}

}  // namespace hone::report
