// What only the report of an experiment has: passes, numerics, memory, environment, how to reproduce.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/html/gains.h"
#include "report/html/parts.h"
#include "report/precision_words.h"
#include "report/svg/curves.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

GainScale gain_scale(const analyze::LabReport& report) {
  GainScale scale;
  for (const analyze::PassRow& pass : report.passes)
    scale.widen(pass.predicted_gain_ms, pass.measured_gain_ms);
  for (const analyze::PassRow& setting : report.settings)
    scale.widen(setting.predicted_gain_ms, setting.measured_gain_ms);
  for (const analyze::PassCombination& one : report.combinations)
    scale.widen(one.predicted_gain_ms, one.measured_gain_ms);
  if (has_kept_gain(report)) scale.widen(report.result.predicted_gain_ms, report.result.measured_gain_ms);
  return scale;
}

Markup pass_row(const analyze::PassRow& pass, const GainScale& scale, double step_ms) {
  Markup name = tag("code", shortened(clean_utf8(pass.name), 48)) + Markup::text(" ") +
                tag("span", {{"class", "tag"}}, pass.numerics) +
                tag("span", {{"class", "kind"}}, with_code(pass.reason));
  return tag("tr", {{"class", pass.kept ? "single" : "single dropped"}},
             tag("td", name) + gain_cells(predicted_gain(pass), pass.measured_gain_ms, scale, step_ms) +
                 outcome_cell(pass.kept, pass_outcome(pass)));
}

// Several passes at once: `what` they are, and the reason in small.
Markup sum_name(std::string_view what, std::string_view reason) {
  return tag("td", tag("strong", what) + tag("span", {{"class", "kind"}}, prose(reason)));
}

Markup combination_row(const analyze::PassCombination& all, const GainScale& scale, double step_ms) {
  return tag("tr", {{"class", all.kept ? "single" : "single dropped"}},
             sum_name("= together", combination_text(all)) +
                 gain_cells(all.predicted_gain_ms, all.measured_gain_ms, scale, step_ms) +
                 outcome_cell(all.kept, all.kept ? "kept" : "dropped"));
}

Markup kept_row(const analyze::LabResult& result, const GainScale& scale, double step_ms) {
  return tag("tr", {{"class", "single"}},
             sum_name("= all that was kept", kept_gain_note()) +
                 gain_cells(result.predicted_gain_ms, result.measured_gain_ms, scale, step_ms) +
                 tag("td", Markup()));
}

Markup memory_table(const analyze::LabReport& report) {
  Markup rows = Markup::literal("<tr><th></th><th class=\"n\">before</th><th class=\"n\">after</th></tr>");
  auto row = [&](std::string_view name, double before, double after) {
    rows += tag("tr", tag("td", name) + tag("td", {{"class", "n"}}, format_bytes(before)) +
                          tag("td", {{"class", "n"}}, format_bytes(after)));
  };
  const analyze::MemoryUse &a = report.baseline_memory, &b = report.optimised_memory;
  row("activations (one arena)", a.arena_bytes, b.arena_bytes);
  row("weights, prepacked", a.weights_bytes, b.weights_bytes);
  return tag("table", rows) +
         tag("p", {{"class", "notes"}, {"style", "padding:0"}}, prose(peak_text(report)));
}

Markup numerics_table(const analyze::LabReport& report) {
  Markup rows = Markup::literal(
      "<tr><th>output</th><th class=\"n\">error</th><th class=\"n\">limit</th><th class=\"n\"></th></tr>");
  for (const analyze::NumericCheck& check : report.numerics)
    rows += tag("tr", tag("td", tag("code", shortened(clean_utf8(check.output), 40))) +
                          tag("td", {{"class", "n"}}, error_text(check.max_rel_err)) +
                          tag("td", {{"class", "n"}}, error_text(check.limit)) +
                          tag("td", {{"class", "n"}},
                              tag("span", {{"class", check.passed ? "yes" : "fail"}},
                                  check.passed ? "agrees" : "differs")));
  return tag("table", rows);
}

