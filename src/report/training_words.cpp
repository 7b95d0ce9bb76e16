#include "report/training_words.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/statistics.h"
#include "core/units.h"

namespace hone::report {
namespace {

using analyze::RunEnd;
using analyze::TrainingEvaluation;
using analyze::TrainingRun;
using analyze::TrainingStep;

double median_of(const TrainingRun& run, double TrainingStep::*number) {
  std::vector<double> values;
  for (const TrainingStep& step : run.log) values.push_back(step.*number);
  return values.empty() ? 0 : median(values);
}

int64_t steps_done(const TrainingRun& run) { return run.log.empty() ? 0 : run.log.back().step; }

// "accuracy 0.9833"; the loss where the recipe has no metric or nothing was evaluated.
std::string result_text(const TrainingRun& run) {
  if (!run.evaluations.empty()) return metric_text(run, run.evaluations.back());
  return run.log.empty() ? "nothing learned" : fmt::format("loss {:.4g}", run.log.back().loss);
}

std::string headline_of(const TrainingRun& run) {
  const std::string steps = counted(static_cast<double>(steps_done(run)), "step");
  switch (run.end) {
    case RunEnd::kDone:
      return fmt::format("Trained to its end: {} after {}.", result_text(run), steps);
    case RunEnd::kTarget:
      return fmt::format("Reached its target: {} after {}.", result_text(run), steps);
    case RunEnd::kStopped:
      return fmt::format("Stopped behind step {} of {}: {}.", steps_done(run), run.steps, result_text(run));
    case RunEnd::kFailed:
      return fmt::format("Failed behind step {} of {}.", steps_done(run), run.steps);
    case RunEnd::kUnfinished:
      break;
  }
  return fmt::format("Not at its end: step {} of {}.", steps_done(run), run.steps);
}

std::string losses_text(const TrainingRun& run) {
  if (run.log.size() < 2) return {};
  return fmt::format("The loss went from {:.4g} to {:.4g}", run.log.front().loss, run.log.back().loss);
}

std::string best_text(const TrainingRun& run) {
  const TrainingEvaluation* const best = best_evaluation(run);
  if (best == nullptr || best == &run.evaluations.back()) return {};
  return fmt::format("; the best evaluation, {}, was at step {}", metric_text(run, *best), best->step);
}

}  // namespace

std::string metric_text(const TrainingRun& run, const TrainingEvaluation& evaluation) {
  if (evaluation.metric) return fmt::format("{} {:.4f}", run.metric, *evaluation.metric);
  return fmt::format("loss {:.4f} on data kept back", evaluation.loss);
}

const TrainingEvaluation* best_evaluation(const TrainingRun& run) {
  const TrainingEvaluation* best = nullptr;
  const auto better = [&](const TrainingEvaluation& a, const TrainingEvaluation& b) {
    if (!a.metric || !b.metric) return a.loss < b.loss;
    return run.larger_is_better ? *a.metric > *b.metric : *a.metric < *b.metric;
  };
  for (const TrainingEvaluation& each : run.evaluations)
    if (best == nullptr || better(each, *best)) best = &each;
  return best;
}

double median_step_ms(const TrainingRun& run) { return median_of(run, &TrainingStep::step_ms); }
double median_wait_ms(const TrainingRun& run) { return median_of(run, &TrainingStep::input_wait_ms); }

double wait_share(const TrainingRun& run) {
  double waits = 0, steps = 0;
  for (const TrainingStep& step : run.log) {
    waits += step.input_wait_ms;
    steps += step.step_ms;
  }
  return steps > 0 ? waits / steps : 0;
}

std::string training_time_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  const auto whole = static_cast<int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

LabHeadline training_headline(const TrainingRun& run) {
  LabHeadline words;
  words.headline = headline_of(run);
  words.tone = run.end == RunEnd::kDone || run.end == RunEnd::kTarget ? Tone::kGood
               : run.end == RunEnd::kFailed                           ? Tone::kBad
                                                                      : Tone::kNeutral;
  if (run.end == RunEnd::kFailed) words.rest = run.failure + ". ";
  if (const std::string losses = losses_text(run); !losses.empty())
    words.rest +=
        losses + best_text(run) + fmt::format(". Training took {}.", training_time_text(run.seconds));
  return words;
}

std::string learning_value(const std::vector<double>& values, std::size_t runs) {
  if (values.empty()) return "never";
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) mean += value / count;
  if (values.size() < runs) return fmt::format("{:.4g} ({}/{})", mean, values.size(), runs);
  if (values.size() == 1) return fmt::format("{:.4g}", mean);
  for (const double value : values) squares += (value - mean) * (value - mean);
  return fmt::format("{:.4g} ± {:.2g}", mean, std::sqrt(squares / (count - 1)));
}

std::string learning_difference(const analyze::LearningNumber& row) {
  if (row.a.empty() || row.b.empty()) return "";
  if (row.change == analyze::LearningChange::kSame) return "0";
  return fmt::format("{:+.3g}", row.b_mean() - row.a_mean());
}

std::string learning_mark(const analyze::LearningNumber& row) {
  if (row.change == analyze::LearningChange::kSame) return "same";
  if (!row.test) return "";
  const bool differs =
      row.change == analyze::LearningChange::kBetter || row.change == analyze::LearningChange::kWorse;
  return fmt::format("{}p = {:.2g}{}",
                     differs ? std::string(analyze::learning_change_name(row.change)) + ", " : "",
                     row.test->p, row.test->paired ? ", paired" : "");
}

std::string recipe_change_text(const analyze::RecipeChange& row) {
  return fmt::format("{}: {} → {}", row.key, row.a.empty() ? "not given" : row.a,
                     row.b.empty() ? "not given" : row.b);
}

std::string folders_text(const std::vector<std::string>& folders) {
  return fmt::format("{}", fmt::join(folders, ", "));
}

}  // namespace hone::report
