#include "apps/lab_program.h"

#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "apps/trace_source.h"
#include "core/file.h"
#include "core/units.h"
#include "lab/program/experiment.h"
#include "observe/session/program.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaseline = "baseline";
constexpr const char* kRuns = "runs";
constexpr const char* kDiff = "changes.diff";
constexpr const char* kProfileLog = "profile.log";

// What `hone profile` says of the unchanged program, in a process of its own: what the program does to its process, it does there.
Result<analyze::Analysis> profile_baseline(const LabProgramOptions& options, ProgressBar& bar) {
  const fs::path folder = fs::path(options.out) / kBaseline, log = fs::path(options.out) / kProfileLog;
  observe::ProgramStart start;
  start.command = {"/proc/self/exe", "profile", "--then", "stop", "--out", folder.string(), "--"};
  start.command[0] = fs::read_symlink("/proc/self/exe").string();
  start.command.insert(start.command.end(), options.command.begin(), options.command.end());
  start.blocked_signals = requests_to_end();
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) return invalid(fmt::format("{}: cannot be written", log.string()));
  start.standard_output = start.standard_error = output;
  auto profile = observe::Program::start(start);
  ::close(output);
  if (!profile.ok()) return profile.error();
  while (!profile->exit_status()) {
    bar.update(0, "observing the unchanged program");
    if (interrupted()) profile->send(SIGTERM);
    profile->wait(0.2);
  }
  const Progress progress = [](double, const std::string&) { return !interrupted(); };
  auto recording = read_recording({folder.string()}, progress);
  if (!recording.ok())
    return invalid(fmt::format(
        "the unchanged program could not be observed (exit status {}; {} holds what was said): {}",
        *profile->exit_status(), log.string(), recording.error().message));
  return analyse_recording(*recording, {}, options.top);
}

std::string outcome_mark(lab::Outcome outcome) {
  switch (outcome) {
    case lab::Outcome::kKept:
      return "kept";
    case lab::Outcome::kNoGain:
      return "no gain";
    case lab::Outcome::kOtherNumbers:
      return "other numbers";
    case lab::Outcome::kRefused:
      return "not made";
    case lab::Outcome::kCrashed:
      return "failed";
    case lab::Outcome::kNotTried:
      return "not tried";
  }
  return "";
}

void print_result(const lab::ProgramExperiment& result, const std::string& diff, const fs::path& out) {
  if (!result.why_nothing.empty()) {
    fmt::print("Nothing was tried: {}\n", result.why_nothing);
    return;
  }
  fmt::print("step as it is   {}; runs of the same vary by {:.1f} % (standard deviation)\n\n",
             fixed_ms(result.baseline_ms, result.baseline_ms), 100 * result.noise);
  fmt::print("  {:48} {:>10} {:>10}  {}\n", "change", "predicted", "measured", "");
  for (const lab::TriedChange& tried : result.changes) {
    const bool measured = !tried.runs.before_ms.empty();
    fmt::print("  {:48} {:>10} {:>10}  {}\n", tried.candidate.change->title,
               tried.candidate.predicted_gain_ms > 0
                   ? fixed_ms(tried.candidate.predicted_gain_ms, result.baseline_ms)
                   : "–",
               measured ? fixed_ms(tried.gain_ms, result.baseline_ms) : "–", outcome_mark(tried.outcome));
    fmt::print("      {}\n", tried.why);
  }
  if (!result.together.before_ms.empty())
    fmt::print(
        "\nAll together {:.2f} times as fast ({:.2f} to {:.2f} in {} pairs of runs): {} instead of {}\n  "
        "{}\n",
        result.together.speedup(), result.together.least_speedup(), result.together.most_speedup(),
        result.together.before_ms.size(), fixed_ms(median(result.together.after_ms), result.baseline_ms),
        fixed_ms(median(result.together.before_ms), result.baseline_ms), result.numbers.sentence);
  else
    fmt::print("\nNothing was kept: the program runs as fast as hone can make it from outside\n");
  if (!diff.empty()) fmt::print("\nWhat to write ({}):\n\n{}", (out / kDiff).string(), diff);
}

}  // namespace

Status run_lab_program(const LabProgramOptions& options, Program& program) {
  const fs::path out(options.out);
  HONE_CHECK(check_out(out));
  HONE_CHECK(make_folder(out / kRuns));
  ProgressBar bar("hone lab");
  HONE_ASSIGN(const analyze::Analysis baseline, profile_baseline(options, bar));
  const std::vector<lab::Candidate> candidates = lab::candidates(baseline);
  lab::TrialOptions trial;
  trial.command = options.command;
  HONE_ASSIGN(trial.recorder, observe::find_recorder_files());
  trial.blocked_signals = requests_to_end();
  trial.seed = options.seed;
  lab::ProgramExperimentOptions experiment;
  experiment.budget_s = options.budget_s;
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  trial.keep_going = [] { return !interrupted(); };
  int runs = 0;
  const lab::RunTrial run = [&](const std::vector<std::string>& changes) {
    trial.folder = out / kRuns / fmt::format("{:03}", ++runs);
    trial.changes = changes;
    return lab::run_trial(trial);
  };
  HONE_ASSIGN(const lab::ProgramExperiment result, lab::run_program_experiment(candidates, run, experiment));
  bar.finish();
  std::vector<lab::Edit> edits;
  for (const lab::TriedChange& tried : result.changes)
    if (tried.outcome == lab::Outcome::kKept)
      edits.insert(edits.end(), tried.edits.begin(), tried.edits.end());
  HONE_ASSIGN(const std::string diff, lab::unified_diff(edits));
  if (!diff.empty()) HONE_CHECK(write_file((out / kDiff).string(), diff));
  print_result(result, diff, out);
  if (result.interrupted) program.exit_code = interrupted_status();
  return {};
}

}  // namespace hone::apps
