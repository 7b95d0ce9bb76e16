#include "apps/lab_baseline.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "apps/trace_source.h"
#include "core/clock.h"
#include "core/descriptor.h"
#include "observe/session/program.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProfileOut = "profile.out";
constexpr const char* kProfileLog = "profile.log";
constexpr double kLookEvery_s = 0.2;
constexpr double kBudgetOfDetails_s = 300;

int new_log(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
}

void say_again(const fs::path& path, int stream) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value < 0) return;
  std::array<char, 1 << 16> bytes;
  for (ssize_t count; (count = ::read(file.value, bytes.data(), bytes.size())) > 0;)
    for (ssize_t at = 0, written; at < count; at += written)
      if ((written = ::write(stream, bytes.data() + at, static_cast<std::size_t>(count - at))) <= 0) return;
}

enum class End { kByItself, kInterrupted, kTimeUp };

End wait_for(observe::Program& profile, double limit_s, ProgressBar& bar) {
  const int64_t start_ns = now_ns();
  End end = End::kByItself;
  while (!profile.exit_status()) {
    bar.update(0, "observing the unchanged program");
    if (end == End::kByItself) {
      if (interrupted())
        end = End::kInterrupted;
      else if (static_cast<double>(now_ns() - start_ns) * 1e-9 > limit_s)
        end = End::kTimeUp;
      if (end != End::kByItself) profile.send(SIGTERM);
    }
    profile.wait(kLookEvery_s);
  }
  return end;
}

// "; python -I …" where Python was told not to read what marks its steps; else empty.
std::string why_unmarked(const std::vector<std::string>& command) {
  if (!fs::path(command[0]).filename().string().starts_with("python")) return "";
  for (std::size_t i = 1; i < command.size() && command[i].starts_with('-'); ++i) {
    const std::string& word = command[i];
    if (word.starts_with("--") || word.starts_with("-c") || word.starts_with("-m")) break;
    const std::size_t found = word.find_first_of("IES");
    if (found != std::string::npos)
      return fmt::format(
          "; python -{} does not read the sitecustomize by which steps are marked and changes are made: run "
          "it "
          "without",
          word[found]);
    if (word == "-W" || word == "-X") ++i;  // which take a word
  }
  return "";
}

std::string why_no_analysis(End end, int status, double limit_s) {
  switch (end) {
    case End::kInterrupted:
      return "interrupted";
    case End::kTimeUp:
      return fmt::format(
          "hone ended the unchanged program after {:.0f} s, which is what the budget leaves its baseline: "
          "not "
          "enough of its steps were recorded by then; --budget gives more",
          limit_s);
    case End::kByItself:
      break;
  }
  return fmt::format(
      "the unchanged program ended with exit status {} before enough of its steps were recorded", status);
}

// One run of the program under hone profile.
struct Observed {
  End end = End::kByItself;
  int status = 0;
  double seconds = 0;
};

Result<Observed> observe_once(const LabProgramOptions& options, double wait_s, double limit_s,
                              ProgressBar& bar) {
  const fs::path out(options.out), folder = out / kLabBaseline;
  observe::ProgramStart start;
  start.command = {
      fs::read_symlink("/proc/self/exe").string(), "profile", "--then", "stop", "--out", folder.string()};
  // Counters, and the names of what stacks hold, take as long as some runs of the program, and no change is advised by them
  // alone; fewer steps tell as much of advice.
  if (options.budget_s < kBudgetOfDetails_s)
    start.command.insert(start.command.end(),
                         {"--counters", "off", "--sampling", "off", "--stacks", "off", "--steps", "12"});
  if (wait_s >= 0) start.command.insert(start.command.end(), {"--wait", fmt::format("{}", wait_s)});
  start.command.push_back("--");
  start.command.insert(start.command.end(), options.command.begin(), options.command.end());
  start.blocked_signals = requests_to_end();
  HONE_ASSIGN(start.environment, lab::watch_what_is_computed(out / kLabFirstRun, options.seed));
  const Descriptor said(new_log(out / kProfileOut)), complained(new_log(out / kProfileLog));
  if (said.value < 0 || complained.value < 0)
    return invalid(fmt::format("{}: cannot be written", (out / kProfileLog).string()));
  start.standard_output = said.value;
  start.standard_error = complained.value;
  const int64_t start_ns = now_ns();
  auto profile = observe::Program::start(start);
  if (!profile.ok()) return profile.error();
  Observed observed;
  observed.end = wait_for(*profile, limit_s, bar);
  observed.status = *profile->exit_status();
  observed.seconds = static_cast<double>(now_ns() - start_ns) * 1e-9;
  return observed;
}

// How long to wait before the first recorded step of a program that ended well, and computed something, before recording began;
// negative: another run would not show more.
double shorter_wait_s(const LabProgramOptions& options, const Observed& observed) {
  constexpr double kShare = 0.05, kShortest_s = 0.05;  // of the program's time
  const bool would_show = observed.end == End::kByItself && observed.status == 0 && options.wait_s < 0 &&
                          !lab::what_was_computed(fs::path(options.out) / kLabFirstRun).computed.empty();
  return would_show ? std::max(kShortest_s, kShare * observed.seconds) : -1;
}

// Nothing: there is nothing to read.
Result<std::optional<analyze::Analysis>> analysis_of(const fs::path& folder, const Observed& observed,
                                                     int top) {
  if (observed.end == End::kInterrupted) return std::optional<analyze::Analysis>();
  const auto recording =
      read_recording({folder.string()}, [](double, const std::string&) { return !interrupted(); });
  if (!recording.ok()) return std::optional<analyze::Analysis>();
  HONE_ASSIGN(analyze::Analysis analysis, analyse_recording(*recording, {}, top));
  return std::optional(std::move(analysis));
}

}  // namespace

Result<LabBaseline> observe_baseline(const LabProgramOptions& options, double limit_s, ProgressBar& bar) {
  const fs::path out(options.out), folder = out / kLabBaseline;
  LabBaseline baseline;
  HONE_ASSIGN(Observed observed, observe_once(options, options.wait_s, limit_s, bar));
  HONE_ASSIGN(baseline.analysis, analysis_of(folder, observed, options.top));
  if (const double wait_s = shorter_wait_s(options, observed); !baseline.analysis && wait_s >= 0) {
    std::error_code stays;  // of what the first attempt left, which is read by nobody
    fs::remove_all(folder, stays);
    HONE_ASSIGN(observed, observe_once(options, wait_s, limit_s, bar));
    HONE_ASSIGN(baseline.analysis, analysis_of(folder, observed, options.top));
  }
  baseline.computed = lab::what_was_computed(out / kLabFirstRun);
  if (baseline.analysis) return baseline;
  bar.finish();
  say_again(out / kProfileOut, STDOUT_FILENO);
  say_again(out / kProfileLog, STDERR_FILENO);
  baseline.why_none = why_no_analysis(observed.end, observed.status, limit_s) + why_unmarked(options.command);
  if (observed.end == End::kByItself) baseline.exit_status = observed.status;
  return baseline;
}

}  // namespace hone::apps
