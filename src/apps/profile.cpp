// hone profile: runs a program, records some of its steps while others are left alone, and explains them.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "analyze/hot_lines.h"
#include "apps/command.h"
#include "apps/group_witness.h"
#include "apps/new_folder.h"
#include "apps/trace_source.h"
#include "core/file.h"
#include "core/version.h"
#include "lab/ceilings/cache.h"
#include "observe/session/kernel_times.h"
#include "observe/session/onednn_stream.h"
#include "observe/session/session.h"
#include "observe/session/source_text.h"
#include "report/hot_lines.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/write.h"
#include "trace/blocks.h"
#include "trace/import/segments/host_alone.h"
#include "trace/link/frames.h"
#include "trace/run_folder.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;
using trace::segments::Mode;

constexpr const char* kHotLines = "hot_lines.txt";  // of a run folder
constexpr const char* kOneDnnLog = "onednn.log";    // of a run folder
constexpr const char* kGoOn = "go-on";
constexpr const char* kStop = "stop";
constexpr const char* kAuto = "auto";
constexpr const char* kOn = "on";
constexpr const char* kOff = "off";
constexpr int kSignalled = 128;  // and the signal: the status of what one ended

struct ProfileOptions {
  std::vector<std::string> command;
  std::string out, json, roofs, kernel, then = kGoOn;
  int steps = 20, top = 5;
  double wait_s = 3;
  bool python_stacks = false, onednn = false;
  std::string counters = kAuto, stacks = kAuto, sampling = kAuto, hot_lines = kOff;
  uint64_t seed = 0;  // 0: another one each time
};

// The run folder, and whether it is ours to take away again.
struct OutFolder {
  fs::path path;
  bool made = false;
};

// An empty folder that files can be written into; made where it is not there.
Result<OutFolder> make_out(const ProfileOptions& options) {
  const fs::path folder = options.out.empty() ? new_folder_name("hone-profile") : fs::path(options.out);
  std::error_code failed;
  const bool there = fs::exists(folder, failed);
  HONE_CHECK(check_holds_nothing(folder));
  Status status = check_out(folder);
  if (status.ok()) status = make_folder(folder);
  if (!status.ok())
    return options.out.empty()
               ? Error{status.error().code, status.error().message + "; name another folder with --out"}
               : status.error();
  return OutFolder{folder, !there};
}

// Of a session that recorded nothing: an empty folder can be used again.
void remove_unused(const OutFolder& folder, bool has_report = false) {
  std::error_code ignored;
  for (const char* name : {observe::kControlFile, trace::segments::kFolder, observe::kCountersFolder,
                           observe::kUnrecordedFolder})
    fs::remove_all(folder.path / name, ignored);
  if (!has_report) fs::remove(folder.path / trace::kRunFile, ignored);
  if (folder.made) fs::remove(folder.path, ignored);
}

std::string mode_name(Mode mode) {
  switch (mode) {
    case Mode::kWaiting:
      return "waiting";
    case Mode::kLeftAlone:
      return std::string(block_mode_name(trace::BlockMode::kLeftAlone));
    case Mode::kTimeline:
      return std::string(block_mode_name(trace::BlockMode::kTimeline));
    case Mode::kOperators:
      return std::string(block_mode_name(trace::BlockMode::kOperators));
    case Mode::kStacks:
      return std::string(block_mode_name(trace::BlockMode::kStacks));
    case Mode::kCounters:
      return std::string(block_mode_name(trace::BlockMode::kCounters));
    case Mode::kSampling:
      return std::string(block_mode_name(trace::BlockMode::kSampling));
    case Mode::kFinished:
      return "finished";
  }
  return "";
}

trace::ObservedRun observed_run(const observe::Recorded& recorded) {
  trace::ObservedRun run;
  for (const observe::OrderedBlock& block : recorded.blocks)
    run.blocks.push_back({block.number, mode_name(block.mode),
                          static_cast<double>(block.start_ns - recorded.start_ns) * 1e-9,
                          static_cast<double>(block.end_ns - block.start_ns) * 1e-9});
  run.seed = recorded.seed;
  run.complete = recorded.complete;
  run.processes = recorded.processes;
  return run;
}

