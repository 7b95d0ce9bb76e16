#include "apps/lab_program.h"

#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/trace_source.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "core/units.h"
#include "lab/program/experiment.h"
#include "observe/session/program.h"
#include "report/text.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaseline = "baseline";
constexpr const char* kRuns = "runs";
constexpr const char* kDiff = "changes.diff";
constexpr const char* kProfileLog = "profile.log";
constexpr const char* kResult = "lab.json";

// The last line that hone itself said, without its name; empty: none.
std::string last_of_hone(const fs::path& log) {
  const auto text = read_file(log);
  std::istringstream lines(text.ok() ? *text : "");
  std::string last;
  constexpr std::string_view kName = "hone: ";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kName)) last = line.substr(kName.size());
  return report::clean_utf8(last);
}

// What `hone profile` says of the unchanged program, in a process of its own: what the program does to its process, it does there.
Result<analyze::Analysis> profile_baseline(const LabProgramOptions& options, ProgressBar& bar) {
  const fs::path folder = fs::path(options.out) / kBaseline, log = fs::path(options.out) / kProfileLog;
  observe::ProgramStart start;
  start.command = {"/proc/self/exe", "profile", "--then", "stop", "--out", folder.string(), "--"};
  start.command[0] = fs::read_symlink("/proc/self/exe").string();
  start.command.insert(start.command.end(), options.command.begin(), options.command.end());
  start.blocked_signals = requests_to_end();
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (output.value < 0) return invalid(fmt::format("{}: cannot be written", log.string()));
  start.standard_output = start.standard_error = output.value;
  auto profile = observe::Program::start(start);
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
        "nothing was tried: the unchanged program (exit status {}) was not explained: {}; {} holds "
        "all that was said",
        *profile->exit_status(), last_of_hone(log), log.string()));
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

using Json = nlohmann::ordered_json;

Json to_json(const lab::PairedRuns& runs) {
  if (runs.before_ms.empty()) return nullptr;
  return {{"before_ms", runs.before_ms},
          {"after_ms", runs.after_ms},
          {"speedup", runs.speedup()},
          {"least_speedup", runs.least_speedup()},
          {"most_speedup", runs.most_speedup()}};
}

Json to_json(const lab::SameNumbers& numbers) {
  if (numbers.steps == 0) return nullptr;
  return {{"same", numbers.same},
          {"difference", numbers.difference},
          {"allowed", numbers.allowed},
          {"steps", numbers.steps}};
}

Json to_json(const lab::TriedChange& tried) {
  return {{"change", tried.candidate.change->name},
          {"title", tried.candidate.change->title},
          {"because", tried.candidate.because},
          {"predicted_gain_ms", tried.candidate.predicted_gain_ms},
          {"outcome", outcome_mark(tried.outcome)},
          {"why", tried.why},
          {"did", tried.text},
          {"gain_ms", tried.runs.before_ms.empty() ? Json(nullptr) : Json(tried.gain_ms)},
          {"runs", to_json(tried.runs)},
          {"numbers", to_json(tried.numbers)}};
}

// Times in milliseconds; docs/lab-on-your-program.md says what is measured.
std::string result_json(const LabProgramOptions& options, const lab::ProgramExperiment& result,
                        const std::string& diff) {
  Json changes = Json::array();
  for (const lab::TriedChange& tried : result.changes) changes.push_back(to_json(tried));
  const Json json = {{"schema", 1},
                     {"command", options.command},
                     {"step_ms", result.baseline_ms},
                     {"noise", result.noise},
                     {"changes", changes},
                     {"together", to_json(result.together)},
                     {"numbers", to_json(result.numbers)},
                     {"diff", diff},
                     {"why_nothing", result.why_nothing},
                     {"interrupted", result.interrupted},
                     {"seconds", result.seconds}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
  const std::string json = result_json(options, result, diff);
  HONE_CHECK(write_file(out / kResult, json));
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, json));
  print_result(result, diff, out);
  if (result.interrupted) program.exit_code = interrupted_status();
  return {};
}

}  // namespace hone::apps
