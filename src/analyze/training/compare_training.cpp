#include "analyze/training/compare_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analyze/estimate.h"
#include "analyze/training/curves.h"
#include "core/statistics.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

using Runs = std::span<const TrainingRun>;

constexpr std::size_t kWarmUp = 3;  // steps whose times say nothing of the others
const std::set<std::string> kSeeds = {"train.seed", "model.seed", "data.seed"};

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}

// --- numbers of one run ---

int64_t steps_of(const TrainingRun& run) { return run.log.back().step; }

// The loss over samples seen, or over steps, as the curve is shown.
std::vector<CurvePoint> loss_curve(const TrainingRun& run, double samples_a_step) {
  std::vector<CurvePoint> curve =
      smoothed(curve_of(run.log, &TrainingStep::loss), smoothing_window(run.log.size()));
  for (CurvePoint& point : curve) point.x *= samples_a_step;
  return curve;
}

// The mean of a curve from its beginning to `end`: the area under it ÷ its length.
std::optional<double> mean_until(const std::vector<CurvePoint>& curve, double end) {
  if (curve.size() < 2 || end <= curve.front().x) return std::nullopt;
  double area = 0, x = curve.front().x, y = curve.front().y;
  for (const CurvePoint& point : curve) {
    if (point.x <= x) continue;
    const double next_x = std::min(point.x, end);
    const double next_y = value_at(curve, next_x);
    area += (next_x - x) * (y + next_y) / 2;
    x = next_x;
    y = next_y;
    if (point.x >= end) break;
  }
  return area / (x - curve.front().x);
}

std::optional<double> last_metric(const TrainingRun& run) {
  return run.evaluations.empty() ? std::nullopt : run.evaluations.back().metric;
}
std::optional<double> last_loss(const TrainingRun& run) {
  if (run.evaluations.empty()) return std::nullopt;
  return run.evaluations.back().loss;
}
std::optional<double> best_metric(const TrainingRun& run) {
  std::optional<double> best;
  for (const TrainingEvaluation& each : run.evaluations)
    if (each.metric && (!best || (run.larger_is_better ? *each.metric > *best : *each.metric < *best)))
      best = each.metric;
  return best;
}

std::optional<double> steps_until(const TrainingRun& run, double target) {
  for (const TrainingEvaluation& each : run.evaluations)
    if (each.metric && (run.larger_is_better ? *each.metric >= target : *each.metric <= target))
      return static_cast<double>(each.step);
  return std::nullopt;
}

// Of the steps alone: evaluations and checkpoints take time, too, but another at every setting of them.
std::optional<double> seconds_until(const TrainingRun& run, double target) {
  const auto steps = steps_until(run, target);
  if (!steps) return std::nullopt;
  double ms = 0;
  for (const TrainingStep& step : run.log)
    if (static_cast<double>(step.step) <= *steps) ms += step.step_ms;
  return ms * 1e-3;
}

std::vector<double> times_of(const TrainingRun& run, double TrainingStep::*number) {
  std::vector<double> times;
  for (std::size_t i = std::min(kWarmUp, run.log.size() - 1); i < run.log.size(); ++i)
    times.push_back(run.log[i].*number);
  return times;
}

// --- comparisons ---

// [loss] as resolved: by any other key of it the numbers mean something else.
std::string differing_losses(const TrainingRun& a, const TrainingRun& b) {
  std::map<std::string, std::pair<std::string, std::string>> keys;
  for (const auto& [key, value] : a.recipe)
    if (key.starts_with("loss.") && key != "loss.target") keys[key].first = value;
  for (const auto& [key, value] : b.recipe)
    if (key.starts_with("loss.") && key != "loss.target") keys[key].second = value;
  std::string differing;
  for (const auto& [key, values] : keys)
    if (values.first != values.second) differing += (differing.empty() ? "" : ", ") + key;
  return differing;
}

std::string signed_time(double ms, double step_ms) { return (ms > 0 ? "+" : "") + fixed_ms(ms, step_ms); }

LearningChange direction(double difference, bool larger_is_better) {
  return (difference > 0) == larger_is_better ? LearningChange::kBetter : LearningChange::kWorse;
}

class Comparer {
 public:
  Comparer(Runs a, Runs b, bool paired) : a_(a), b_(b) { result_.paired = paired; }