// What a shell would exit with, if it is the program that is at fault.
Status not_started(const Error& error, int& exit_code) {
  if (error.code == ErrorCode::kNotFound)
    exit_code = observe::Program::kNotFoundStatus;
  else if (error.code == ErrorCode::kInvalidArgument)
    exit_code = observe::Program::kNotExecutableStatus;
  else
    return error;
  say(fmt::format("hone: {}\n", report::clean_utf8(error.message)));
  return {};
}

// Requests to end for the program, also those that come before it is there. What is sent to the process group, as a terminal
// and timeout(1) do, reaches it by itself.
class Requests {
 public:
  Requests() : witness_(requests_to_end()) {
    pass_requests_to([this](const Request& request) {
      any_ = true;
      const bool to_group = witness_.saw(request.signal) || request.from_terminal;
      const std::lock_guard lock(lock_);
      if (to_group) return;  // the program has it, if it is there yet
      session_ != nullptr ? session_->send(request.signal) : early_.push_back(request.signal);
    });
  }
  ~Requests() { pass_requests_to({}); }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  bool any() const { return any_; }

  void are_for(observe::Session& session) {
    const std::lock_guard lock(lock_);
    session_ = &session;
    for (const int signal : early_) session.send(signal);
  }

 private:
  GroupWitness witness_;
  std::atomic<bool> any_ = false;
  std::mutex lock_;
  observe::Session* session_ = nullptr;
  std::vector<int> early_;
};

// Everything that can be counted, of all launches that are alike and more of each: somebody works on these kernels.
Status study_kernels(const ProfileOptions& options, observe::CountingOptions& counters) {
  constexpr int kKernels = 30, kInstances = 5;
  if (options.counters == kOff)
    return usage_error("--kernel: needs counters, and --counters off leaves them out");
  if (const auto choice = observe::choose_kernels({}, options.kernel, 0); !choice.ok())
    return usage_error("--kernel: " + choice.error().message);
  counters.pattern = options.kernel;
  counters.set = trace::CounterSet::kFull;
  counters.kernels = kKernels;
  counters.instances = kInstances;
  counters.lines = options.hot_lines == kOn;
  return {};
}

// One observed run from the program's start to what is said at its end.
class ProfileRun {
 public:
  ProfileRun(const ProfileOptions& options, std::string line) : options_(options), line_(std::move(line)) {}

  Status run(int& exit_code);

 private:
  Result<observe::SessionOptions> prepare();
  Status divide_output(observe::SessionOptions& session_options);
  std::string recorded_path() const;
  std::string early_end() const;
  std::string shorter_wait() const;
  double seconds() const { return static_cast<double>(recorded_.end_ns - recorded_.start_ns) * 1e-9; }
  Roofs roofs_for(const trace::Trace& trace);
  Status explain();
  bool tell_hot_lines();
  Status explain_safely();
  void explain_or_say();
  bool recorded_blocks() const;
  void finish();
  std::string program() const { return report::clean_utf8(options_.command[0]); }
  // Beside what the program says itself, on stderr: its standard output is its own.
  static void tell(const std::string& text) { say("hone: " + text + "\n"); }

  const ProfileOptions& options_;
  std::string line_;
  OutFolder folder_;
  fs::path page_;
  Roofs roofs_;
  observe::Recorded recorded_;
  std::unique_ptr<observe::OneDnnStream> onednn_;
  trace::RunInfo info_;
  std::optional<analyze::Analysis> analysis_;
  bool has_hot_lines_ = false;
  bool asked_to_end_ = false;  // by somebody else, through us or at the same time
  bool tried_ = false;         // to explain what is complete
  bool program_ended_ = false;
  int program_status_ = 0;    // once it has ended
  bool lacks_roofs_ = false;  // the report is of a program on the CPU, and was written without them
};

