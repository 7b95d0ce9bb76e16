#include "observe/session/session.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/file.h"
#include "observe/session/call_ids.h"
#include "observe/session/program_environment.h"
#include "observe/session/sampling.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
using trace::segments::Mode;

// How often the program's signals and its end are looked at while the session waits.
constexpr double kTick_s = 0.1;
// Recorders attach and let go in some 20 ms.
constexpr double kObeyPatience_s = 3;
// A block is at least so long, and holds what is left of the steps at its ends beside whole ones.
constexpr double kShortestBlock_s = 0.1;
constexpr double kPartialSteps = 1.5;
// Where nobody counts the steps of a block, it is made longer by so much, as recorded steps are.
constexpr double kUncounted = 1.5;
// A block waits for its steps at most so many times as long as they should take: recording slows them.
constexpr double kBlockPatience = 4;
// Where no mark tells how long a step is, pieces of the program are watched and recorded and looked at. Each is longer
// than the one before; after the last, blocks are of fixed length.
constexpr double kFirstLook_s = 1, kLookGrowth = 1.5;
constexpr double kLongestLook_s = 8;
// Looks that tell no step, though most of what they saw had been seen before: of a program that starts, nothing is recorded
// blindly. Patience is from the first use of a device.
constexpr int kMostLooks = 5;
constexpr double kLookPatience_s = 120;
constexpr double kBlindBlock_s = 0.5;
// How long the first mark is waited for of a program that has made modules, of which some never give any, or an optimizer;
// from that on, or from the first use of a device. In that time it loads its model, starts CUDA and compiles.
constexpr double kModulesPatience_s = 20, kTrainingPatience_s = 60;
// As a multiple of wait_s: of a program of which nothing is known but that it imports PyTorch.
constexpr double kHostPatience = 2;
// A profiler of the program's own is waited for so long in all.
constexpr double kLentPatience_s = 60;
// Marks that do not settle are taken as they are after this time, or so many steps.
constexpr double kSettlePatience_s = 30, kSettleSteps = 60;
// How many steps the recorder is given to find out what it has to record of this program, and to make its buffers.
constexpr double kFirstSteps = 2;

// While no process has the recorder.
constexpr double kWaitTurn_s = 0.02;
constexpr double kHostLook_s = 1, kHostLookEvery_s = 2;
constexpr int kMostHostLooks = 10;

// Recorders write what they have five times a second.
constexpr double kLastWrite_s = 0.3;

// Where kernels alone are wanted: how long the first one of them is waited for, and how long they are seen.
constexpr double kKernelPatience_s = 30, kSeenKernels_s = 1;

double seconds_since(int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

std::vector<std::pair<std::string, std::string>> environment_for(const SessionOptions& options) {
  std::vector<std::pair<std::string, std::string>> set =
      recorder_environment(options.folder, options.recorder);
  set.insert(set.end(), options.environment.begin(), options.environment.end());
  if (options.counters.lines) set.emplace_back(kLinesVariable, "1");
  return set;
}

// Where another tool had set what CUDA loads: it is hone's turn now.
std::vector<std::string> replaced_tools(const SessionOptions& options) {
  std::vector<std::string> notes;
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
    if (const char* there = std::getenv(variable);
        there != nullptr && *there != '\0' && !options.recorder.library.empty())
      notes.push_back(fmt::format("{} was {} and is hone's recorder in this run: there can be only one",
                                  variable, there));
  return notes;
}

}  // namespace

Result<Session> Session::start(SessionOptions options) {
  if (const auto choice = choose_kernels({}, options.counters.pattern, 0); !choice.ok())
    return choice.error();
  HONE_CHECK(make_folder(options.folder / trace::segments::kFolder));
  HONE_ASSIGN(ControlPage control, ControlPage::create(options.folder));
  HONE_ASSIGN(HostWatch host, HostWatch::create(options.folder / trace::segments::kFolder));
  HONE_ASSIGN(Program program,
              Program::start({options.command, environment_for(options), options.blocked_signals,
                              options.standard_output, options.standard_error}));
  host.watch(program.pid());
  return Session(std::move(options), std::move(control), std::move(program), std::move(host));
}

Session::Session(SessionOptions options, ControlPage control, Program program, HostWatch host)
    : options_(std::move(options)),
      control_(std::move(control)),
      program_(std::move(program)),
      host_(std::move(host)),
      tail_(options_.folder / trace::segments::kFolder),
      lent_patience_s_(kLentPatience_s) {
  recorded_.start_ns = now_ns();
  recorded_.notes = replaced_tools(options_);
}