  TrainingComparison run() {
    for (const TrainingRun& each : a_) result_.a.push_back(each.source);
    for (const TrainingRun& each : b_) result_.b.push_back(each.source);
    result_.a_name = a_.front().name;
    result_.b_name = b_.front().name;
    compare_times();
    find_common_steps();
    other_losses_ = differing_losses(a_.front(), b_.front());
    compare_losses();
    add_numbers();
    judge_learning();
    compare_recipes();
    add_caveats();
    return std::move(result_);
  }

 private:
  TimeChange time_change(double TrainingStep::*number, double least_ms) const;
  void compare_times();
  void find_common_steps();
  void compare_losses();
  template <typename Number>
  void add(std::string id, std::string name, bool larger_is_better, Number number);
  void add_numbers();
  void add_losses();
  void add_target();
  void judge_learning();
  void compare_recipes();
  void add_caveats();
  bool several() const { return a_.size() > 1 && b_.size() > 1; }
  bool same_batch() const;
  bool judge_failures();

  Runs a_, b_;
  std::string
      other_losses_;  // keys of the recipe that make the two losses other quantities; empty: they are one
  TrainingComparison result_;
};

TimeChange Comparer::time_change(double TrainingStep::*number, double least_ms) const {
  TimeChange change;
  std::vector<double> a, b;
  for (const TrainingRun& run : a_) a.push_back(median(times_of(run, number)));
  for (const TrainingRun& run : b_) b.push_back(median(times_of(run, number)));
  change.a_ms = mean(a);
  change.b_ms = mean(b);
  const double least = std::max(least_ms, kDeviceDrift * std::max(change.a_ms, change.b_ms));
  change.difference = difference(times_of(a_.front(), number), times_of(b_.front(), number), least);
  change.certainty = change.difference.certainty;
  if (several()) {
    change.test = welch_test(a, b, kConfidence);
    const bool sure = change.test->p < 1 - kConfidence && std::abs(change.test->difference) >= least;
    change.certainty = sure ? Certainty::kSure : Certainty::kNone;
  }
  return change;
}

void Comparer::compare_times() {
  constexpr double kPartOfStepThatMatters = 0.01;
  TimeChange& step = result_.step;
  step = time_change(&TrainingStep::step_ms, 0);
  const double whole = std::max(step.a_ms, step.b_ms);
  result_.wait = time_change(&TrainingStep::input_wait_ms, kPartOfStepThatMatters * whole);
  if (a_.front().recorded && b_.front().recorded) {
    result_.ledger = compare_ledgers(*a_.front().recorded, *b_.front().recorded);
    for (OperatorChange& change : compare(*a_.front().recorded, *b_.front().recorded).operators)
      if (change.difference.certainty == Certainty::kSure ||
          change.difference.certainty == Certainty::kLikely)
        result_.operators.push_back(std::move(change));
  }
  const std::string times = fmt::format("{} and {}", fixed_ms(step.a_ms, whole), fixed_ms(step.b_ms, whole));
  const double low = step.test ? step.test->low : step.difference.change_ms.low;
  const double high = step.test ? step.test->high : step.difference.change_ms.high;
  const std::string interval =
      fmt::format("the change is between {} and {}, of {}", signed_time(low, whole), signed_time(high, whole),
                  step.test ? "the runs' medians" : "steps that were not paired");
  if (step.certainty == Certainty::kSure || step.certainty == Certainty::kLikely)
    result_.time_sentence = fmt::format("A step of the second takes {} instead of {}: {} ({}; {})",
                                        fixed_ms(step.b_ms, whole), fixed_ms(step.a_ms, whole),
                                        pace(step.a_ms, step.b_ms), certainty_name(step.certainty), interval);
  else
    result_.time_sentence =
        fmt::format("No difference of the steps' time can be told: {} ({}{})", times, interval,
                    low > 0 || high < 0 ? "; steps of one run differ by as much" : "");
}

void Comparer::find_common_steps() {
  result_.compared_steps = steps_of(a_.front());
  for (const Runs& side : {a_, b_})
    for (const TrainingRun& run : side)
      result_.compared_steps = std::min(result_.compared_steps, steps_of(run));
}

// Whether each run of the one has its twin in the other.
void Comparer::compare_losses() {
  const auto equal = [&](const TrainingRun& a, const TrainingRun& b) {
    for (std::size_t i = 0; i < std::min(a.log.size(), b.log.size()); ++i)
      if (a.log[i].step != b.log[i].step || a.log[i].loss != b.log[i].loss) return false;
    return true;
  };
  result_.same_losses = a_.size() == b_.size() && same_batch() && other_losses_.empty();
  for (std::size_t i = 0; i < a_.size() && result_.same_losses; ++i)
    result_.same_losses = equal(a_[i], b_[i]);
}