// Of a program on the CPU, by what this machine can do: as it was measured before, or is measured now if nothing is in the
// way. None: the report says what is missing.
Roofs ProfileRun::roofs_for(const trace::Trace& trace) {
  if (!options_.roofs.empty() || trace.meta.device != "cpu") return roofs_;
  const lab::Machine machine = lab::describe_machine();
  if (const auto known = lab::CeilingsCache({}, machine, machine.cores).read(); known.ok())
    return known->roofs;
  lacks_roofs_ = !program_ended_;
  if (lacks_roofs_) return roofs_;
  tell("measuring what this machine can do, once; it takes two seconds");
  lab::CeilingsOptions quickly;
  quickly.quick = true;
  const auto measured = lab::load_or_measure_ceilings(machine, quickly);
  return measured.ok() ? measured->roofs : roofs_;
}

bool ProfileRun::recorded_blocks() const {
  return std::any_of(recorded_.blocks.begin(), recorded_.blocks.end(),
                     [](const observe::OrderedBlock& block) { return block.mode != Mode::kLeftAlone; });
}

// What there is to explain: what oneDNN said, where no recorder recorded anything.
std::string ProfileRun::recorded_path() const {
  const fs::path log = folder_.path / kOneDnnLog;
  std::error_code failed;
  return !recorded_blocks() && fs::exists(log, failed) ? log.string() : folder_.path.string();
}

// How the program ended, where it did before all was recorded that was wanted, and what is missing for that; else empty.
std::string ProfileRun::early_end() const {
  if (recorded_.complete || !program_ended_) return {};
  std::string how = fmt::format("with exit status {}", program_status_);
  if (program_status_ > kSignalled && program_status_ < kSignalled + NSIG)
    if (const char* name = sigabbrev_np(program_status_ - kSignalled); name != nullptr)
      how = fmt::format("by SIG{}", name);
  std::string missing;
  const auto look_for = [&](Mode mode, std::string_view what) {
    if (std::ranges::any_of(recorded_.blocks, [&](const auto& block) { return block.mode == mode; })) return;
    missing += fmt::format("{}{}", missing.empty() ? "; it lacks " : ", ", what);
  };
  look_for(Mode::kOperators, "operators");
  if (options_.stacks != kOff) look_for(Mode::kStacks, "stacks of the host");
  if (recorded_.any_device && (options_.counters == kAuto || !options_.kernel.empty()))
    look_for(Mode::kCounters, "hardware counters");
  return fmt::format("the program ended {}, {:.1f} s after its start and before recording was complete{}",
                     how, seconds(), missing);
}

// ", or wait less (--wait 0.3)", where that may help.
std::string ProfileRun::shorter_wait() const {
  constexpr double kShare = 0.1, kUseful = 0.05;  // of the program's time
  const double wait_s = std::max(kUseful, kShare * seconds());
  return wait_s < options_.wait_s ? fmt::format(", or wait less (--wait {:.1g})", wait_s) : "";
}

// What was recorded so far becomes the run folder's trace and report.
Status ProfileRun::explain() {
  const Progress progress = [](double, const std::string&) { return !interrupted(); };
  HONE_ASSIGN(Recording recording, read_recording({recorded_path()}, progress));
  observe::read_source_lines(recording.trace);
  std::vector<std::string>& warnings = recording.trace.meta.warnings;
  if (std::string early = early_end(); !early.empty()) warnings.insert(warnings.begin(), std::move(early));
  warnings.insert(warnings.end(), recorded_.not_counted.begin(), recorded_.not_counted.end());
  const Roofs roofs = roofs_for(recording.trace);
  HONE_ASSIGN(analyze::Analysis analysis, analyse_recording(recording, roofs, options_.top));
  if (!roofs.compute.empty() || !roofs.memory.empty()) recording.roofs = roofs;
  info_ = run_info("profile", line_, recording, analysis);
  info_.observed = observed_run(recorded_);
  HONE_CHECK(trace::write_run_folder(folder_.path, info_, recording.trace));
  HONE_ASSIGN(page_, report::write_explanation(folder_.path, analysis, recording.roofs));
  if (!options_.json.empty()) HONE_CHECK(write_file(options_.json, report::explain_json(analysis)));
  analysis_ = std::move(analysis);
  return {};
}

