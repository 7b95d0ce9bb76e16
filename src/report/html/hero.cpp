// The top of the page: what was measured, the verdict in one sentence, four numbers.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/description/memory_fields.h"
#include "report/device_words.h"
#include "report/html/parts.h"
#include "report/program_words.h"
#include "report/text.h"
#include "report/training_words.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

constexpr std::size_t kNameColumns = 84;  // of what the page is about

// Two recordings of one program differ by their files' names, seldom by their folders'.
std::string without_folders(const std::string& path) {
  const std::string clean = clean_utf8(path);
  const std::size_t slash = clean.find_last_of('/', clean.size() < 2 ? 0 : clean.size() - 2);
  return slash == std::string::npos ? clean : clean.substr(slash + 1);
}

Markup top_line(std::string_view name, const std::vector<std::string>& facts) {
  Markup line = tag("h1", prose(shortened(clean_utf8(name), kNameColumns)));
  for (const std::string& fact : facts)
    if (!fact.empty()) line += tag("span", fact);
  return tag("div", {{"class", "top-line"}}, line);
}

// "20.6 ms" with a quieter unit.
Markup quantity(const std::string& text) {
  std::size_t space = text.find(' ');
  if (space == std::string::npos) return tag("b", text);
  return tag("b", Markup::text(text.substr(0, space)) + tag("small", text.substr(space + 1)));
}

Markup tile(std::string_view name, const std::string& value, const std::string& note) {
  return tag(
      "div", {{"class", "tile"}},
      tag("div", {{"class", "name"}}, name) + quantity(value) + tag("div", {{"class", "note"}}, prose(note)));
}

std::string range(const analyze::Estimate& ms, double step_ms) {
  return fixed_range(ms.low, ms.high, step_ms);
}

Markup floor_tile(const analyze::Analysis& side, double step_ms) {
  return tile("floor", fixed_ms(side.floor_ms, step_ms),
              fmt::format("{} of that step", format_percent(step_ms > 0 ? side.floor_ms / step_ms : 0)));
}

Markup verdict_line(const LabHeadline& words) {
  const Markup headline = tag("em",
                              {{"class", words.tone == Tone::kGood  ? ""
                                         : words.tone == Tone::kBad ? "bad"
                                                                    : "neutral"}},
                              with_code(words.headline));
  return tag("p", {{"class", "verdict"}}, headline) + tag("p", {{"class", "sub"}}, prose(words.rest));
}

// The verdict's first sentence large, the rest below it.
Markup verdict_lines(const std::string& text) {
  const std::size_t end = text.find(". ");
  if (end == std::string::npos) return tag("p", {{"class", "verdict"}}, with_code(text));
  return tag("p", {{"class", "verdict"}}, with_code(text.substr(0, end + 1))) +
         tag("p", {{"class", "sub"}}, with_code(text.substr(end + 2)));
}

// "9.88 to 9.94 ms; recorded 15.40 ms".
std::string step_range(const analyze::StepTime& step) {
  std::string text = range(step.ms, step.ms.median);
  if (step.recorded_ms)
    text += fmt::format("{}recorded {}", text.empty() ? "" : "; ",
                        fixed_ms(step.recorded_ms->median, step.ms.median));
  return text;
}

Markup recoverable_tile(const analyze::Analysis& analysis) {
  if (!analysis.verdict.given) return tile("recoverable", "unknown", "no verdict");
  const double step = analysis.step.ms.median, whole = gained_from_ms(analysis);
  return tile(
      "recoverable", fixed_ms(analysis.verdict.recoverable_ms, step),
      fmt::format("{} of the {}", format_percent(whole > 0 ? analysis.verdict.recoverable_ms / whole : 0),
                  whole < step ? fixed_ms(whole, step) + " without the recorder" : "step"));
}

// The first number to steer by; a device that is busy but does not compute misses the second.
const analyze::Metric& told_metric(const analyze::Analysis& analysis) {
  const std::vector<analyze::Metric>& all = analysis.targets;
  for (const analyze::Metric& metric : all)
    if (metric.name == "gpu_compute_share" && all.front().reached() && !metric.reached()) return metric;
  return all.front();
}