void Session::read_new() {
  tail_.read([this](const SegmentRecord& record) {
    watch_.see(record);
    kernel_times_.see(record);
    if (record.at.kind() != trace::segments::Kind::kNote) return;
    std::vector<std::string>& notes = recorded_.notes_of_program;
    const auto note = record.at.as<trace::segments::Note>();
    std::string text(note ? tail_.name(record.pid, note->text) : std::string_view());
    if (!text.empty() && std::find(notes.begin(), notes.end(), text) == notes.end())
      notes.push_back(std::move(text));
  });
}

bool Session::pause(double seconds) {
  const int64_t start = now_ns();
  while (!options_.keep_going || options_.keep_going()) {
    const double left = seconds - seconds_since(start);
    if (!outlives(std::clamp(left, 0.0, kTick_s))) return false;
    if (left <= kTick_s) return true;
  }
  return false;
}

bool Session::outlives(double seconds) {
  const int64_t start = now_ns();
  while (!program_.exit_status()) {
    const double left = seconds - seconds_since(start);
    if (left <= 0) return true;
    program_.wait(std::min(left, kTick_s));
  }
  return false;
}

bool Session::order(Mode mode, uint32_t block) {
  Wanted wanted;
  wanted.mode = mode;
  wanted.block = block;
  wanted.python_stacks = mode == Mode::kStacks && (options_.python_stacks || !host_.can_read_python());
  if (mode == Mode::kLeftAlone || mode == Mode::kSampling) {
    const CallId once_a_step = call_id(recorded_.rhythm.call_a_step);
    wanted.mark_runtime_call = once_a_step.runtime;
    wanted.mark_driver_call = once_a_step.driver;
  }
  return order(wanted);
}

bool Session::order(Wanted wanted) {
  const uint32_t number = last_order_ = control_.order(wanted);
  const int64_t start = now_ns();
  while (true) {
    const std::vector<int> late = still_to_obey(control_.processes(), number, lagging_);
    if (late.empty()) return !exit_status();
    if (!pause(0.005)) return false;
    if (seconds_since(start) >= kObeyPatience_s) lagging_.insert(late.begin(), late.end());
  }
}

bool Session::run_block(Mode mode, double seconds) {
  const uint32_t number = next_block_++;
  if (!order(mode, number)) return false;
  host_.begin_block(number);
  if (mode == Mode::kStacks) host_.start_sampling();
  OrderedBlock block{number, mode, now_ns(), 0};
  const bool goes_on = pause(seconds);
  block.end_ns = now_ns();
  recorded_.blocks.push_back(block);
  return goes_on;
}

// Of the process by whose steps the session goes.
uint32_t Session::marks_given() const {
  for (const ProcessState& state : control_.processes())
    if (state.pid == recorded_.rhythm.pid) return state.marks;
  return 0;
}

double Session::block_seconds(double steps) const {
  const Rhythm& rhythm = recorded_.rhythm;
  if (!rhythm.known()) return kBlindBlock_s;
  const double longer = rhythm.marks_a_step > 0 ? 1 : kUncounted;
  return std::max(kShortestBlock_s,
                  longer * (steps + kPartialSteps) * static_cast<double>(rhythm.step_ns) * 1e-9);
}

// CUPTI is the program's own profiler's: what is recorded meanwhile would have no device work in it, and steps that are left
// alone would carry that profiler's cost. One that does not end is not waited for for ever.
bool Session::wait_for_lent_device() {
  const auto lent = [this] {
    const auto processes = control_.processes();
    return std::any_of(processes.begin(), processes.end(),
                       [](const ProcessState& state) { return state.there && state.device_is_lent(); });
  };
  if (!lent()) return true;
  if (!order(Mode::kWaiting, next_block_)) return false;
  constexpr double kTurn = 0.05;
  for (; lent() && lent_patience_s_ > 0; lent_patience_s_ -= kTurn)
    if (!pause(kTurn)) return false;
  return true;
}

bool Session::record_block(const PlannedBlock& block) {
  if (!wait_for_lent_device()) return false;
  PlannedBlock planned = block;
  // It has been taken from us since: operators are what is left to record.
  if (planned.mode == Mode::kTimeline && !any_device()) planned.mode = Mode::kOperators;
  const double seconds = std::max(planned.least_s, block_seconds(planned.steps));
  const Rhythm& rhythm = recorded_.rhythm;
  const uint32_t before = marks_given();
  if (!run_block(planned.mode, seconds)) return false;
  if (rhythm.marks_a_step == 0) return true;
  const double wanted = (planned.steps + 1) * rhythm.marks_a_step;
  const int64_t start = now_ns();
  bool goes_on = true;
  while (goes_on && static_cast<double>(marks_given() - before) < wanted &&
         seconds_since(start) < (kBlockPatience - 1) * seconds)
    goes_on = pause(std::clamp(0.2 * seconds, 0.005, 1.0));
  recorded_.blocks.back().end_ns = now_ns();
  return goes_on;
}