// Of a program that no recorder was in, its threads were looked at from outside. False: they were not, or there is nothing.
bool ProfileRun::tell_hot_lines() {
  if (recorded_.unrecorded.empty()) return false;
  const Result<std::string> bytes = read_file(recorded_.unrecorded);
  if (!bytes.ok()) return false;
  Result<trace::Trace> trace = trace::segments::read_host_alone(*bytes);
  if (!trace.ok()) return false;
  trace::link::recognise_frames(*trace);
  const std::string text = fmt::format(
      "No process of '{}' used a device or PyTorch: it has no steps that hone knows, and no ledger.\n{}",
      program(), report::hot_lines_text(analyze::hot_lines(*trace)));
  const fs::path file = folder_.path / kHotLines;
  if (const Status written = write_file(file, text); !written.ok())
    tell(report::clean_utf8(written.error().message));
  if (!is_silenced()) say(fmt::format("{}report    {}\n", text, file.string()));
  return has_hot_lines_ = true;
}

// Whatever goes wrong: the program has to be waited for, and its status to be handed on.
Status ProfileRun::explain_safely() {
  try {
    return explain();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kIo, "there is not enough memory for it"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, fmt::format("internal error (please report it): {}", error.what())};
  }
}

void ProfileRun::explain_or_say() {
  if (std::exchange(tried_, true)) return;
  if (recorded_.processes == 0 && recorded_path() == folder_.path.string()) {
    if (tell_hot_lines()) return;
    tell(fmt::format("nothing was recorded: no process of '{}' used a device or PyTorch", program()));
    return;
  }
  const Status status = explain_safely();
  if (status.ok()) return;
  if (!recorded_blocks())
    tell(
        fmt::format("nothing was recorded: '{}' {} {:.1f} s after its start, before it was known what its "
                    "steps are, or before its first recorded step{}",
                    program(), asked_to_end_ ? "was asked to end, and ended" : "ended", seconds(),
                    asked_to_end_ ? "" : "; let it run longer" + shorter_wait()));
  else
    tell("not explained: " + report::clean_utf8(status.error().message));
  for (const std::string& note : recorded_.notes_of_program) tell(report::clean_utf8(note));
  if (recorded_.marked_step_ns > 0)
    tell(fmt::format("a step took {:.3g} ms by the program's own marks",
                     static_cast<double>(recorded_.marked_step_ns) * 1e-6));
}

// What is said once the program has ended.
void ProfileRun::finish() {
  if (!analysis_ && !recorded_blocks()) remove_unused(folder_, has_hot_lines_);
  if (!analysis_) return;
  info_.observed->exit_code = program_status_;
  if (const Status status = trace::write_run_info(folder_.path, info_); !status.ok())
    tell(report::clean_utf8(status.error().message));
  // All that they hold is in the trace now.
  std::error_code ignored;
  for (const char* name : {trace::segments::kFolder, observe::kControlFile, observe::kCountersFolder,
                           observe::kSamplingFolder, observe::kUnrecordedFolder})
    fs::remove_all(folder_.path / name, ignored);
  if (is_silenced()) return;
  say(report::explain_terminal(*analysis_, report::terminal_style(STDERR_FILENO)));
  say(fmt::format("\nreport    {}\ntrace     {} (opens in ui.perfetto.dev)\n", page_.string(),
                  (folder_.path / trace::kTraceFile).string()));
}