Markup metric_tile(const analyze::Metric& metric) {
  const std::string target = metric_target(metric);
  return tile(shortened(clean_utf8(metric.label), 40), shortened(clean_utf8(metric_value(metric)), 16),
              target.empty() ? "" : "target " + shortened(clean_utf8(target), 20));
}

// Steps may differ for sure where two recordings of one program would differ as much.
std::string certainty_note(const analyze::Comparison& comparison) {
  const analyze::Difference& difference = comparison.difference;
  if (!comparison.comparable) return "not compared";
  if (difference.certainty != analyze::Certainty::kNone)
    return std::string(certainty_words(difference.certainty));
  return difference.sure
             ? fmt::format("one program's recordings differ by up to {:.0f} %", comparison.drift * 100)
             : "no difference shown";
}

// What is to be said of one of two recordings by itself.
Markup compared_side(std::string_view which, const std::string& source, const std::string& verdict,
                     const analyze::Advice& advice, double step_ms) {
  Markup inside = tag("h3", which);
  inside += tag("p", {{"class", "source"}}, tag("code", prose(shortened(clean_utf8(source), 160))));
  inside += tag("p", with_code(verdict));
  if (const std::string fix = advice_text(advice, step_ms); !fix.empty())
    inside += tag("p", {{"class", "advice"}}, tag("b", "What to do: ") + with_code(fix));
  return tag("div", {{"class", "card side"}}, inside);
}

// What hone train takes with the recipe as given, and as it was written.
Markup training_tiles(const analyze::TrainingGain& gain) {
  const double before = gain.step_ms.median;
  Markup tiles = tile("hone train as given", fixed_ms(before, before), range(gain.step_ms, before));
  if (!gain.speedup) return tiles;
  const analyze::Estimate& speedup = *gain.speedup;
  tiles += tile("as tuned", fixed_ms(before / speedup.median, before), "a step");
  return tiles + tile("speed-up", ratio_text(speedup.median),
                      fmt::format("{:.2f}× to {:.2f}×, interleaved", speedup.low, speedup.high));
}

}  // namespace

Markup lab_hero(const analyze::LabReport& report) {
  const analyze::Environment& where = report.environment;
  Markup hero =
      top_line(report.model.name,
               {where.machine, fmt::format("{}, {}", where.device, counted(where.threads, "thread")),
                where.when.substr(0, 10)});
  hero += verdict_line(lab_headline(report));
  if (const std::string passes = passes_sentence(report); !passes.empty())
    hero += tag("p", {{"class", "sub"}}, with_code(passes));
  if (const std::string note = quotient_note(report); !note.empty())
    hero += tag("p", {{"class", "sub"}}, with_code(note));
  hero += tag("p", {{"class", "sub"}}, tag("b", "Before:") + prose(" " + report.baseline.verdict.sentence));
  const bool whole = has_result(report);
  if (whole)
    hero += tag("p", {{"class", "sub"}}, tag("b", "After:") + prose(" " + report.optimised.verdict.sentence));
  hero += tag("p", {{"class", "sub"}}, prose(baseline_note(report)));
  const analyze::Estimate& speedup = report.result.speedup;
  const analyze::Estimate before_ms = step_before(report), after_ms = step_after(report);
  const double before = before_ms.median, after = after_ms.median;
  Markup tiles = report.training ? training_tiles(*report.training) : Markup();
  tiles += tile("step before", fixed_ms(before, before), range(before_ms, before));
  if (!whole) return hero + tag("div", {{"class", "tiles"}}, tiles + floor_tile(report.baseline, before));
  tiles += tile("step after", fixed_ms(after, after), range(after_ms, after));
  tiles += tile(report.training ? "of the passes" : "speed-up", ratio_text(speedup.median),
                fmt::format("{:.2f}× to {:.2f}×, interleaved", speedup.low, speedup.high));
  return hero + tag("div", {{"class", "tiles"}}, tiles + floor_tile(report.optimised, after));
}