bool Comparer::same_batch() const {
  return std::all_of(b_.begin(), b_.end(),
                     [&](const TrainingRun& run) { return run.batch == a_.front().batch; });
}

template <typename Number>
void Comparer::add(std::string id, std::string name, bool larger_is_better, Number number) {
  LearningNumber row;
  row.id = std::move(id);
  row.name = std::move(name);
  row.larger_is_better = larger_is_better;
  row.a_runs = a_.size();
  row.b_runs = b_.size();
  for (const TrainingRun& run : a_)
    if (const std::optional<double> value = number(run); value && std::isfinite(*value))
      row.a.push_back(*value);
  for (const TrainingRun& run : b_)
    if (const std::optional<double> value = number(run); value && std::isfinite(*value))
      row.b.push_back(*value);
  if (row.a.empty() && row.b.empty()) return;
  // Of runs that never came to a target there is no number, and the mean of the others is none of all.
  const bool all = row.a.size() == row.a_runs && row.b.size() == row.b_runs;
  if (all && several())
    row.test =
        result_.paired ? paired_test(row.a, row.b, kConfidence) : welch_test(row.a, row.b, kConfidence);
  if (row.a == row.b)
    row.change = LearningChange::kSame;
  else if (row.test)
    row.change = row.test->p < 1 - kConfidence ? direction(row.test->difference, larger_is_better)
                                               : LearningChange::kNoDifference;
  result_.numbers.push_back(std::move(row));
}

// The first is what the verdict goes by: of many numbers one would differ by chance.
void Comparer::add_numbers() {
  const TrainingRun& first = a_.front();
  const bool same_metric = first.metric == b_.front().metric && first.metric != "none";
  if (same_metric) add("last_metric", first.metric + " at the end", first.larger_is_better, last_metric);
  if (other_losses_.empty()) add_losses();
  if (!same_metric) return;
  add("best_metric", "best " + first.metric, first.larger_is_better, best_metric);
  add_target();
}

void Comparer::add_losses() {
  const TrainingRun& first = a_.front();
  add("last_evaluation_loss", "loss on data kept back", false, last_loss);
  const auto steps = static_cast<double>(result_.compared_steps);
  add("loss_at_step", fmt::format("loss at step {}, smoothed", result_.compared_steps), false,
      [&](const TrainingRun& run) { return std::optional(value_at(loss_curve(run, 1), steps)); });
  double samples = steps * static_cast<double>(first.batch);
  for (const TrainingRun& run : b_)
    samples = std::min(samples, static_cast<double>(steps_of(run)) * static_cast<double>(run.batch));
  const std::string seen = format_count(samples);
  const auto over_samples = [](const TrainingRun& run) {
    return loss_curve(run, static_cast<double>(run.batch));
  };
  if (!same_batch())
    add("loss_at_samples", fmt::format("loss after {} samples, smoothed", seen), false,
        [&](const TrainingRun& run) { return std::optional(value_at(over_samples(run), samples)); });
  add("mean_loss", fmt::format("mean loss over {} samples", seen), false,
      [&](const TrainingRun& run) { return mean_until(over_samples(run), samples); });
}

// The recipes' target, or what all runs of the first ended at.
void Comparer::add_target() {
  const TrainingRun& first = a_.front();
  double target = 0;
  if (first.target && b_.front().target == first.target) {
    target = *first.target;
  } else {
    std::vector<double> ends;
    for (const TrainingRun& run : a_)
      if (const std::optional<double> last = last_metric(run)) ends.push_back(*last);
    if (ends.empty()) return;
    target = first.larger_is_better ? *std::min_element(ends.begin(), ends.end())
                                    : *std::max_element(ends.begin(), ends.end());
  }
  const std::string to = fmt::format("{} {:.4g}", first.metric, target);
  add("steps_to_target", "steps to " + to, false,
      [&](const TrainingRun& run) { return steps_until(run, target); });
  add("seconds_to_target", "seconds to " + to, false,
      [&](const TrainingRun& run) { return seconds_until(run, target); });
}