// All that can fail before the program runs, so that nobody waits for a report that cannot be written.
Result<observe::SessionOptions> ProfileRun::prepare() {
  constexpr double kLongestWait_s = 24 * 3600;
  if (!(options_.wait_s <= kLongestWait_s))  // nor is it when it is no number
    return usage_error(
        fmt::format("--wait {}: not between 0 and {:.0f} seconds", options_.wait_s, kLongestWait_s));
  if (options_.hot_lines == kOn && options_.kernel.empty())
    return usage_error("--hot-lines on: needs --kernel, which names the kernels to sample");
  observe::SessionOptions session_options;
  HONE_ASSIGN(session_options.recorder, observe::find_recorder_files());
  if (!options_.roofs.empty()) {
    HONE_ASSIGN(roofs_, read_roofs(options_.roofs));
  }
  session_options.counters.wanted = options_.counters == kAuto;
  session_options.counters.kernels = options_.top;
  if (!options_.kernel.empty()) HONE_CHECK(study_kernels(options_, session_options.counters));
  session_options.sampling =
      options_.sampling == kAuto && session_options.counters.wanted && options_.kernel.empty();
  HONE_ASSIGN(folder_, make_out(options_));
  session_options.folder = folder_.path;
  session_options.command = options_.command;
  session_options.standard_output = original_output();
  session_options.blocked_signals = requests_to_end();
  session_options.steps = options_.steps;
  session_options.python_stacks = options_.python_stacks;
  session_options.stacks = options_.stacks != kOff;
  session_options.wait_s = options_.wait_s;
  session_options.seed = options_.seed != 0 ? options_.seed : std::random_device()();
  // For whoever explains the segments of a session that was killed.
  trace::RunInfo info;
  info.what = "profile";
  info.command = line_;
  info.when = trace::timestamp_now();
  info.versions = {{"hone", std::string(kVersion)}};
  if (const Status written = trace::write_run_info(folder_.path, info); !written.ok()) {
    remove_unused(folder_);
    return written.error();
  }
  return session_options;
}

// oneDNN has no other place for what it says than the program's standard output.
Status ProfileRun::divide_output(observe::SessionOptions& session_options) {
  if (!options_.onednn) return {};
  HONE_ASSIGN(onednn_, observe::OneDnnStream::open(original_output(), folder_.path / kOneDnnLog));
  session_options.standard_output = onednn_->program_end();
  session_options.environment = observe::OneDnnStream::environment();
  return {};
}

Status ProfileRun::run(int& exit_code) {
  HONE_ASSIGN(observe::SessionOptions session_options, prepare());
  HONE_CHECK(divide_output(session_options));
  std::optional<Requests> requests(std::in_place);
  Result<observe::Session> started = observe::Session::start(std::move(session_options));
  if (!started.ok()) {
    remove_unused(folder_);
    return not_started(started.error(), exit_code);
  }
  std::signal(SIGPIPE,
              SIG_IGN);  // whoever reads our lines may go; the program has its own, as it would be without us
  if (onednn_) onednn_->program_has_started();
  observe::Session& session = *started;
  requests->are_for(session);
  if (!is_silenced())
    tell(fmt::format("observing '{}'; the run folder is {}", program(), folder_.path.string()));
  recorded_ = session.record();
  const bool goes_on = !session.exit_status();
  if (recorded_.complete && goes_on) {
    explain_or_say();
    if (options_.then == kStop)
      session.end_program();
    else if (analysis_ && !session.exit_status() && !is_silenced())
      tell(fmt::format("recorded; the report is {}; '{}' goes on", page_.string(), program()));
  }
  program_status_ = session.wait();
  asked_to_end_ = requests->any();
  requests.reset();
  if (onednn_) onednn_->finish();
  program_ended_ = true;
  if (std::exchange(lacks_roofs_, false)) tried_ = false;
  explain_or_say();
  for (const std::string& note : recorded_.notes) tell(note);
  if (!options_.kernel.empty() && !recorded_.any_device)
    tell("--kernel: the program used no GPU, so no kernels were counted");
  finish();
  const bool ended_by_us = goes_on && options_.then == kStop;
  exit_code = ended_by_us ? (analysis_ ? 0 : 1) : program_status_;
  return {};
}

Status run_profile(const ProfileOptions& options, const std::string& line, int& exit_code) {
  ProfileRun run(options, line);
  return run.run(exit_code);
}

}  // namespace