Markup program_hero(const analyze::ProgramReport& report) {
  Markup hero =
      top_line(command_text(report), {shortened(clean_utf8(report.baseline.device), 60),
                                      counted(static_cast<double>(report.changes.size()), "change")});
  hero += verdict_line(program_headline(report));
  hero +=
      tag("p", {{"class", "sub"}}, tag("b", "Before:") + with_code(" " + report.baseline.verdict.sentence));
  const analyze::Estimate before_ms = step_before(report);
  const double before = before_ms.median;
  if (before <= 0) return hero;
  Markup tiles = tile("step before", fixed_ms(before, before), range(before_ms, before));
  if (report.together.measured()) {
    const analyze::Estimate after_ms = step_after(report), &speedup = report.together.speedup;
    tiles += tile("step after", fixed_ms(after_ms.median, before), range(after_ms, before));
    tiles += tile("speed-up", ratio_text(speedup.median),
                  report.together.has_interval ? fmt::format("{:.2f}× to {:.2f}×, {}", speedup.low,
                                                             speedup.high, pairs_text(report.together))
                                               : pairs_text(report.together) + ", without an interval");
  }
  if (report.baseline.floor_known) tiles += floor_tile(report.baseline, before);
  return hero + tag("div", {{"class", "tiles"}}, tiles);
}

Markup training_hero(const analyze::TrainingRun& run) {
  const analyze::Environment& where = run.environment;
  Markup hero = top_line(
      run.name, {where.machine, fmt::format("{}, {}", where.device, counted(where.threads, "thread")),
                 where.when.substr(0, 10)});
  hero += verdict_line(training_headline(run));
  if (run.recorded)
    hero +=
        tag("p", {{"class", "sub"}}, tag("b", "A step:") + with_code(" " + run.recorded->verdict.sentence));
  if (run.log.empty()) return hero;
  Markup tiles;
  if (const analyze::TrainingEvaluation* const best = best_evaluation(run); best != nullptr && best->metric) {
    const analyze::TrainingEvaluation& last = run.evaluations.back();
    tiles += tile(
        run.metric, fmt::format("{:.4f}", last.metric.value_or(0)),
        run.target ? fmt::format("target {:.4g}", *run.target) : fmt::format("best {:.4f}", *best->metric));
  } else {
    tiles += tile("loss", fmt::format("{:.4g}", run.log.back().loss), "of the last step");
  }
  const double step_ms = median_step_ms(run);
  tiles += tile("step", format_ms(step_ms), "median");
  const double samples = step_ms > 0 ? static_cast<double>(run.batch) * 1e3 / step_ms : 0;
  const bool tokens = run.tokens_per_sample > 0;
  tiles +=
      tile(tokens ? "tokens a second" : "samples a second",
           fmt::format("{:.0f}", tokens ? samples * static_cast<double>(run.tokens_per_sample) : samples),
           fmt::format("batches of {}", run.batch));
  tiles += tile("waiting for data", format_percent(wait_share(run)), "of the time");
  return hero + tag("div", {{"class", "tiles"}}, tiles);
}

