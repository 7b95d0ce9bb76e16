#include "report/markdown.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using analyze::Analysis;

// Text in which nothing is taken for markup: names come from models.
std::string plain(std::string_view text) {
  std::string result;
  for (char c : clean_utf8(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// A name in code type; a backtick or bar in it would end the cell or the code.
std::string code(std::string_view text) {
  std::string cleaned = shortened(clean_utf8(text), 80);
  std::replace(cleaned.begin(), cleaned.end(), '`', '\'');
  std::replace(cleaned.begin(), cleaned.end(), '|', '/');
  return "`" + cleaned + "`";
}

using Cells = std::vector<std::string>;

std::string row(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

// A table whose columns after the first `texts` are right-aligned.
std::string table(const Cells& head, std::size_t texts, const std::vector<Cells>& rows) {
  Cells rule;
  for (std::size_t i = 0; i < head.size(); ++i) rule.push_back(i < texts ? "---" : "---:");
  std::string out = row(head) + row(rule);
  for (const Cells& cells : rows) out += row(cells);
  return out + "\n";
}

std::string ledger(const Analysis& side) {
  const double step = side.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::LedgerRow& line : side.ledger)
    rows.push_back({std::string(analyze::cause_label(line.cause)), fixed_ms(line.ms, step),
                    format_percent(line.share), gain_text(line, step)});
  rows.push_back({"**step**", fmt::format("**{}**", fixed_ms(step, step)), "100 %", ""});
  std::string out = table({"cause", "per step", "share", "a fix could win"}, 1, rows);
  for (const analyze::LedgerRow& line : side.ledger) {
    out += fmt::format("- **{}**: {}.", analyze::cause_label(line.cause), plain(line.title));
    if (!line.fix.empty()) out += fmt::format(" Fix: {}.", plain(line.fix));
    out += "\n";
    for (const std::string& evidence : line.evidence) out += fmt::format("  - {}\n", plain(evidence));
  }
  return out + "\n";
}

std::string top(const Analysis& side) {
  std::vector<Cells> rows;
  for (const analyze::TopOperator& op : side.top)
    rows.push_back({fmt::format("{}", op.rank), code(op.name), plain(op.why),
                    fixed_ms(op.ms, side.step.ms.median), format_percent(op.share), format_flops(op.flops),
                    format_bytes(op.bytes), op.bytes > 0 ? format_intensity(op.intensity) : "–",
                    plain(op.roof), format_percent(op.fraction_of_roof)});
  return table({"#", "operator", "why", "time", "share", "work", "traffic", "intensity", "roof", "of roof"},
               3, rows);
}

std::string passes(const analyze::LabReport& report) {
  const double step = report.baseline.step.ms.median;
  std::vector<Cells> rows;
  for (const analyze::PassRow& pass : report.passes) {
    bool fired = pass.measured_gain_ms.has_value();
    rows.push_back({code(pass.name), plain(pass.numerics), pass_outcome(pass), plain(pass.reason),
                    fired ? fixed_ms(pass.predicted_gain_ms, step) : "",
                    fired ? estimate_ms(*pass.measured_gain_ms) : "", error_text(pass.max_rel_err)});
    if (const analyze::PassCombination* all = combination_after(report, pass))
      rows.push_back({"= together", "", all->kept ? "kept" : "dropped", plain(combination_text(*all)),
                      fixed_ms(all->predicted_gain_ms, step), estimate_ms(all->measured_gain_ms), ""});
  }
  if (has_kept_gain(report))
    rows.push_back({"= all that was kept", "", "", std::string(kept_gain_note()),
                    fixed_ms(report.result.predicted_gain_ms, step),
                    estimate_ms(report.result.measured_gain_ms), error_text(report.result.max_rel_err)});
  return table({"pass", "numerics", "outcome", "reason", "predicted gain", "measured gain", "error"}, 4,
               rows);
}

std::string memory(const analyze::LabReport& report) {
  const analyze::MemoryUse &a = report.baseline_memory, &b = report.optimised_memory;
  return table({"memory", "before", "after"}, 1,
               {{"activations (one arena)", format_bytes(a.arena_bytes), format_bytes(b.arena_bytes)},
                {"weights, prepacked", format_bytes(a.weights_bytes), format_bytes(b.weights_bytes)}}) +
         peak_text(report) + "\n\n";
}

std::string environment(const analyze::Environment& where) {
  std::string out =
      fmt::format("- {}, {} ({} threads)\n- {}\n- hone {}, {}\n", plain(where.machine), plain(where.device),
                  where.threads, plain(where.os), plain(where.hone_version), plain(where.compiler));
  for (const auto& [name, version] : where.libraries)
    out += fmt::format("- {} {}\n", plain(name), plain(version));
  for (const auto& [name, value] : where.settings)
    out += fmt::format("- {}: {}\n", plain(name), plain(value));
  return out + fmt::format("- {}\n\n", plain(where.when));
}

std::string numerics(const analyze::LabReport& report) {
  std::vector<Cells> rows;
  for (const analyze::NumericCheck& check : report.numerics)
    rows.push_back({code(check.output), check.passed ? "agrees" : "**differs**",
                    error_text(check.max_rel_err), error_text(check.limit)});
  return table({"output", "", "relative error", "limit"}, 2, rows);
}

std::string warnings(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& warning : list) out += fmt::format("> {}\n\n", plain(warning));
  return out;
}

std::string names(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& name : list) out += (out.empty() ? "" : ", ") + code(name);
  return out;
}

}  // namespace

