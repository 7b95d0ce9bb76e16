// hone top: what GPUs, CPUs, disks, links and processes do now, against the targets.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/full_screen.h"
#include "core/clock.h"
#include "core/file.h"
#include "observe/live/sampler.h"
#include "report/live.h"

namespace hone::apps {
namespace {

using observe::live::Sampler;
using trace::live::MachineUse;
using trace::live::ProcessUse;

constexpr double kShortest = 0.1, kLongest = 3600;  // s; the driver's own samples are no shorter
constexpr double kFirstLook = 0.3;                  // s, until the first picture of a screen
constexpr int64_t kStepNs = 50'000'000;             // between looks for requests to end

struct TopOptions {
  double interval_s = 1;
  int64_t count = 0;  // pictures; 0: no limit
  int64_t pid = 0;    // 0: all processes
  bool once = false;
  bool fields = false;
  std::string json;
};

// Keeps only process `pid` and what it has started; false: it is not there.
bool keep_family(int64_t pid, std::vector<ProcessUse>& processes) {
  std::set<int64_t> family;
  for (const ProcessUse& row : processes)
    if (row.pid == pid) family.insert(pid);
  for (bool grew = !family.empty(); grew;) {
    grew = false;
    for (const ProcessUse& row : processes)
      if (family.contains(row.parent) && family.insert(row.pid).second) grew = true;
  }
  std::erase_if(processes, [&](const ProcessUse& row) { return !family.contains(row.pid); });
  return !processes.empty();
}

// The next picture; an error where the process that was asked for is not there.
Result<MachineUse> next_picture(Sampler& sampler, const TopOptions& options) {
  MachineUse use = sampler.read();
  if (options.pid != 0 && !keep_family(options.pid, use.processes))
    return not_found(fmt::format("process {}: there is none of that number here", options.pid));
  return use;
}

// False: the program was asked to end.
bool sleep_until(int64_t deadline_ns) {
  while (!interrupted()) {
    const int64_t left = deadline_ns - now_ns();
    if (left <= 0) return true;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kStepNs)));
  }
  return false;
}

report::LiveView view_of(const TopOptions& options) {
  constexpr std::size_t kNarrowest = 60, kOfFiles = 100;
  report::LiveView view;
  view.style = report::terminal_style(STDOUT_FILENO);
  winsize size{};
  const bool known = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  view.style.width = known && size.ws_col > 0 ? std::max<std::size_t>(size.ws_col, kNarrowest) : kOfFiles;
  view.interval_s = options.interval_s;
  return view;
}

// Pictures one after another: as text, and as JSON where it is asked for. `count` of them, 0: until it is ended.
Status show_pictures(const TopOptions& options, int64_t count) {
  std::optional<AtomicFile> json;
  if (!options.json.empty()) {
    HONE_ASSIGN(AtomicFile file, AtomicFile::create(options.json));
    json = std::move(file);
  }
  const bool one_object = count == 1 && options.count == 0;
  Sampler sampler;
  report::LiveHistory history;
  HONE_ASSIGN(MachineUse use, next_picture(sampler, options));
  int64_t next_ns = now_ns();
  int64_t shown = 0;
  bool ended = false;
  while (!ended && (count == 0 || shown < count)) {
    next_ns += static_cast<int64_t>(options.interval_s * 1e9);
    if (!sleep_until(next_ns)) break;
    Result<MachineUse> next = next_picture(sampler, options);
    if (!next.ok()) {
      if (shown == 0) return next.error();
      say(fmt::format("process {} has ended\n", options.pid));
      break;
    }
    use = std::move(*next);
    history.add(use);
    if (json) {
      HONE_CHECK(json->write(report::live_json(use, !one_object) + (one_object ? "" : "\n")));
      HONE_CHECK(json->flush());
    }
    fmt::print("{}{}", shown > 0 ? "\n" : "", report::live_text(use, history, view_of(options)));
    HONE_CHECK(flush_output());
    ++shown;
  }
  if (json && (shown > 0 || !interrupted())) HONE_CHECK(json->commit());
  if (interrupted()) return Error{ErrorCode::kCancelled, "interrupted"};
  return {};
}

