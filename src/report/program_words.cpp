#include "report/program_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/text.h"

namespace hone::report {
namespace {

using analyze::ChangeOutcome;
using analyze::ProgramChange;
using analyze::ProgramReport;

std::vector<const ProgramChange*> changes_that(const ProgramReport& report, ChangeOutcome outcome) {
  std::vector<const ProgramChange*> found;
  for (const ProgramChange& change : report.changes)
    if (change.outcome == outcome) found.push_back(&change);
  return found;
}

// "autocast, fused optimizer and 2 more"
std::string names_of(const std::vector<const ProgramChange*>& changes) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < changes.size() && (i < kNamed || changes.size() == kNamed); ++i)
    names.push_back(changes[i]->title);
  if (changes.size() > names.size()) names.push_back(fmt::format("{} more", changes.size() - names.size()));
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

// A step divided by how much faster something is, with the interval of that.
analyze::Estimate divided(double ms, const analyze::Estimate& by) {
  return {ms / by.median, ms / by.high, ms / by.low};
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// As a shell reads it back.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:,@%=-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char each : text) quoted += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return quoted + "'";
}

// Where the ledger is of another step than the headline: which was measured when, and how. Empty: they agree as far as each is known.
std::string two_steps_text(const ProgramReport& report) {
  constexpr double kWorthSaying = 1.1, kHardlyTheSame = 3;
  const analyze::Estimate timed = step_before(report), recorded = report.baseline.step.ms;
  if (timed.median <= 0 || recorded.median <= 0) return "";
  const bool apart = timed.low > recorded.high || recorded.low > timed.high;
  const double ratio = timed.median / recorded.median;
  if (!apart || std::max(ratio, 1 / ratio) < kWorthSaying) return "";
  return fmt::format(
      "the ledger is of another step than the headline: it took {} while the baseline was recorded, in the "
      "run "
      "before all others, and {} in the runs of the loop, by the program's own marks with nothing recorded; "
      "the machine may have been busy in one of them{}",
      fixed_ms(recorded.median, recorded.median), fixed_ms(timed.median, timed.median),
      std::max(ratio, 1 / ratio) < kHardlyTheSame ? "" : ", or the baseline took something else for a step");
}

}  // namespace

LabHeadline program_headline(const ProgramReport& report) {
  LabHeadline words;
  words.tone = Tone::kNeutral;
  if (!report.why_nothing.empty()) {
    words.headline = "Nothing was tried.";
    words.rest = capitalised(report.why_nothing) + ".";
    return words;
  }
  const auto kept = changes_that(report, ChangeOutcome::kKept);
  const double before = step_before(report).median;
  if (kept.empty()) {
    const bool tried =
        std::any_of(report.changes.begin(), report.changes.end(),
                    [](const ProgramChange& change) { return change.outcome != ChangeOutcome::kNotTried; });
    words.headline = tried ? "Nothing was kept." : "Nothing was tried.";
    words.rest = report.changes.empty()
                     ? "No finding of the baseline advises a change that can be made from outside."
                     : fmt::format("A step takes {} as the program is.", fixed_ms(before, before));
    return words;
  }
  if (!report.together.measured()) {
    words.headline = fmt::format("Kept: {}.", names_of(kept));
    words.rest = "All of it together was not measured: time was up.";
    return words;
  }
  words.headline =
      fmt::format("{} faster with {}.", ratio_text(report.together.speedup.median), names_of(kept));
  words.rest = fmt::format("A step takes {} instead of {}. {}.", fixed_ms(step_after(report).median, before),
                           fixed_ms(before, before), capitalised(report.numbers.sentence));
  words.tone = report.numbers.same ? Tone::kGood : Tone::kBad;
  return words;
}

std::string_view outcome_words(ChangeOutcome outcome) {
  switch (outcome) {
    case ChangeOutcome::kKept:
      return "kept";
    case ChangeOutcome::kOffered:
      return "offered";
    case ChangeOutcome::kNoGain:
      return "no gain";
    case ChangeOutcome::kOtherNumbers:
      return "other numbers";
    case ChangeOutcome::kRefused:
      return "not made";
    case ChangeOutcome::kFailed:
      return "failed";
    case ChangeOutcome::kUndecided:
      return "undecided";
    case ChangeOutcome::kNotTried:
      return "not tried";
  }
  return "";
}

std::string change_words(const ProgramChange& change) {
  return change.why_not_predicted.empty()
             ? change.why
             : fmt::format("{}; not predicted: {}", change.why, change.why_not_predicted);
}

analyze::Estimate step_before(const ProgramReport& report) {
  if (!report.together.measured()) return report.step_ms;
  const double ms = median_of(report.together.before_ms);
  const auto [low, high] =
      std::minmax_element(report.together.before_ms.begin(), report.together.before_ms.end());
  return {ms, *low, *high};
}

analyze::Estimate step_after(const ProgramReport& report) {
  return divided(step_before(report).median, report.together.speedup);
}

double predicted_gain_ms(const ProgramReport& report) {
  double sum = 0;
  for (const ProgramChange* change : changes_that(report, ChangeOutcome::kKept))
    sum += change->predicted_gain_ms;
  return sum;
}

analyze::Estimate measured_gain_ms(const ProgramReport& report) {
  const double before = step_before(report).median;
  const analyze::Estimate after = step_after(report);
  return {before - after.median, before - after.high, before - after.low};
}

std::vector<std::string> program_notes(const ProgramReport& report) {
  std::vector<std::string> notes = report.notes;
  if (std::string text = two_steps_text(report); !text.empty()) notes.insert(notes.begin(), std::move(text));
  if (report.interrupted) notes.insert(notes.begin(), "interrupted: what follows was not tried");
  for (const ProgramChange* kept : changes_that(report, ChangeOutcome::kKept))
    if (kept->diff.empty() && !kept->did.empty())
      notes.push_back(fmt::format("of {} nothing is in the patch: {}", kept->title, kept->did));
  for (const ChangeOutcome outcome : {ChangeOutcome::kUndecided, ChangeOutcome::kNotTried}) {
    const std::size_t count = changes_that(report, outcome).size();
    if (count > 0 && !report.interrupted)
      notes.push_back(fmt::format("{} {}: the budget of {:.0f} s did not suffice; --budget gives more",
                                  counted(static_cast<double>(count), "change"), outcome_words(outcome),
                                  report.budget_s));
  }
  if (report.why_nothing.empty() && report.runs > 0)
    notes.push_back(fmt::format(
        "the program was run {} in {:.0f} s; {}", counted(report.runs, "time"), report.seconds,
        report.noise
            ? fmt::format("runs of the same vary by {:.1f} % (standard deviation)", 100 * *report.noise)
            : "none was timed twice, so how far runs of the same vary is not known"));
  return notes;
}

std::string pairs_text(const analyze::PairedSteps& steps) {
  return fmt::format("{} of {}", counted(static_cast<double>(steps.before_ms.size()), "pair"),
                     steps.within_one_run ? "blocks of steps of one run" : "runs");
}

std::string command_text(const ProgramReport& report) {
  return clean_utf8(fmt::format("{}", fmt::join(report.command, " ")));
}

std::string patch_command(const ProgramReport& report) {
  return clean_utf8(
      fmt::format("patch -d {} -p1 < {}", shell_word(report.patch_folder), shell_word(report.patch_file)));
}

std::vector<std::string> lines_of_text(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(clean_utf8(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

}  // namespace hone::report