bool Session::run(const std::vector<PlannedBlock>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [this](const PlannedBlock& planned) {
    const std::size_t before = recorded_.blocks.size();
    const bool goes_on = record_block(planned);
    host_.stop_sampling();
    if (recorded_.blocks.size() > before) host_.end_block(recorded_.blocks.back().number);
    return goes_on;
  });
}

// Each process samples the devices that it has kernels on.
bool Session::sample_devices() {
  read_new();
  const auto devices = kernel_times_.devices();
  if (!options_.sampling || devices.empty()) return true;
  const int64_t interval_ns = sampling_interval_ns(recorded_.rhythm.step_ns);
  for (const auto& [pid, used] : devices) {
    const Status written = write_sampling_request(options_.folder, pid, sampling_request(used, interval_ns));
    if (!written.ok()) note("GPUs were not sampled: " + written.error().message);
  }
  return run({{Mode::kSampling, kSampledSteps, kSampledSeconds}});
}

// Of the kernels that took most of the recorded blocks. The process that counts is the busiest one: what others wait for it
// meanwhile is in no step that the report is about.
void Session::count_kernels() {
  const CountingOptions& options = options_.counters;
  read_new();
  const int pid = kernel_times_.busiest();
  if (!options.wanted || pid == 0) return;
  std::vector<KernelTime> kernels = kernel_times_.kernels(pid, tail_);
  std::erase_if(kernels, [&](const KernelTime& kernel) { return !options.may_count(kernel.symbol); });
  const auto choice = choose_kernels(kernels, options.pattern, static_cast<std::size_t>(options.kernels));
  recorded_.not_counted = choice->left_out;
  if (choice->counted.empty() && choice->left_out.empty())
    note(fmt::format("no counters: the program launched no kernel whose name matches '{}'", options.pattern));
  if (choice->counted.empty()) return;
  const Status written = write_counter_request(
      options_.folder, pid,
      counter_request(choice->counted, options, static_cast<double>(recorded_.rhythm.step_ns) * 1e-9));
  if (!written.ok()) return note("no counters: " + written.error().message);
  if (!order(Mode::kCounters, next_block_)) return;
  recorded_.blocks.push_back({next_block_++, Mode::kCounters, now_ns(), 0});
  const bool in_time = wait_until_counted(pid, options.patience_s(choice->counted.size()));
  recorded_.blocks.back().end_ns = now_ns();
  if (!in_time) pause(kLastWrite_s);
  read_new();
}

bool Session::wait_until_counted(int pid, double patience_s) {
  const int64_t start = now_ns();
  const auto counts = [&] {
    for (const ProcessState& state : control_.processes())
      if (state.pid == pid && state.there) return state.counted != last_order_;
    return false;
  };
  while (counts()) {
    if (seconds_since(start) >= patience_s || !pause(0.02)) return false;
  }
  return true;
}

// Until the recorder is in some process. A program of which it is never said is waited for to its end, and looked at from
// outside now and then.
bool Session::wait_for_processes() {
  const int64_t start = now_ns();
  int looks = 0;
  while (control_.processes().empty()) {
    const bool looks_now = options_.stacks && looks < kMostHostLooks &&
                           seconds_since(start) >= options_.wait_s + looks * kHostLookEvery_s;
    if (!(looks_now ? look_at_host(static_cast<uint32_t>(++looks)) : pause(kWaitTurn_s))) return false;
  }
  return true;
}

bool Session::look_at_host(uint32_t number) {
  const fs::path folder = options_.folder / kUnrecordedFolder;
  if (!unrecorded_) {
    Result<HostWatch> watch = make_folder(folder).ok() ? HostWatch::create(folder) : io_error("no folder");
    if (!watch.ok()) return pause(kHostLookEvery_s);
    unrecorded_.emplace(std::move(*watch));
    unrecorded_->watch(program_.pid());
  }
  unrecorded_->begin_block(number);
  unrecorded_->start_sampling();
  const int64_t start = now_ns();
  bool goes_on = true;
  while (goes_on && control_.processes().empty() && seconds_since(start) < kHostLook_s)
    goes_on = pause(kWaitTurn_s);
  if (goes_on) unrecorded_->end_block(number);
  unrecorded_->stop_sampling();
  return goes_on;
}