Markup explain_hero(const analyze::Analysis& analysis) {
  if (is_of_memory_alone(analysis))
    return top_line(analysis.source, {}) + verdict_lines(analysis.verdict.sentence);
  double step = analysis.step.ms.median;
  Markup hero = top_line(analysis.source,
                         {shortened(clean_utf8(analysis.device), 60),
                          analysis.ranks.size() > 1 ? fmt::format("{} ranks", analysis.ranks.size()) : "",
                          fmt::format("{}, {}", counted(analysis.step.count, "step"),
                                      shortened(clean_utf8(analysis.step.how_found), 80))});
  // What a reader is to do stands first and large; why, below it.
  if (const std::string action = headline_action(analysis); !action.empty())
    hero += tag("p", {{"class", "verdict"}}, with_code(action)) +
            tag("p", {{"class", "sub"}}, with_code(analysis.verdict.sentence));
  else
    hero += verdict_lines(analysis.verdict.sentence);
  hero += tag("p", {{"class", "sub"}}, with_code(capitalised(steps_sentence(analysis.step)) + "."));
  for (const std::string& note : analysis.step.notes)
    hero += tag("p", {{"class", "sub"}}, with_code(capitalised(note) + "."));
  Markup tiles = tile("step", fixed_ms(step, step), step_range(analysis.step));
  double share = step > 0 ? analysis.floor_ms / step : 0;
  tiles += analysis.floor_known
               ? tile("floor", fixed_ms(analysis.floor_ms, step),
                      fmt::format("{} of the step", format_percent(share)))
               : tile("floor", "unknown",
                      analysis.roof_lines.empty() ? "no roofs to judge by" : "most operators are not known");
  tiles += recoverable_tile(analysis);
  tiles += analysis.targets.empty()
               ? tile("operators", fmt::format("{}", analysis.operators.size()), "ran in the step")
               : metric_tile(told_metric(analysis));
  return hero + tag("div", {{"class", "tiles"}}, tiles);
}

Markup compare_hero(const analyze::Comparison& comparison) {
  Markup hero = top_line(fmt::format("{} → {}", shortened(without_folders(comparison.a), 40),
                                     shortened(without_folders(comparison.b), 40)),
                         {});
  hero += verdict_lines(comparison.sentence);
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  Markup tiles = tile("first", fixed_ms(comparison.a_ms.median, step), range(comparison.a_ms, step));
  tiles += tile("second", fixed_ms(comparison.b_ms.median, step), range(comparison.b_ms, step));
  tiles += tile("change", signed_ms(comparison.b_ms.median - comparison.a_ms.median, step),
                range(comparison.difference.change_ms, step));
  tiles += tile("first ÷ second", ratio_text(comparison.ratio), certainty_note(comparison));
  hero += tag("div", {{"class", "tiles"}}, tiles);
  Markup sides =
      compared_side("First", comparison.a, comparison.a_verdict, comparison.a_advice, comparison.a_ms.median);
  sides += compared_side("Second", comparison.b, comparison.b_verdict, comparison.b_advice,
                         comparison.b_ms.median);
  return hero + tag("div", {{"class", "grid-2 below"}}, sides);
}

Markup compare_training_hero(const analyze::TrainingComparison& comparison) {
  const bool one_name = comparison.a_name == comparison.b_name;
  Markup hero = top_line(one_name ? comparison.a_name : comparison.a_name + " → " + comparison.b_name,
                         {fmt::format("{} and {}", counted(static_cast<double>(comparison.a.size()), "run"),
                                      counted(static_cast<double>(comparison.b.size()), "run"))});
  for (const std::string* sentence : {&comparison.time_sentence, &comparison.learning_sentence}) {
    const std::size_t end = std::min(sentence->find(" ("), sentence->find("; "));
    hero += tag("p", {{"class", "verdict"}}, prose(sentence->substr(0, end) + "."));
    if (end != std::string::npos) hero += tag("p", {{"class", "sub"}}, prose(*sentence + "."));
  }
  hero += tag("p", {{"class", "sub"}}, tag("b", "First:") + with_code(" " + folders_text(comparison.a)));
  hero += tag("p", {{"class", "sub"}}, tag("b", "Second:") + with_code(" " + folders_text(comparison.b)));
  const double step = std::max(comparison.step.a_ms, comparison.step.b_ms);
  Markup tiles = tile("first", fixed_ms(comparison.step.a_ms, step), "a step, median");
  tiles += tile("second", fixed_ms(comparison.step.b_ms, step), "a step, median");
  if (!comparison.numbers.empty()) {
    const analyze::LearningNumber& row = comparison.numbers.front();
    tiles += tile("first", learning_value(row.a, row.a_runs), row.name);
    tiles += tile("second", learning_value(row.b, row.b_runs), row.name);
  }
  return hero + tag("div", {{"class", "tiles"}}, tiles);
}

}  // namespace hone::report::html