std::string numbers_text(const LearningNumber& row) {
  return fmt::format("{} {:.4g} against {:.4g}", row.name, row.b_mean(), row.a_mean());
}

// A run that failed has learnt nothing that others could be compared with, however equal its first steps are.
bool Comparer::judge_failures() {
  for (const auto& [side, which] : {std::pair{a_, "first"}, {b_, "second"}})
    for (const TrainingRun& run : side) {
      if (run.end != RunEnd::kFailed) continue;
      result_.learning = LearningChange::kUnknown;
      result_.learning_sentence =
          fmt::format("What they learned is not compared: {} of the {} failed behind step {} of {}",
                      run.source, which, steps_of(run), run.steps);
      return true;
    }
  return false;
}

void Comparer::judge_learning() {
  if (judge_failures()) return;
  if (result_.same_losses) {
    const auto went_as_far = [&](const TrainingRun& run) { return steps_of(run) == result_.compared_steps; };
    const bool all =
        std::all_of(a_.begin(), a_.end(), went_as_far) && std::all_of(b_.begin(), b_.end(), went_as_far);
    result_.learning = LearningChange::kSame;
    result_.learning_sentence =
        all ? fmt::format("They learned the same: the losses of all {} steps are equal",
                          result_.compared_steps)
            : fmt::format(
                  "As far as all of them went they learned the same: the losses of the first {} steps are "
                  "equal",
                  result_.compared_steps);
    return;
  }
  if (result_.numbers.empty()) {
    result_.learning_sentence = other_losses_.empty()
                                    ? "Of learning there is nothing to compare: no loss of theirs is finite"
                                    : "Of learning there is nothing to compare: their losses are of "
                                      "different kinds, and they share no metric";
    return;
  }
  const LearningNumber& row = result_.numbers.front();
  result_.learning = row.change;
  const std::string test =
      result_.paired ? fmt::format("paired t over {} seeds that both have", row.a.size())
                     : fmt::format("Welch's t over seeds, {} and {} runs", row.a.size(), row.b.size());
  switch (row.change) {
    case LearningChange::kSame:
      result_.learning_sentence = fmt::format("They end at the same: {}", numbers_text(row));
      break;
    case LearningChange::kBetter:
    case LearningChange::kWorse:
      result_.learning_sentence = fmt::format("The second learned {}: {} ({}, p = {:.2g})",
                                              row.change == LearningChange::kBetter ? "better" : "worse",
                                              numbers_text(row), test, row.test->p);
      break;
    case LearningChange::kNoDifference:
      result_.learning_sentence = fmt::format(
          "No difference of learning can be told: {} ({}, p = {:.2g}); one of {:.2g} would have been found "
          "four "
          "times in five",
          numbers_text(row), test, row.test->p, row.test->detectable);
      break;
    case LearningChange::kUnknown:
      result_.learning_sentence = fmt::format(
          "Seen, not proven: {}; of one run nothing says how much seeds alone make runs differ (train each "
          "with "
          "several train.seed, and give their folders with commas between them)",
          row.a.empty() || row.b.empty() ? row.name + " of one alone" : numbers_text(row));
      break;
  }
}

std::map<std::string, std::string> keys_of(const TrainingRun& run) {
  return {run.recipe.begin(), run.recipe.end()};
}

void Comparer::compare_recipes() {
  const auto of = [](const std::map<std::string, std::string>& keys, const std::string& key) {
    const auto found = keys.find(key);
    return found == keys.end() ? std::string() : found->second;
  };
  const auto differing = [&](const TrainingRun& x, const TrainingRun& y) {
    const auto first = keys_of(x), second = keys_of(y);
    std::set<std::string> names;
    for (const auto* keys : {&first, &second})
      for (const auto& [key, value] : *keys) names.insert(key);
    std::vector<RecipeChange> changes;
    for (const std::string& key : names)
      if (of(first, key) != of(second, key)) changes.push_back({key, of(first, key), of(second, key)});
    return changes;
  };
  const bool seeds_vary = a_.size() > 1 || b_.size() > 1;
  for (RecipeChange& change : differing(a_.front(), b_.front()))
    if (!seeds_vary || !kSeeds.contains(change.key)) result_.recipe.push_back(std::move(change));
  for (const auto& [side, which] : {std::pair{a_, "first"}, {b_, "second"}})
    for (const TrainingRun& run : side.subspan(1)) {
      std::string others;
      bool any_seed = false;
      for (const RecipeChange& change : differing(side.front(), run))
        if (kSeeds.contains(change.key))
          any_seed = true;
        else
          others += (others.empty() ? "" : ", ") + change.key;
      if (!others.empty())
        result_.caveats.push_back(
            fmt::format("the runs of the {} differ in more than their seeds ({}: {}): a test "
                        "over them says nothing of seeds",
                        which, run.source, others));
      else if (!any_seed)
        result_.caveats.push_back(fmt::format("{} has the seeds of {}: they are one run twice, not two",
                                              run.source, side.front().source));
    }
}