void add_profile_command(Program& program) {
  auto options = std::make_shared<ProfileOptions>();
  Command command = program.add(
      "profile", "run a program, record some of its steps, and explain them",
      [options, &program] { return run_profile(*options, program.command_line, program.exit_code); });
  command
      .positional("PROGRAM", &options->command,
                  "the program and its arguments, as you would start it; options after its name are its own, "
                  "hone's stand before it")
      .required()
      .takes_the_rest();
  command
      .option("--steps N", &options->steps, "steps to record in all; as many again are timed and left alone")
      .positive()
      .with_default();
  command.option(
      "--out DIR", &options->out,
      "the run folder: the report (HTML, Markdown, JSON) and the trace for ui.perfetto.dev; new or empty. "
      "Without it, hone-profile-<date>-<time> here");
  command
      .option(
          "--stacks auto|off", &options->stacks,
          "sample the stacks of the program's threads from outside, for some more steps: which lines it is "
          "at while the device waits")
      .one_of({kAuto, kOff})
      .with_default();
  command.flag("--python-stacks", &options->python_stacks,
               "have Python sample the stacks of its threads from inside, too");
  command.flag(
      "--onednn", &options->onednn,
      "take what oneDNN says of the primitives that it runs (ONEDNN_VERBOSE) out of the program's standard "
      "output, which is a pipe then: the report of programs on OpenVINO and others without PyTorch is made "
      "of it");
  command
      .option("--counters auto|off", &options->counters,
              "once steps are recorded: measure hardware counters of a few launches of the kernels that take "
              "most time (as many as --top names), which run several times for it; --kernel needs it")
      .one_of({kAuto, kOff})
      .with_default();
  command
      .option(
          "--sampling auto|off", &options->sampling,
          "once steps are recorded: sample hardware counters of the whole device over a second of steps, for "
          "counter tracks in the trace and measured numbers to steer by")
      .one_of({kAuto, kOff})
      .with_default();
  command.option("--kernel REGEX", &options->kernel,
                 "study the kernels whose names match: all counters, five launches of each geometry; hone "
                 "compare of two such runs shows what an edit changed");
  command
      .option(
          "--hot-lines on|off", &options->hot_lines,
          "with --kernel: sample the instructions that their warps wait at, and name the source lines. Off "
          "where it is not said: on the one H100 where it was tried it found none")
      .one_of({kOn, kOff})
      .with_default();
  command
      .option("--then go-on|stop", &options->then,
              "once enough is recorded: leave the program to itself, or end it (SIGTERM)")
      .one_of({kGoOn, kStop})
      .with_default();
  command
      .option("--wait SECONDS", &options->wait_s,
              "the least time from the first step, or from the first use of a device, to the first recorded "
              "step; "
              "recording waits longer until steps take equally long")
      .not_negative()
      .with_default();
  command.option("--seed N", &options->seed,
                 "repeat the random order of recorded and other steps of another run");
  command.option(
      "--roofs FILE", &options->roofs,
      "judge by these roofs (as hone ceilings --json writes them), not by what hone knows of the device");
  command.option("--top N", &options->top, "operators and kernels to name, and kernels to count")
      .positive()
      .with_default();
  command.option("--json FILE", &options->json, "write explain.json here, too").written();
  command.footer(
      "The program runs as if it had been started by itself: its input and output are its own, and what hone "
      "says "
      "goes to standard error. Recording ends after some 40 steps; the report is written then, while the "
      "program "
      "goes on with nothing recorded, so that a long training need not be cut short. Ctrl-C ends the "
      "program, and what "
      "was "
      "recorded until then is explained.\n"
      "Exit status: that of the program, 128 + the signal where one ended it, whatever was recorded; 127 "
      "there is "
      "no such program, 126 it cannot be started, 1 the run folder cannot be made, 2 the command line is "
      "wrong. "
      "With --then stop, where hone ended the program: 0 explained, 1 not explained.");
}

}  // namespace hone::apps
