#include "apps/lab_program.h"

#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/lab_baseline.h"
#include "apps/new_folder.h"
#include "apps/trace_source.h"
#include "core/clock.h"
#include "core/file.h"
#include "lab/program/describe.h"
#include "lab/program/experiment.h"
#include "observe/session/timed_run.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/write.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastBaseline_s = 20;

// The page, lab.json, and the file that was asked for.
Result<fs::path> write_reports(const LabProgramOptions& options, const analyze::ProgramReport& report) {
  HONE_ASSIGN(fs::path page, report::write_program_report(options.out, report));
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::program_json(report)));
  return page;
}

void say_why_nothing(const std::string& why) { say(fmt::format("hone: nothing was tried: {}\n", why)); }

// The unchanged program and what was found without any run of ours: `hone lab` says why in one line, and ends as the program did.
Status end_without_baseline(const LabProgramOptions& options, const LabBaseline& baseline, Program& program) {
  analyze::ProgramReport report;
  report.command = options.command;
  report.why_nothing = baseline.why_none;
  report.budget_s = options.budget_s;
  report.interrupted = interrupted();
  HONE_CHECK(write_reports(options, report));
  say_why_nothing(baseline.why_none);
  program.exit_code = interrupted() ? interrupted_status() : baseline.exit_status;
  return {};
}

}  // namespace

Status run_lab_program(const LabProgramOptions& options, Program& program) {
  const fs::path out(options.out);
  HONE_CHECK(check_holds_nothing(out));
  HONE_CHECK(check_out(out));
  HONE_CHECK(lab::with_asked_for({}, options.tried));  // before the work
  HONE_CHECK(make_folder(out / kLabRuns));
  ProgressBar bar("hone lab");
  const int64_t start = now_ns();
  const auto since_start = [&] { return static_cast<double>(now_ns() - start) * 1e-9; };
  HONE_ASSIGN(const LabBaseline observed,
              observe_baseline(options, std::max(kLeastBaseline_s, options.budget_s / 2), bar));
  if (!observed.analysis) return end_without_baseline(options, observed, program);
  const analyze::Analysis& baseline = *observed.analysis;
  const double baseline_s = since_start();
  HONE_ASSIGN(const auto candidates, lab::with_asked_for(lab::candidates(baseline), options.tried));
  lab::TrialOptions trial;
  trial.command = options.command;
  HONE_ASSIGN(trial.recorder, observe::find_recorder_files());
  trial.blocked_signals = requests_to_end();
  trial.seed = options.seed;
  trial.expected_step_ms = baseline.step.ms.median;
  if (baseline.loading) trial.epoch_steps = baseline.loading->steps_of_epoch();
  lab::ProgramExperimentOptions experiment;
  experiment.budget_s = std::max(0.0, options.budget_s - baseline_s);
  experiment.observed = observed.computed;
  experiment.baseline_s = baseline_s;
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  experiment.convolves = lab::may_convolve(baseline);
  experiment.on_device = baseline.device != "cpu";
  trial.keep_going = [] { return !interrupted(); };
  int runs = 0;
  const lab::RunTrial run = [&](const lab::TrialRequest& request) {
    trial.folder = out / kLabRuns / fmt::format("{:03}", ++runs);
    trial.changes = request.changes;
    trial.switched = request.switched;
    trial.processes = request.processes;
    trial.direct = request.direct;
    trial.worth_measuring = request.worth_measuring;
    trial.patience_s = request.patience_s;
    trial.marks_within_s = request.marks_within_s;
    return lab::run_trial(trial);
  };
  HONE_ASSIGN(const lab::ProgramExperiment result, lab::run_program_experiment(candidates, run, experiment));
  bar.finish();
  HONE_ASSIGN(analyze::ProgramReport report, lab::describe(result, baseline, options.command));
  report.budget_s = options.budget_s;
  report.seconds = since_start();
  report.baseline_s = baseline_s;
  if (!result.why_nothing.empty() && runs > 0)
    report.notes.push_back(
        fmt::format("what the program said: {}", (trial.folder / observe::kOutputLog).string()));
  if (const fs::path page = out / kLabBaseline / "explain.html"; fs::exists(page))
    report.baseline_page = fs::relative(page, out).string();
  if (!report.diff.empty()) report.patch_file = fs::absolute(out / report::kPatchFile).string();
  HONE_ASSIGN(const fs::path page, write_reports(options, report));
  fmt::print("{}", report::program_terminal(report, report::terminal_style(STDOUT_FILENO)));
  fmt::print("\nreport    {}\n", page.string());
  if (!report.diff.empty()) fmt::print("patch     {}\n", (out / report::kPatchFile).string());
  if (result.interrupted)
    program.exit_code = interrupted_status();
  else if (!result.why_nothing.empty())
    program.exit_code = result.failed_with;
  if (!result.why_nothing.empty()) say_why_nothing(result.why_nothing);
  return {};
}

}  // namespace hone::apps
