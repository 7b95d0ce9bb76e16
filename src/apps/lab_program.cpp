#include "apps/lab_program.h"

#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apps/trace_source.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "lab/program/describe.h"
#include "lab/program/experiment.h"
#include "observe/session/program.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/write.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBaseline = "baseline";
constexpr const char* kRuns = "runs";
constexpr const char* kProfileLog = "profile.log";

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

}  // namespace

Status run_lab_program(const LabProgramOptions& options, Program& program) {
  const fs::path out(options.out);
  HONE_CHECK(check_out(out));
  HONE_CHECK(lab::with_asked_for({}, options.tried));  // before the work
  HONE_CHECK(make_folder(out / kRuns));
  ProgressBar bar("hone lab");
  const int64_t start = now_ns();
  HONE_ASSIGN(const analyze::Analysis baseline, profile_baseline(options, bar));
  HONE_ASSIGN(const auto candidates, lab::with_asked_for(lab::candidates(baseline), options.tried));
  lab::TrialOptions trial;
  trial.command = options.command;
  HONE_ASSIGN(trial.recorder, observe::find_recorder_files());
  trial.blocked_signals = requests_to_end();
  trial.seed = options.seed;
  lab::ProgramExperimentOptions experiment;
  experiment.budget_s = std::max(0.0, options.budget_s - static_cast<double>(now_ns() - start) * 1e-9);
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  trial.keep_going = [] { return !interrupted(); };
  int runs = 0;
  const lab::RunTrial run = [&](const lab::TrialRequest& request) {
    trial.folder = out / kRuns / fmt::format("{:03}", ++runs);
    trial.changes = request.changes;
    trial.switched = request.switched;
    trial.enough = request.enough;
    trial.worth_measuring = request.worth_measuring;
    trial.patience_s = request.patience_s;
    return lab::run_trial(trial);
  };
  HONE_ASSIGN(const lab::ProgramExperiment result, lab::run_program_experiment(candidates, run, experiment));
  bar.finish();
  HONE_ASSIGN(analyze::ProgramReport report, lab::describe(result, baseline, options.command));
  report.budget_s = options.budget_s;
  report.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  if (const fs::path page = out / kBaseline / "explain.html"; fs::exists(page))
    report.baseline_page = fs::relative(page, out).string();
  HONE_ASSIGN(const fs::path page, report::write_program_report(out, report));
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::program_json(report)));
  fmt::print("{}", report::program_terminal(report, report::terminal_style(STDOUT_FILENO)));
  fmt::print("\nreport    {}\n", page.string());
  if (!report.diff.empty()) fmt::print("patch     {}\n", (out / "changes.diff").string());
  if (result.interrupted) program.exit_code = interrupted_status();
  return {};
}

}  // namespace hone::apps
