#include "apps/lab_shared.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/signals.h"
#include "core/file.h"
#include "lab/ceilings/device_ceilings.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/write.h"
#include "trace/run_folder.h"

namespace hone::apps {
namespace {

// What ran, in each of the two run folders: DIR/baseline and DIR/optimised.
Status write_run(const std::filesystem::path& folder, const analyze::LabReport& report,
                 const trace::Trace& trace) {
  trace::RunInfo info;
  info.what = "lab";
  info.command = report.reproduce.command;
  info.when = report.environment.when;
  info.machine = report.environment.machine;
  info.device = report.environment.device;
  info.model = report.model.path;
  info.threads = report.environment.threads;
  info.versions = report.environment.libraries;
  info.versions.insert(info.versions.begin(), {"hone", report.environment.hone_version});
  info.roofs = report.roofs;
  return trace::write_run_folder(folder, info, trace);
}

// Of the one EmptyFolderRemover, where a program that is ended in the midst of its work finds it.
std::array<char, 4096> empty_folder = {};
void remove_empty_folder() { (void)::rmdir(empty_folder.data()); }

}  // namespace

Result<lab::Ceilings> find_ceilings(const std::string& device, const lab::Machine& machine,
                                    ProgressBar& bar) {
  lab::CeilingsOptions measure;
  measure.quick = true;
  measure.progress = [&](double done) {
    bar.update(0, fmt::format("measuring roofs of {} ({:.0f} %)", device, done * 100));
    return !interrupted();
  };
  return lab::load_or_measure_ceilings_of(device, machine, measure);
}

void describe_ceilings(const lab::Ceilings& ceilings, double seconds, analyze::LabReport& report) {
  report.roofs_origin = lab::origin_of(ceilings);
  for (const std::string& note : ceilings.notes) report.warnings.push_back("roofs: " + note);
  report.phases.insert(report.phases.begin(), analyze::PhaseTime{"roofs", seconds});
}

std::optional<lab::CountPlanOptions> counting_of(const std::string& device,
                                                 const std::filesystem::path& out) {
  if (device != "cuda") return std::nullopt;
  lab::CountPlanOptions counting;
  std::error_code unknown;
  counting.program = {std::filesystem::read_symlink("/proc/self/exe", unknown).string()};
  if (auto recorder = observe::find_recorder_files(); recorder.ok())
    counting.recorder = *std::move(recorder);
  else
    counting.why_not = recorder.error().message;
  counting.folder = out / fmt::format(".counting-{}", ::getpid());
  counting.blocked_signals = requests_to_end();
  return counting;
}

Status write_experiment(const std::filesystem::path& out, const std::string& json,
                        const lab::Experiment& experiment) {
  HONE_ASSIGN(const std::filesystem::path page, report::write_lab_report(out, experiment.report));
  if (!json.empty()) HONE_CHECK(write_file(json, report::lab_json(experiment.report)));
  HONE_CHECK(write_run(out / "baseline", experiment.report, experiment.baseline_trace));
  if (experiment.report.interrupted.empty())
    HONE_CHECK(write_run(out / "optimised", experiment.report, experiment.optimised_trace));
  fmt::print("{}", report::lab_terminal(experiment.report, report::terminal_style(STDOUT_FILENO)));
  fmt::print("\nreport    {}\n", page.string());
  return {};
}

// What --budget promised and was not kept; empty where it was, roughly.
std::string over_budget(const analyze::LabReport& report, double budget_s) {
  constexpr double kRoughly = 1.5;
  double seconds = 0;
  for (const analyze::PhaseTime& phase : report.phases) seconds += phase.seconds;
  if (seconds <= kRoughly * budget_s) return "";
  return fmt::format(
      "the experiment took {:.0f} s, past its --budget of {:g} s: choosing kernels, roofs and the fewest "
      "runs that "
      "can tell anything take what they take",
      seconds, budget_s);
}

EmptyFolderRemover::EmptyFolderRemover(std::filesystem::path folder)
    : folder_(std::move(folder)), was_there_(std::filesystem::exists(folder_)) {
  const std::string& name = folder_.native();
  if (was_there_ || name.size() >= empty_folder.size()) return;
  std::copy(name.begin(), name.end(), empty_folder.begin());
  set_last_act(remove_empty_folder);
}

EmptyFolderRemover::~EmptyFolderRemover() {
  set_last_act(nullptr);
  std::error_code not_empty;  // then it stays
  if (!was_there_) std::filesystem::remove(folder_, not_empty);
}

}  // namespace hone::apps