void Comparer::add_caveats() {
  const Environment &a = a_.front().environment, &b = b_.front().environment;
  if (a.machine != b.machine)
    result_.caveats.push_back(fmt::format("the machines differ: {} and {}", a.machine, b.machine));
  if (a.device != b.device)
    result_.caveats.push_back(fmt::format("the devices differ: {} and {}", a.device, b.device));
  if (a.threads != b.threads)
    result_.caveats.push_back(fmt::format("the threads differ: {} and {}", a.threads, b.threads));
  for (const Runs& side : {a_, b_})
    for (const TrainingRun& run : side)
      if (run.end == RunEnd::kFailed || run.end == RunEnd::kStopped || run.end == RunEnd::kUnfinished)
        result_.caveats.push_back(run.end == RunEnd::kFailed
                                      ? fmt::format("{} failed behind step {} of {}: {}", run.source,
                                                    steps_of(run), run.steps, run.failure)
                                      : fmt::format("{} ended at step {} of {}, before its end", run.source,
                                                    steps_of(run), run.steps));
  if (!other_losses_.empty())
    result_.caveats.push_back(fmt::format(
        "their losses are not the same quantity ({} differ) and are not compared", other_losses_));
  for (const TrainingRun* run : {&a_.front(), &b_.front()})
    if ((run == &a_.front() || run->source != a_.front().source) && run->recorded &&
        !run->recorded->verdict.given)
      result_.caveats.push_back(fmt::format("{}: {}", run->source, run->recorded->verdict.sentence));
  if (several() && std::min(a_.size(), b_.size()) < 5)
    result_.caveats.push_back(
        "the test takes what seeds do to be normally distributed, which so few runs cannot show");
}

}  // namespace

double LearningNumber::a_mean() const { return a.empty() ? NAN : mean(a); }
double LearningNumber::b_mean() const { return b.empty() ? NAN : mean(b); }

std::string_view learning_change_name(LearningChange change) {
  switch (change) {
    case LearningChange::kSame:
      return "same";
    case LearningChange::kNoDifference:
      return "no difference";
    case LearningChange::kBetter:
      return "better";
    case LearningChange::kWorse:
      return "worse";
    case LearningChange::kUnknown:
      break;
  }
  return "unknown";
}

namespace {

// Of a run: what decides its random numbers, as far as its recipe says it.
std::vector<std::string> seeds_of(const TrainingRun& run) {
  std::vector<std::string> seeds;
  for (const std::string& key : kSeeds) {
    const auto found = std::find_if(run.recipe.begin(), run.recipe.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    seeds.push_back(found == run.recipe.end() ? "" : found->second);
  }
  return seeds;
}

// `b` in the order of `a`'s seeds; nullopt: they are not the same, or one of them ran twice.
std::optional<std::vector<TrainingRun>> twins_of(Runs a, Runs b) {
  std::map<std::vector<std::string>, const TrainingRun*> by_seeds;
  for (const TrainingRun& run : b) by_seeds[seeds_of(run)] = &run;
  if (a.size() < 2 || a.size() != b.size() || by_seeds.size() != b.size()) return std::nullopt;
  std::vector<TrainingRun> twins;
  for (const TrainingRun& run : a) {
    const auto twin = by_seeds.extract(seeds_of(run));
    if (twin.empty()) return std::nullopt;
    twins.push_back(*twin.mapped());
  }
  return twins;
}

}  // namespace

Result<TrainingComparison> compare_training(Runs a, Runs b) {
  for (const Runs& side : {a, b})
    for (const TrainingRun& run : side)
      if (run.log.empty()) return invalid(fmt::format("{}: no step of it is known yet", run.source));
  const auto twins = twins_of(a, b);
  return Comparer(a, twins ? Runs(*twins) : b, twins.has_value()).run();
}

}  // namespace hone::analyze