bool Session::any_device() const {
  const auto processes = control_.processes();
  return std::any_of(processes.begin(), processes.end(),
                     [](const ProcessState& state) { return state.drives_device(); });
}

Prospect Session::prospect() const {
  Prospect best = Prospect::kNone;
  for (const ProcessState& state : control_.processes())
    if (state.there) best = std::max(best, state.prospect);
  return best;
}

// Whether the program marks its steps, or has something that will and that has not had its time.
bool Session::marks_may_come() {
  if (watch_.sure_marks_go_on(now_ns())) return true;
  const Prospect now = prospect();
  if (now != prospect_) {
    prospect_ = now;
    prospect_ns_ = now_ns();
  }
  if (now == Prospect::kNone) return false;
  const double patience = now == Prospect::kTraining ? kTrainingPatience_s : kModulesPatience_s;
  return seconds_since(std::max(prospect_ns_, first_device_ns_)) < patience;
}

// Whether it is time to look for steps in what the program does, as it marks none. Before one that will mark them has
// had its time, nothing must be recorded.
bool Session::may_look(int64_t start_ns) {
  if (first_device_ns_ == 0 && any_device()) first_device_ns_ = now_ns();
  if (marks_may_come()) return false;
  const double seen = seconds_since(start_ns);
  return first_device_ns_ != 0 ? seconds_since(first_device_ns_) >= options_.wait_s
                               : seen >= kHostPatience * options_.wait_s;
}

// Notes calls that wait, copy or replay a graph, and records nothing.
bool Session::watch_calls(double seconds) {
  watch_.forget_work();
  Wanted wanted;
  wanted.block = trace::segments::kFirstLook;
  wanted.mark_runtime_call = wanted.mark_driver_call = kAllWaits;
  if (!order(wanted) || !pause(seconds)) return false;
  return order(Mode::kWaiting, trace::segments::kFirstLook);
}

bool Session::probe(double seconds) {
  watch_.forget_work();
  if (!order(any_device() ? Mode::kTimeline : Mode::kOperators, trace::segments::kFirstLook) ||
      !pause(seconds))
    return false;
  return order(Mode::kWaiting,
               trace::segments::kFirstLook);  // what follows is no block: the program may still warm up
}

// What an attached CUPTI does for the first time, and calls of the driver that are recorded until it is known whether
// the program makes any, must not lie in blocks that count.
bool Session::begin_recording() {
  return !recorded_.any_device ||
         (order(Mode::kTimeline, trace::segments::kFirstLook) && pause(block_seconds(kFirstSteps)));
}

// Whether the program's own marks say what a step is and that it is warm.
bool Session::rhythm_of_marks() {
  const Rhythm by_marks = watch_.by_marks(now_ns());
  recorded_.rhythm = by_marks;
  if (!by_marks.known()) return false;
  const double waited = seconds_since(by_marks.first_ns);
  const double patience = prospect() != Prospect::kNone && !by_marks.sure ? kHostPatience : 1;
  const bool enough = by_marks.settled || by_marks.steps >= kSettleSteps || waited >= kSettlePatience_s;
  return enough && by_marks.steps >= 3 && waited >= patience * options_.wait_s;
}

// Waits until the program is warm, and tells how long its steps take. Rhythm::known() false: nothing tells.
bool Session::find_rhythm() {
  const int64_t start = now_ns();
  int64_t next_look = start;
  double look_s = std::min(kFirstLook_s, std::max(kShortestBlock_s, options_.wait_s));
  for (int looks = 0; looks < kMostLooks;) {
    if (!pause(kTick_s)) return false;
    read_new();
    if (rhythm_of_marks()) return true;
    const bool will_tell = recorded_.rhythm.known() && (recorded_.rhythm.sure || recorded_.rhythm.steps > 3);
    if (will_tell || now_ns() < next_look || !may_look(start)) continue;
    const int64_t look_ns = std::llround(look_s * 1e9);
    if (any_device()) {
      if (!watch_calls(look_s)) return false;
      read_new();
      if (marks_may_come()) continue;  // it marks its steps after all
      if (const Rhythm by_calls = watch_.by_calls(tail_, look_ns); by_calls.known()) {
        recorded_.rhythm = by_calls;
        return true;
      }
    }
    if (!probe(look_s)) return false;
    read_new();
    if (marks_may_come()) continue;
    if (const Rhythm by_work = watch_.by_work(tail_, look_ns); by_work.known()) {
      recorded_.rhythm = by_work;
      return true;
    }
    if (watch_.saw_familiar_work()) ++looks;
    if (watch_.saw_work()) look_s = std::min(kLongestLook_s, look_s * kLookGrowth);
    if (first_device_ns_ != 0 && watch_.saw_work() && seconds_since(first_device_ns_) > kLookPatience_s)
      break;
    next_look = now_ns() + std::llround(options_.wait_s * 1e9);
  }
  note("no repeating step was found in what the program launches; blocks of fixed length were recorded");
  return true;
}