std::string lab_markdown(const analyze::LabReport& report) {
  LabVerdict words = lab_verdict(report);
  std::string out =
      fmt::format("# {}\n\n**{}** {}\n\n", plain(report.model.name), words.headline, plain(words.rest));
  out += warnings(report.warnings);
  out += fmt::format("Speed-up {} from {} paired runs. Step {} before, {} after.\n\n",
                     ratio_text(report.result.speedup), report.result.pairs,
                     estimate_ms(report.baseline.step.ms), estimate_ms(report.optimised.step.ms));
  out += fmt::format("{} {}\n\n", baseline_note(), speedup_note());
  out += "## Where the time went\n\n" + ledger(report.baseline) + "## Top operators before\n\n" +
         top(report.baseline);
  out += std::string(kernel_flops_note()) + "\n\n";
  out += "## What was tried\n\n" + passes(report);
  out += "## What is left\n\n" + plain(report.optimised.verdict.sentence) + "\n\n" + ledger(report.optimised);
  out += "## Top operators after\n\n" + top(report.optimised);
  out += "## Numerics and memory\n\n" + numerics(report) + memory(report);
  out += "## Environment\n\n" + environment(report.environment);
  out += "## How to reproduce\n\n    " + clean_utf8(report.reproduce.command) + "\n\n";
  for (const std::string& note : report.reproduce.notes) out += fmt::format("- {}\n", plain(note));
  if (!report.phases.empty()) out += fmt::format("- {}\n", plain(phases_sentence(report)));
  return out;
}

std::string explain_markdown(const Analysis& analysis) {
  return fmt::format("# {}\n\n{}\n\n", plain(analysis.source), plain(analysis.verdict.sentence)) +
         warnings(analysis.warnings) + "## Where the time goes\n\n" + ledger(analysis) +
         "## Top operators\n\n" + top(analysis);
}

std::string compare_markdown(const analyze::Comparison& comparison) {
  const double step = comparison.a_ms.median;
  std::vector<Cells> causes, operators;
  for (const analyze::CauseChange& line : comparison.ledger)
    causes.push_back({std::string(analyze::cause_label(line.cause)), fixed_ms(line.a_ms, step),
                      fixed_ms(line.b_ms, step), fixed_ms(line.b_ms - line.a_ms, step)});
  for (const analyze::OperatorChange& line : comparison.operators)
    operators.push_back({names(line.a), names(line.b), line.sure ? "yes" : "no", fixed_ms(line.a_ms, step),
                         fixed_ms(line.b_ms, step), fixed_ms(line.b_ms - line.a_ms, step)});
  return fmt::format("# {} against {}\n\n{}\n\n", plain(comparison.a), plain(comparison.b),
                     plain(comparison.sentence)) +
         warnings(comparison.caveats) + table({"cause", "first", "second", "change"}, 1, causes) +
         table({"first", "second", "sure", "first", "second", "change"}, 3, operators);
}

}  // namespace hone::report
