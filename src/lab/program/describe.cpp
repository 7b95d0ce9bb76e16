#include "lab/program/describe.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "report/program_words.h"

namespace hone::lab {
namespace {

analyze::ChangeOutcome outcome_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kKept:
      return analyze::ChangeOutcome::kKept;
    case Outcome::kOffered:
      return analyze::ChangeOutcome::kOffered;
    case Outcome::kNoGain:
      return analyze::ChangeOutcome::kNoGain;
    case Outcome::kOtherNumbers:
      return analyze::ChangeOutcome::kOtherNumbers;
    case Outcome::kRefused:
      return analyze::ChangeOutcome::kRefused;
    case Outcome::kCrashed:
      return analyze::ChangeOutcome::kFailed;
    case Outcome::kUndecided:
      return analyze::ChangeOutcome::kUndecided;
    case Outcome::kNotTried:
      break;
  }
  return analyze::ChangeOutcome::kNotTried;
}

analyze::PairedSteps steps_of(const PairedRuns& runs, double noise) {
  analyze::PairedSteps steps;
  steps.before_ms = runs.before_ms;
  steps.after_ms = runs.after_ms;
  steps.within_one_run = runs.within_one_run;
  if (!steps.measured()) return steps;
  const Interval speedup = runs.interval(noise);
  steps.speedup = {speedup.median, speedup.low, speedup.high};
  steps.has_interval = runs.has_interval();
  steps.least_speedup = runs.least_speedup();
  steps.most_speedup = runs.most_speedup();
  return steps;
}

analyze::ComparedNumbers numbers_of(const SameNumbers& numbers) {
  return {numbers.same, numbers.difference, numbers.allowed, numbers.steps, numbers.sentence};
}

std::string why_not_predicted(const Candidate& candidate) {
  if (candidate.predicted_gain_ms > 0) return "";
  if (candidate.unasked) return "no finding advises it, a look at it was cheap";
  return candidate.because.empty() ? "asked for with --try" : "the finding does not say what it would win";
}

Result<analyze::ProgramChange> change_of(const TriedChange& tried, double noise,
                                         const std::filesystem::path& patched) {
  analyze::ProgramChange change;
  change.name = tried.candidate.change->name;
  change.title = tried.candidate.change->title;
  change.because = tried.candidate.because;
  change.predicted_gain_ms = tried.candidate.predicted_gain_ms;
  change.why_not_predicted = why_not_predicted(tried.candidate);
  change.outcome = outcome_of(tried.outcome);
  change.why = tried.why;
  change.did = tried.text;
  HONE_ASSIGN(change.diff, unified_diff(tried.edits, patched));
  change.steps = steps_of(tried.runs, noise);
  change.numbers = numbers_of(tried.numbers);
  return change;
}

// What was measured is a ratio, in blocks or runs whose steps the machine made longer or shorter by then: all ratios are told of one
// step, the headline's, as what was kept before has left it.
void tell_gains(analyze::ProgramReport& report) {
  double standing_ms = report::step_before(report).median;
  for (analyze::ProgramChange& change : report.changes) {
    if (!change.steps.measured()) continue;
    const analyze::Estimate& by = change.steps.speedup;
    change.measured_gain_ms = {standing_ms - standing_ms / by.median, standing_ms - standing_ms / by.low,
                               standing_ms - standing_ms / by.high};
    if (change.outcome == analyze::ChangeOutcome::kKept) standing_ms /= by.median;
  }
}

}  // namespace

Result<analyze::ProgramReport> describe(const ProgramExperiment& experiment, analyze::Analysis baseline,
                                        std::vector<std::string> command) {
  analyze::ProgramReport report;
  report.command = std::move(command);
  report.baseline = std::move(baseline);
  const std::vector<double>& unchanged = experiment.unchanged_ms;
  if (!unchanged.empty()) {
    const auto [low, high] = std::minmax_element(unchanged.begin(), unchanged.end());
    report.step_ms = {median(unchanged), *low, *high};
  }
  report.noise = experiment.spread;
  std::vector<Edit> all, kept;
  for (const TriedChange& tried : experiment.changes)
    all.insert(all.end(), tried.edits.begin(), tried.edits.end());
  report.patch_folder = patch_folder(all, std::filesystem::current_path()).string();
  for (const TriedChange& tried : experiment.changes) {
    HONE_ASSIGN(analyze::ProgramChange change, change_of(tried, experiment.noise, report.patch_folder));
    report.changes.push_back(std::move(change));
    if (tried.outcome == Outcome::kKept) kept.insert(kept.end(), tried.edits.begin(), tried.edits.end());
  }
  HONE_ASSIGN(report.diff, unified_diff(kept, report.patch_folder));
  report.together = steps_of(experiment.together, experiment.noise);
  tell_gains(report);
  report.numbers = numbers_of(experiment.numbers);
  report.unchanged_losses = experiment.unchanged.losses;
  report.unchanged_again_losses = experiment.again.losses;
  report.changed_losses = experiment.changed.losses;
  report.why_nothing = experiment.why_nothing;
  report.runs = static_cast<int>(experiment.runs.size());
  for (const RunMade& run : experiment.runs)
    report.each_run.push_back(
        {run.changes, run.switched, run.seconds, run.first_step_s, run.ended_s, run.step_ms});
  if (experiment.ranks > 1)
    report.notes.push_back(
        fmt::format("{} ranks: changes were made in all of them; losses are the first rank's, each having "
                    "batches of its own",
                    experiment.ranks));
  report.interrupted = experiment.interrupted;
  report.seconds = experiment.seconds;
  return report;
}

}  // namespace hone::lab
