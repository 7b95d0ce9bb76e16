// The parts of the page that compares two trainings.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/html/parts.h"
#include "report/svg/series.h"
#include "report/text.h"
#include "report/training_words.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

using analyze::CurvePoint;
using analyze::TrainingRun;

constexpr std::size_t kDrawnRuns = 8;  // of a side: more is a tangle

Markup table_of(std::string_view heads, const Markup& rows) {
  return tag("table", {{"class", "cards"}}, Markup::literal(heads) + tag("tbody", rows));
}

constexpr std::string_view kHeads =
    "<thead><tr><th></th><th class=\"n\">first</th><th class=\"n\">second</th><th class=\"n\">change</th>"
    "<th class=\"n\"></th></tr></thead>";

Markup row(const Markup& name, const std::string& a, const std::string& b, const std::string& change,
           std::string_view css, const std::string& mark) {
  return tag("tr", {{"class", "single"}},
             tag("td", name) + cell("first", a) + cell("second", b) + cell("change", change) +
                 tag("td", {{"class", "n"}}, tag("span", {{"class", std::string(css)}}, mark)));
}

Markup time_row(const Markup& name, analyze::Certainty certainty, double a_ms, double b_ms, double step) {
  const bool certain = certainty == analyze::Certainty::kSure || certainty == analyze::Certainty::kLikely;
  return row(name, fixed_ms(a_ms, step), fixed_ms(b_ms, step), signed_ms(b_ms - a_ms, step),
             !certain      ? "no"
             : b_ms > a_ms ? "fail"
                           : "yes",
             std::string(certainty_words(certainty)));
}

void add_losses(std::span<const TrainingRun> runs, std::string_view side, const std::string& line_css,
                svg::SeriesChart& losses) {
  for (const TrainingRun& run : runs.first(std::min(runs.size(), kDrawnRuns))) {
    const auto curve = analyze::curve_of(run.log, &analyze::TrainingStep::loss);
    losses.series.push_back({fmt::format("{}, loss", side), line_css,
                             analyze::smoothed(curve, analyze::smoothing_window(run.log.size()))});
  }
}

void add_metrics(std::span<const TrainingRun> runs, std::string_view side, const std::string& line_css,
                 svg::SeriesChart& metrics) {
  for (const TrainingRun& run : runs.first(std::min(runs.size(), kDrawnRuns))) {
    std::vector<CurvePoint> points;
    for (const analyze::TrainingEvaluation& each : run.evaluations)
      if (each.metric) points.push_back({static_cast<double>(each.step), *each.metric});
    metrics.series.push_back({fmt::format("{}, {}", side, run.metric), line_css, points, {}, points});
  }
}

Markup picture(std::string_view title, const svg::SeriesChart& series) {
  const Markup pictures = chart([&](const svg::Canvas& canvas) { return svg::series_chart(series, canvas); });
  if (pictures.empty()) return {};
  const Markup legend = Markup::literal(
      "<div class=\"legend\"><span><i class=\"full\"></i>first</span><span><i "
      "style=\"background:var(--accent)\"></i>second</span></div>");
  return tag("div", {{"class", "card below"}}, tag("h3", title) + legend + pictures);
}

}  // namespace

Section compare_training_time_part(const analyze::TrainingComparison& comparison) {
  const double step = std::max(comparison.step.a_ms, comparison.step.b_ms);
  Markup rows =
      time_row(tag("b", "step"), comparison.step.certainty, comparison.step.a_ms, comparison.step.b_ms, step);
  rows += time_row(Markup::text("of it, waiting for data"), comparison.wait.certainty, comparison.wait.a_ms,
                   comparison.wait.b_ms, step);
  for (const analyze::CauseChange& each : comparison.ledger)
    rows += time_row(tag("span", {{"class", "chip-dot " + svg::cause_class(each.cause)}}, Markup()) +
                         Markup::text(" ") + Markup::text(analyze::cause_label(each.cause)),
                     each.difference.certainty, each.a_ms, each.b_ms, step);
  Markup operators;
  for (const analyze::OperatorChange& each : comparison.operators)
    operators += time_row(tag("code", shortened(clean_utf8(change_name(each).head), 80)),
                          each.difference.certainty, each.a_ms, each.b_ms, step);
  if (!operators.empty())
    operators = tag("h3", {{"class", "below"}}, "Operators that changed") + table_of(kHeads, operators);
  return section(
      "time", "In time",
      "Medians over all steps, and the ledgers of the steps that were recorded. The runs took place at "
      "different times: statistics cannot see what else the machine was doing.",
      table_of(kHeads, rows) + operators);
}

Section compare_training_learning_part(const analyze::TrainingComparison& comparison,
                                       std::span<const TrainingRun> a, std::span<const TrainingRun> b) {
  Markup rows;
  for (const analyze::LearningNumber& each : comparison.numbers) {
    const bool better = each.change == analyze::LearningChange::kBetter;
    const bool worse = each.change == analyze::LearningChange::kWorse;
    rows += row(prose(each.name), learning_value(each.a, each.a_runs), learning_value(each.b, each.b_runs),
                learning_difference(each),
                better  ? "yes"
                : worse ? "fail"
                        : "no",
                learning_mark(each));
  }
  svg::SeriesChart losses{"the losses of both, smoothed"}, metrics{"the metric of both"};
  add_losses(a, "first", "", losses);
  add_losses(b, "second", "after", losses);
  add_metrics(a, "first", "before", metrics);
  add_metrics(b, "second", "after", metrics);
  Markup content = table_of(kHeads, rows) + picture("Loss", losses);
  if (a.front().metric == b.front().metric && a.front().metric != "none")
    content += picture(a.front().metric, metrics);
  return section(
      "learning", "In learning",
      "Means over the runs of each side, with their spread. Losses of steps are means of the last few.",
      content);
}

Section compare_training_recipe_part(const analyze::TrainingComparison& comparison) {
  if (comparison.recipe.empty()) return {};
  Markup rows;
  for (const analyze::RecipeChange& each : comparison.recipe)
    rows += tag("tr", {{"class", "single"}},
                tag("td", tag("code", each.key)) + cell("first", each.a.empty() ? "–" : each.a) +
                    cell("second", each.b.empty() ? "–" : each.b));
  return section(
      "recipe", "In the recipe", "What differs; everything else is the same.",
      table_of("<thead><tr><th>key</th><th class=\"n\">first</th><th class=\"n\">second</th></tr></thead>",
               rows));
}

}  // namespace hone::report::html