// A full disk, or a limit for files.
void Session::note_failed_writes() {
  const auto processes = control_.processes();
  const auto failed = std::find_if(processes.begin(), processes.end(),
                                   [](const ProcessState& state) { return state.write_error != 0; });
  if (failed == processes.end()) return;
  const auto count = std::count_if(processes.begin(), processes.end(),
                                   [](const ProcessState& state) { return state.write_error != 0; });
  note(fmt::format("what {} recorded could not be written ({}): it is missing from there on",
                   count == 1 ? fmt::format("process {}", failed->pid) : fmt::format("{} processes", count),
                   std::generic_category().message(failed->write_error)));
}

const Recorded& Session::record() {
  if (wait_for_processes() && find_rhythm()) {
    recorded_.any_device = any_device();
    const Schedule schedule =
        make_schedule({options_.steps, recorded_.rhythm.told_untouched(), recorded_.any_device,
                       options_.stacks, options_.seed, static_cast<double>(recorded_.rhythm.step_ns) * 1e-9});
    recorded_.seed = schedule.seed;
    kernel_times_.begin(now_ns());
    recorded_.complete = run(schedule.untouched) && begin_recording() && run(schedule.blocks);
    if (recorded_.complete && sample_devices()) count_kernels();
  }
  finish();
  return recorded_;
}

// Whether a process drives a device that can be recorded.
bool Session::wait_for_device() {
  while (!any_device()) {
    const auto processes = control_.processes();
    const bool none = std::all_of(processes.begin(), processes.end(), [](const ProcessState& state) {
      return !state.there || state.attachment == Attachment::kHostOnly;
    });
    if (none || !pause(kWaitTurn_s)) return false;
  }
  return true;
}

// Until one of the kernels to count has run, and then for a second of steps: which of them take most.
bool Session::see_kernels() {
  const auto seen = [this] {
    read_new();
    const auto kernels = kernel_times_.kernels(kernel_times_.busiest(), tail_);
    return std::any_of(kernels.begin(), kernels.end(), [this](const KernelTime& kernel) {
      return options_.counters.may_count(kernel.symbol);
    });
  };
  const double most_s = options_.counters.most_s;
  const double patience_s = most_s > 0 ? std::min(most_s, kKernelPatience_s) : kKernelPatience_s;
  if (!run_block(Mode::kTimeline, kLastWrite_s)) return false;
  for (const int64_t start = now_ns(); !seen();)
    if (!pause(kTick_s) || seconds_since(start) >= patience_s) return false;
  const bool goes_on = pause(kSeenKernels_s);
  recorded_.blocks.back().end_ns = now_ns();
  return goes_on;
}

const Recorded& Session::count() {
  if (wait_for_processes() && wait_for_device()) {
    recorded_.any_device = true;
    recorded_.complete = see_kernels();
    if (recorded_.complete) count_kernels();
  }
  finish();
  return recorded_;
}

void Session::finish() {
  order(Mode::kFinished, next_block_);
  read_new();
  recorded_.end_ns = now_ns();
  recorded_.marked_step_ns = watch_.by_marks(recorded_.end_ns).step_ns;
  recorded_.any_device = recorded_.any_device || any_device();
  for (std::string& text : host_.notes()) note(std::move(text));
  const auto processes = control_.processes();
  recorded_.processes = static_cast<int>(processes.size());
  if (std::exchange(unrecorded_, std::nullopt) && processes.empty())
    recorded_.unrecorded = options_.folder / kUnrecordedFolder / trace::segments::kHostFile;
  note_failed_writes();
  if (!lagging_.empty())
    note(
        fmt::format("{} of {} processes did not follow the recorder's orders in time; what they recorded may "
                    "lie in steps that count as left alone",
                    lagging_.size(), processes.size()));
}

int Session::wait() {
  while (outlives(1)) {
  }
  return *program_.exit_status();
}

void Session::end_program(double patience_s) {
  program_.send(SIGTERM);
  if (outlives(patience_s)) program_.send(SIGKILL);
}

}  // namespace hone::observe