Markup model_facts(const analyze::ModelInfo& model) {
  Markup facts = fact("file", shortened(clean_utf8(model.path), 120));
  if (model.nodes > 0) facts += fact("nodes", fmt::format("{}", model.nodes));
  if (model.parameters > 0) facts += fact("parameters", format_count(model.parameters));
  if (model.flops > 0) facts += fact("work", format_flops(model.flops) + " a step");
  for (const auto& [name, type] : model.inputs) facts += fact("input", fmt::format("{} {}", name, type));
  for (const auto& [name, type] : model.outputs) facts += fact("output", fmt::format("{} {}", name, type));
  return tag("dl", facts);
}

}  // namespace

Markup fact(std::string_view name, const std::string& value) {
  return value.empty() ? Markup() : tag("dt", name) + tag("dd", prose(value));
}

Markup card(std::string_view title, const Markup& content) {
  return tag("div", {{"class", "card"}}, tag("h3", title) + content);
}

Markup environment_facts(const analyze::Environment& where, const Roofs& roofs,
                         const analyze::RoofsOrigin& origin) {
  Markup facts = fact("machine", where.machine);
  facts += fact("device", fmt::format("{}, {}", where.device, counted(where.threads, "thread")));
  double compute = roofs.compute_roof(DType::kF32, roofs.threads), dram = roofs.dram_roof(roofs.threads);
  if (compute > 0 || dram > 0)
    facts += fact("roofs",
                  fmt::format("{} in f32, {} from DRAM", format_flop_rate(compute), format_byte_rate(dram)));
  facts += fact("roofs were", roofs_origin_text(origin));
  facts += fact("system", where.os);
  facts += fact("hone", fmt::format("{}, {}", where.hone_version, where.compiler));
  for (const auto& [name, version] : where.libraries) facts += fact(name, version);
  for (const auto& [name, value] : where.settings) facts += fact(name, value);
  return tag("dl", facts + fact("when", where.when));
}

Section passes_part(const analyze::LabReport& report) {
  if (report.passes.empty()) return {};
  const GainScale scale = gain_scale(report);
  const double step_ms = report.baseline.step.ms.median;
  Markup body;
  for (const analyze::PassRow& pass : report.passes) {
    body += pass_row(pass, scale, step_ms);
    if (const analyze::PassCombination* all = combination_after(report, pass))
      body += combination_row(*all, scale, step_ms);
  }
  if (has_kept_gain(report)) body += kept_row(report.result, scale, step_ms);
  for (const analyze::PassRow& setting : report.settings) body += pass_row(setting, scale, step_ms);
  return section(
      "passes", "What was tried",
      "Gain per step. Every pass was measured against what was kept before it, in paired, interleaved runs. "
      "It stays only if the numbers come out right and the interval excludes zero, for it alone or together "
      "with others; their gain then stands once, in a row of its own. A pass that aims at memory stays, too, "
      "if it saves 1 % of the arena at no cost of time.",
      gain_legend() + tag("table", {{"class", "cards"}}, gain_heads("pass") + tag("tbody", body)));
}

Section precision_part(const analyze::LabReport& report) {
  constexpr std::size_t kMost = 400;
  Markup body;
  for (const analyze::PassRow& pass : report.passes) {
    if (pass.precision.empty()) continue;
    body += tag("h3", precision_sentence(pass, kMost)) + table(precision_grid(pass, kMost));
  }
  if (body.empty()) return {};
  return section("precision", "Precision", precision_note(), body);
}