// What a key does to the view; false: it ends the program.
bool handle_key(char key, report::LiveView& view) {
  switch (key) {
    case FullScreen::kQuit:
    case 'q':
    case 'Q':
      return false;
    case 'h':
    case '?':
      view.help = !view.help;
      break;
    case 'p':
    case ' ':
      view.paused = !view.paused;
      break;
    case 'g':
      view.order = report::ProcessOrder::kGpu;
      break;
    case 'c':
      view.order = report::ProcessOrder::kCpu;
      break;
    case 'm':
      view.order = report::ProcessOrder::kMemory;
      break;
    case 'd':
      view.order = report::ProcessOrder::kDisk;
      break;
    case 'n':
      view.order = report::ProcessOrder::kNumber;
      break;
    default:
      break;
  }
  return true;
}

void fit_view(report::LiveView& view, const FullScreen& screen) {
  constexpr std::size_t kNarrowest = 20;
  const FullScreen::Size size = screen.size();
  view.style.width = std::max(size.columns, kNarrowest);
  view.height = size.lines;
}

Status show_screen(const TopOptions& options) {
  Sampler sampler;
  report::LiveHistory history;
  HONE_ASSIGN(MachineUse use, next_picture(sampler, options));
  report::LiveView view = view_of(options);
  std::optional<Error> failed;
  {
    FullScreen screen;
    int64_t next_ns = now_ns() + static_cast<int64_t>(std::min(options.interval_s, kFirstLook) * 1e9);
    while (true) {
      fit_view(view, screen);
      screen.show(report::live_lines(use, history, view));
      const int64_t left_ns = std::max<int64_t>(0, next_ns - now_ns());
      const char key = screen.wait(static_cast<int>(left_ns / 1'000'000) + 1);
      if (key != FullScreen::kNoKey) {
        if (!handle_key(key, view)) break;
        continue;
      }
      next_ns = std::max(next_ns, now_ns()) + static_cast<int64_t>(options.interval_s * 1e9);
      if (view.paused) continue;
      Result<MachineUse> next = next_picture(sampler, options);
      if (!next.ok()) {
        failed = next.error();
        break;
      }
      use = std::move(*next);
      history.add(use);
    }
  }
  if (interrupted()) return Error{ErrorCode::kCancelled, "interrupted"};
  if (failed) say(fmt::format("process {} has ended\n", options.pid));
  return {};
}

Status run_top(const TopOptions& options, bool interval_given, bool count_given) {
  if (options.fields) {
    fmt::print("{}", report::live_fields_page());
    return {};
  }
  if (!std::isfinite(options.interval_s) || options.interval_s < kShortest || options.interval_s > kLongest)
    return usage_error(fmt::format("--interval {}: not between {} and {} seconds; see hone top --help",
                                   options.interval_s, kShortest, kLongest));
  if (options.once) return show_pictures(options, 1);
  if (count_given) return show_pictures(options, options.count);
  if (options.json.empty() && FullScreen::possible()) return show_screen(options);
  return show_pictures(options, interval_given ? 0 : 1);
}

}  // namespace

void add_top_command(Program& program) {
  auto options = std::make_shared<TopOptions>();
  auto given = std::make_shared<std::vector<Option>>();  // --interval, --count
  Command command =
      program.add("top", "GPUs, CPUs, disks, links and processes now, against the targets",
                  [options, given] { return run_top(*options, given->at(0).given(), given->at(1).given()); });
  command.flag("--once", &options->once, "one picture as text, after one interval");
  given->push_back(command.option("--interval SECONDS", &options->interval_s, "between pictures")
                       .positive()
                       .with_default());
  given->push_back(command.option("--count N", &options->count, "as text, so many pictures one after another")
                       .positive()
                       .excludes("--once"));
  command.option("--pid PID", &options->pid, "only this process and what it has started, until it ends")
      .positive();
  command
      .option("--json FILE", &options->json,
              "also write one picture to this file; with --count or --interval a line each")
      .written();
  command.flag("--fields", &options->fields, "print what --json writes, as Markdown, and nothing else");
  command.footer(
      "A full screen on a terminal (q ends it, h says which keys it knows); elsewhere one picture as text, "
      "or, with "
      "--interval, one after another. What cannot be had on this machine is said in a note.");
}

}  // namespace hone::apps
