#include "observe/session/timed_run.h"

#include <cmath>
#include <csignal>
#include <numeric>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/file.h"
#include "observe/session/control_page.h"
#include "observe/session/descendants.h"
#include "observe/session/program.h"
#include "observe/session/program_environment.h"
#include "observe/session/segment_tail.h"
#include "observe/session/step_watch.h"

namespace hone::observe {
namespace {

constexpr double kLookEvery_s = 0.05;
constexpr double kEndPatience_s = 5;  // from SIGTERM to SIGKILL
// Steps that do not settle are measured all the same after so many times the warm-up.
constexpr double kSettlePatience = 6;

constexpr double kEnough = 0.4;  // of the time to measure, where steps take equally long
constexpr double kPrecision = 0.003;
constexpr std::size_t kStretch = 10, kFewestStretches = 5;  // steps, and of these

double since(int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

// Whether the mean of the steps is known well enough: to a part of what runs of one program differ by.
bool is_precise(const std::vector<double>& steps) {
  std::vector<double> means;
  for (std::size_t at = 0; at + kStretch <= steps.size(); at += kStretch)
    means.push_back(std::accumulate(steps.begin() + static_cast<std::ptrdiff_t>(at),
                                    steps.begin() + static_cast<std::ptrdiff_t>(at + kStretch), 0.0) /
                    kStretch);
  if (means.size() < kFewestStretches) return false;
  const double count = static_cast<double>(means.size());
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / count;
  double squares = 0;
  for (const double each : means) squares += (each - mean) * (each - mean);
  return std::sqrt(squares / (count - 1) / count) <= kPrecision * mean;
}

class StepTimer {
 public:
  StepTimer(const TimedRunOptions& options, Program& program)
      : options_(options), program_(program), tail_(options.folder / trace::segments::kFolder) {}

  TimedRun run() {
    TimedRun result;
    const bool measured = options_.enough ? wait(options_.enough)
                                          : wait([this] { return is_warm(); }) && is_worthwhile() &&
                                                (begin(), wait([this] { return has_enough(); }));
    read();
    result.exit_status = program_.exit_status();
    const double until_end_s = since(start_ns_);
    end();
    result.seconds = since(start_ns_);
    result.ended_s = result.seconds - until_end_s;
    const int64_t now = now_ns();
    const Rhythm rhythm = watch_.by_marks(now);
    if (rhythm.first_ns > 0) result.first_step_s = static_cast<double>(rhythm.first_ns - start_ns_) * 1e-9;
    // A program that ended by itself has shown what it had.
    if (measured_from_ns_ > 0)
      add_steps(watch_.steps_by_marks(measured_from_ns_, last_look_ns_), result);
    else if (result.exit_status && !stopped_)
      add_later_steps(watch_.steps_by_marks(0, last_look_ns_), result);
    if (!measured && static_cast<int>(result.steps_ms.size()) < options_.fewest_steps) {
      result.steps_ms.clear();
      result.why_none = why(result, rhythm);
    }
    return result;
  }

 private:
  template <typename Done>
  bool wait(const Done& done) {
    while (true) {
      read();
      if (done()) return true;
      stopped_ = options_.keep_going && !options_.keep_going();
      if (stopped_ || program_.exit_status() || since(start_ns_) > options_.patience_s || is_unmarked())
        return false;
      program_.wait(kLookEvery_s);
    }
  }

  void read() {
    tail_.read([this](const SegmentRecord& record) { watch_.see(record); });
    if (!program_.exit_status()) last_look_ns_ = now_ns();
  }

  bool is_unmarked() {
    return unmarked_ = since(start_ns_) > options_.marks_within_s && !watch_.by_marks(last_look_ns_).known();
  }

  bool is_warm() const {
    const Rhythm rhythm = watch_.by_marks(last_look_ns_);
    if (!rhythm.known() || rhythm.steps < options_.first_steps) return false;
    const double seen = since(rhythm.first_ns);
    return seen >= options_.warm_up_s && (rhythm.settled || seen >= kSettlePatience * options_.warm_up_s);
  }

  bool is_worthwhile() {
    stopped_ = options_.worth_measuring && !options_.worth_measuring();
    return !stopped_;
  }

  void begin() { measured_from_ns_ = now_ns(); }

  bool has_enough() const {
    const std::vector<double> steps = watch_.steps_by_marks(measured_from_ns_, last_look_ns_);
    const double seconds = since(measured_from_ns_);
    if (static_cast<int>(steps.size()) < options_.fewest_steps) return false;
    return seconds >= options_.measured_s || (seconds >= kEnough * options_.measured_s && is_precise(steps));
  }

  void end() {
    if (program_.exit_status()) return;
    const Descendants descendants(program_.pid());
    program_.send(SIGTERM);
    for (const int64_t asked = now_ns(); !program_.exit_status();) {
      if (since(asked) > kEndPatience_s) program_.send(SIGKILL);
      program_.wait(kLookEvery_s);
    }
    descendants.end(kEndPatience_s);
  }

  static void add_steps(std::span<const double> steps_ns, TimedRun& result) {
    for (const double step_ns : steps_ns) result.steps_ms.push_back(step_ns * 1e-6);
  }

  // Of a program that ended before it was taken for warm.
  static void add_later_steps(const std::vector<double>& steps_ns, TimedRun& result) {
    add_steps(std::span(steps_ns).subspan(steps_ns.size() / 4), result);
  }

  std::string why(const TimedRun& result, const Rhythm& rhythm) const {
    if (stopped_) return "interrupted";
    const std::string steps = rhythm.steps > 0 ? fmt::format("after {} steps", std::llround(rhythm.steps + 1))
                                               : std::string("before it had marked two steps");
    if (result.exit_status) return fmt::format("it ended {} with exit status {}", steps, *result.exit_status);
    return fmt::format("hone ended it after {:.0f} s, {}",
                       unmarked_ ? options_.marks_within_s : options_.patience_s, steps);
  }

  const TimedRunOptions& options_;
  Program& program_;
  SegmentTail tail_;
  StepWatch watch_;
  const int64_t start_ns_ = now_ns();
  int64_t last_look_ns_ = 0, measured_from_ns_ = 0;
  bool stopped_ = false, unmarked_ = false;
};

}  // namespace

Result<TimedRun> time_steps(const TimedRunOptions& options) {
  HONE_CHECK(make_folder(options.folder / trace::segments::kFolder));
  HONE_ASSIGN(const ControlPage control, ControlPage::create(options.folder));
  const std::filesystem::path log = options.folder / kOutputLog;
  const Descriptor output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (output.value < 0) return invalid(fmt::format("{}: cannot be written", log.string()));
  std::vector<std::pair<std::string, std::string>> environment =
      recorder_environment(options.folder, options.recorder);
  environment.insert(environment.end(), options.environment.begin(), options.environment.end());
  HONE_ASSIGN(Program program, Program::start({options.command, std::move(environment),
                                               options.blocked_signals, output.value, output.value}));
  TimedRun run = StepTimer(options, program).run();
  std::error_code stays;  // which leads to nothing any more
  std::filesystem::remove(options.folder / kControlFile, stays);
  return run;
}

}  // namespace hone::observe