Section change_part(const analyze::LabReport& report) {
  const std::vector<CauseTimes> causes = causes_before_and_after(report);
  if (causes.empty()) return {};
  const analyze::Estimate before = step_before(report), after = step_after(report);
  const double step = before.median;
  const Markup head = Markup::literal(
      "<thead><tr><th>cause</th><th class=\"n\">before</th><th class=\"n\">after</th><th "
      "class=\"n\">change</th></tr></thead>");
  Markup rows;
  const auto row = [&](const Markup& name, double a_ms, double b_ms) {
    rows += tag("tr", {{"class", "single"}},
                tag("td", name) + cell("before", fixed_ms(a_ms, step)) + cell("after", fixed_ms(b_ms, step)) +
                    cell("change", signed_ms(b_ms - a_ms, step)));
  };
  for (const CauseTimes& cause : causes)
    row(Markup::text(analyze::cause_label(cause.cause)), cause.before_ms, cause.after_ms);
  row(tag("strong", "step"), before.median, after.median);
  Markup intervals;
  if (report.result.pairs > 0)
    intervals =
        tag("p", {{"class", "notes"}},
            prose(fmt::format("The step, at {:g} %: {} before, {} after.", report.result.confidence * 100,
                              fixed_range(before.low, before.high, step),
                              fixed_range(after.low, after.high, step))));
  return section("change", "Before and after", causes_note(),
                 tag("table", {{"class", "cards"}}, head + tag("tbody", rows)) + intervals);
}

Markup rows_of_reference(const analyze::LabReport& report) {
  const std::string text = reference_rows_text(report);
  return text.empty() ? Markup() : tag("p", {{"class", "notes"}, {"style", "padding:0"}}, text);
}

Section numerics_part(const analyze::LabReport& report) {
  if (!report.interrupted.empty()) return {};
  const bool of_training = !report.curves.empty();  // which its unchanged step judges, and no reference
  Markup cards = card(
      "Numerics", numerics_table(report) +
                      tag("p", {{"class", "notes"}, {"style", "padding:0"}},
                          of_training ? "Largest difference relative to the unchanged step's largest value."
                                      : "Largest error relative to the reference's largest value.") +
                      rows_of_reference(report));
  cards += card("Memory", memory_table(report));
  return section("checks", "Numerics and memory",
                 of_training
                     ? "The step with all that was kept against the unchanged step, and what both plans hold."
                     : "The optimised plan against the reference, and what both plans hold.",
                 tag("div", {{"class", "grid-2"}}, cards));
}

Section learning_part(const analyze::LabReport& report) {
  Markup cards;
  for (const analyze::LearningCurve& curve : report.curves) {
    const svg::LossCurves drawn{curve.unchanged, curve.disturbed, curve.changed, curve.allowed};
    const Markup charts = chart([&](const svg::Canvas& canvas) { return svg::loss_curves(drawn, canvas); });
    if (!charts.empty()) cards += card(capitalised(curve.name), charts);
  }
  if (cards.empty()) return {};
  const Markup legend = Markup::literal(
      "<div class=\"legend\"><span><i class=\"pale\"></i>allowed around the unchanged step</span>"
      "<span><i class=\"full\"></i>unchanged, and from weights that differ in their last place</span>"
      "<span><i style=\"background:var(--accent)\"></i>with all that was kept</span></div>");
  return section(
      "learning", "What it learns",
      "From the same weights on the same batches, step by step. A change is dropped whose curve leaves what "
      "is allowed.",
      legend + cards);
}

Section facts_part(const analyze::LabReport& report) {
  Markup cards =
      card("Model", model_facts(report.model)) +
      card("Environment", environment_facts(report.environment, report.roofs, report.roofs_origin));
  Markup command = tag("div", {{"class", "command"}}, tag("code", report.reproduce.command));
  Markup notes;
  for (const std::string& note : report.reproduce.notes) notes += tag("li", note);
  if (!report.phases.empty()) notes += tag("li", phases_sentence(report));
  if (has_result(report))
    notes +=
        tag("li", fmt::format("Intervals are distribution-free, at {:g} %; the speed-up's is from {} pairs.",
                              report.result.confidence * 100, report.result.pairs));
  if (has_result(report)) notes += tag("li", speedup_note());
  return section("facts", "What ran, and how to repeat it", "Everything that the numbers depend on.",
                 command + tag("ul", {{"class", "notes"}}, notes) +
                     tag("div", {{"class", "grid-2"}, {"style", "margin-top:24px"}}, cards));
}

}  // namespace hone::report::html
