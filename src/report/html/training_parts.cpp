// What only the page of a training run has: how it learned, its pace, memory, recipe and environment.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/html/parts.h"
#include "report/program_words.h"
#include "report/svg/series.h"
#include "report/text.h"
#include "report/training_words.h"

namespace hone::report::html {
namespace {

using analyze::CurvePoint;
using analyze::TrainingEvaluation;
using analyze::TrainingRun;
using analyze::TrainingStep;

constexpr svg::Canvas kHalf{420, true};
constexpr double kSmall = 150;  // height of charts that stand beside each other

Markup drawn(const svg::SeriesChart& series) {
  return chart([&](const svg::Canvas& canvas) { return svg::series_chart(series, canvas); });
}

svg::Series of_steps(const TrainingRun& run, std::string name, double TrainingStep::*number) {
  svg::Series series{std::move(name)};
  series.range = analyze::curve_of(run.log, number);
  series.line = analyze::smoothed(series.range, analyze::smoothing_window(run.log.size()));
  return series;
}

std::vector<CurvePoint> evaluated_losses(const TrainingRun& run) {
  std::vector<CurvePoint> points;
  for (const TrainingEvaluation& each : run.evaluations)
    points.push_back({static_cast<double>(each.step), each.loss});
  return points;
}

Markup loss_card(const TrainingRun& run) {
  svg::SeriesChart losses{"the loss, step by step"};
  losses.series.push_back(of_steps(run, "loss", &TrainingStep::loss));
  losses.series.push_back(
      {"loss on data kept back", "after", evaluated_losses(run), {}, evaluated_losses(run)});
  const Markup pictures = drawn(losses);
  if (pictures.empty()) return {};
  Markup legend =
      Markup::literal(
          "<div class=\"legend\"><span><i class=\"pale\"></i>each step</span><span><i "
          "class=\"full\"></i>mean of the last ") +
      Markup::text(counted(static_cast<double>(analyze::smoothing_window(run.log.size())), "step")) +
      Markup::literal("</span>");
  if (!run.evaluations.empty())
    legend += Markup::literal("<span><i style=\"background:var(--accent)\"></i>on data kept back</span>");
  return tag("div", {{"class", "card"}}, tag("h3", "Loss") + legend + Markup::literal("</div>") + pictures);
}

Markup metric_card(const TrainingRun& run) {
  svg::SeriesChart metric{"the metric at each evaluation"};
  std::vector<CurvePoint> points;
  for (const TrainingEvaluation& each : run.evaluations)
    if (each.metric) points.push_back({static_cast<double>(each.step), *each.metric});
  metric.series.push_back({run.metric, "after", points, {}, points});
  metric.marked = run.target;
  if (!run.log.empty()) metric.last_step = static_cast<double>(run.log.back().step);
  const Markup pictures = drawn(metric);
  if (pictures.empty()) return {};
  Markup title = tag("h3", capitalised(run.metric) +
                               (run.target ? fmt::format(", target {:.4g}", *run.target) : std::string()));
  return tag("div", {{"class", "card"}}, title + pictures);
}

Markup small_card(const TrainingRun& run, const std::string& name, double TrainingStep::*number, bool noisy) {
  svg::SeriesChart small{name + ", step by step"};
  small.height = kSmall;
  small.from_zero = true;
  svg::Series series{name, "", analyze::curve_of(run.log, number)};
  if (noisy) series = of_steps(run, name, number);
  small.series.push_back(std::move(series));
  const Markup pictures = series_chart(small, kHalf);
  if (pictures.empty()) return {};
  return tag("div", {{"class", "card small"}}, tag("h3", capitalised(name)) + pictures);
}

// Of the median step: what it computes ÷ what the machine could in that time.
std::string mfu_text(const TrainingRun& run) {
  const double roof = run.roofs.compute_roof(DType::kF32, run.environment.threads);
  const double seconds = median_step_ms(run) * 1e-3;
  if (!(roof > 0) || !(seconds > 0) || !(run.step_flops > 0)) return {};
  return fmt::format("{} of {}", format_percent(run.step_flops / seconds / roof), format_flop_rate(roof));
}

Markup facts_list(const std::vector<std::pair<std::string, std::string>>& facts) {
  Markup all;
  for (const auto& [name, value] : facts) all += fact(name, value);
  return tag("dl", all);
}

}  // namespace

Section learning_part(const TrainingRun& run) {
  Markup content = loss_card(run);
  if (content.empty()) return {};
  if (const Markup metric = metric_card(run); !metric.empty())
    content += tag("div", {{"class", "below"}}, metric);
  content += tag("div", {{"class", "grid-2 below"}},
                 small_card(run, "learning rate", &TrainingStep::rate, false) +
                     small_card(run, "gradient norm", &TrainingStep::gradient_norm, true));
  return section(
      "learning", "How it learned",
      "Over the steps of the run, all its parts together where it was resumed. The gradient norm is that "
      "before clipping.",
      content);
}

Section pace_part(const TrainingRun& run) {
  svg::SeriesChart pace{"time of each step, and the part of it spent waiting for data"};
  pace.height = 200;
  pace.from_zero = true;
  pace.cut = 0.03;  // the first steps are no pace
  pace.series.push_back(of_steps(run, "step", &TrainingStep::step_ms));
  svg::Series wait{"wait for data", "after"};
  wait.line = analyze::smoothed(analyze::curve_of(run.log, &TrainingStep::input_wait_ms),
                                analyze::smoothing_window(run.log.size()));
  pace.series.push_back(std::move(wait));
  pace.text = [](double ms) { return format_ms(ms); };
  const Markup pictures = drawn(pace);
  if (pictures.empty()) return {};
  const Markup legend = Markup::literal(
      "<div class=\"legend\"><span><i class=\"pale\"></i>each step</span><span><i class=\"full\"></i>its "
      "mean of late</span><span><i style=\"background:var(--accent)\"></i>of it, waiting for "
      "data</span></div>");
  std::string lead = fmt::format("The median step takes {}; {} of all steps' time was spent waiting for data",
                                 format_ms(median_step_ms(run)), format_percent(wait_share(run)));
  if (wait_share(run) > 0.01 && !run.limiting_stage.empty())
    lead += fmt::format(", of which what takes longest is to {}", run.limiting_stage);
  return section("pace", "Pace", lead + ".", tag("div", {{"class", "card"}}, legend + pictures));
}

Section no_steps_part(const TrainingRun& run) {
  if (run.recorded) return {};
  return section(
      "ledger", "Where the time goes",
      "Nothing is known of it: some steps are recorded once the first three of a run have warmed it up, and "
      "this run was too short, or the machine's roofs could not be measured.",
      Markup());
}

Section training_memory_part(const TrainingRun& run) {
  if (run.memory.empty()) return {};
  Markup rows;
  for (const analyze::NamedBytes& each : run.memory)
    rows += tag(
        "tr",
        tag("td", Markup::text(each.name) +
                      (each.note.empty() ? Markup() : tag("span", {{"class", "kind"}}, prose(each.note)))) +
            tag("td", {{"class", "n"}}, format_bytes(each.bytes)));
  return section("memory", "Memory", "What the run takes, foretold from its plans before the first step.",
                 tag("div", {{"class", "card"}}, tag("table", tag("tbody", rows))));
}

Section recipe_part(const TrainingRun& run) {
  if (run.recipe_text.empty()) return {};
  Markup lines;
  for (const std::string& line : lines_of_text(run.recipe_text)) {
    if (!lines.empty()) lines += Markup::literal("\n");
    lines += Markup::text(line);
  }
  return section("recipe", "The recipe", "As resolved: with what the command line set, and absolute paths.",
                 tag("div", {{"class", "command"}}, tag("code", lines)));
}

Section training_facts_part(const TrainingRun& run) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"parameters", run.parameters > 0 ? format_count(run.parameters) : ""},
      {"work", run.step_flops > 0 ? format_flops(run.step_flops) + " a step" : ""},
      {"MFU", mfu_text(run)},
      {"batch", counted(static_cast<double>(run.batch), "sample")},
      {"epoch", counted(static_cast<double>(run.batches_per_epoch), "step")},
      {"steps", fmt::format("{}", run.steps)},
      {"took", training_time_text(run.seconds)},
      {"folder", run.source}};
  Markup notes;
  for (const std::string& note : run.notes) notes += tag("li", with_code(note));
  Markup content = tag("div", {{"class", "command"}}, tag("code", run.command));
  if (!notes.empty()) content += tag("ul", {{"class", "notes"}}, notes);
  const Markup cards =
      card("Run", facts_list(facts)) + card("Environment", environment_facts(run.environment, run.roofs, {}));
  content += tag("div", {{"class", "grid-2"}, {"style", "margin-top:24px"}}, cards);
  return section("facts", "What ran", "Everything that the numbers depend on.", content);
}

}  // namespace hone::report::html
