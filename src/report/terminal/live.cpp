// The live picture for a terminal: a heading, GPUs, host, processes, and what cannot be had.
#include "report/live.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "report/terminal/live_parts.h"
#include "report/text.h"

namespace hone::report {
namespace {

using namespace terminal;
using trace::live::Known;
using trace::live::MachineUse;

constexpr double kMinuteNs = 60e9;
constexpr std::size_t kTextProcesses = 15;
constexpr std::size_t kMostNotes = 3;  // lines on a screen
constexpr std::size_t kTextDevices = 8;

std::string clock_text(int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return "";
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

std::string title_line(const MachineUse& use, const LiveView& view) {
  LiveLine line(view.style);
  line.add("hone top", Colour::kBold).add("  " + use.host.name).add("  " + clock_text(use.unix_ns));
  if (use.interval_s > 0) line.add(fmt::format("  over {:.3g} s", std::round(use.interval_s * 100) / 100));
  if (!use.driver.empty() && view.style.width >= 80) line.add("  driver " + use.driver);
  if (view.paused) line.add("  ").add("paused", Colour::kYellow);
  if (view.height > 0) line.right_at(view.style.width, " h help  q quit", Colour::kFaint);
  return line.str();
}

Lines note_lines(const MachineUse& use, const TerminalStyle& style, std::size_t most) {
  std::string text;
  for (const std::string& note : use.notes) text += wrapped("note: " + note, 0, style, 6);
  Lines lines;
  for (std::size_t at = 0; at < text.size() && lines.size() < most;) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(paint(text.substr(at, end - at), Colour::kFaint, style));
    at = end + 1;
  }
  return lines;
}

Lines help_lines(const MachineUse& use, const TerminalStyle& style) {
  constexpr std::string_view kHelp[] = {
      "Keys: q quit   h this help   p pause   order of processes: g GPU  c CPU  m memory  d disk  n number",
      "Green: the target is reached. Yellow: it is missed, or something holds the machine back. Targets are "
      "those of "
      "hone explain; a GPU that nobody uses misses none.",
      "GPU busy: time with a kernel running, however small. tensor: time with tensor pipes active, over all "
      "multiprocessors (an upper bound of the MFU). DRAM: part of the memory's bandwidth.",
      "CPU of a process: 100 % is one CPU. –: not known.", "Lines of columns: the last minute."};
  std::string text;
  for (const std::string_view line : kHelp) text += wrapped(line, 0, style, 2);
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  for (std::string& line : note_lines(use, style, use.notes.size() * 4)) lines.push_back(std::move(line));
  return lines;
}

void append(Lines& to, Lines lines) {
  to.insert(to.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

}  // namespace

void LiveHistory::add(const MachineUse& use) {
  MachineUse& kept = uses_.emplace_back();
  kept.unix_ns = use.unix_ns;
  kept.interval_s = use.interval_s;
  kept.host = use.host;
  kept.gpus = use.gpus;
  while (static_cast<double>(use.unix_ns - uses_.front().unix_ns) > kMinuteNs) uses_.pop_front();
}

std::vector<Known> LiveHistory::series(std::size_t columns, const Figure& figure) const {
  std::vector<Known> values(columns);
  if (uses_.empty() || columns == 0) return values;
  std::vector<double> weights(columns, 0);
  const double each_ns = kMinuteNs / static_cast<double>(columns);
  const auto end_ns = static_cast<double>(uses_.back().unix_ns);
  for (const MachineUse& use : uses_) {
    const Known value = figure(use);
    if (!value) continue;
    // Its interval, in columns from the left.
    const double end = (kMinuteNs - (end_ns - static_cast<double>(use.unix_ns))) / each_ns;
    const double begin = std::max(0.0, end - use.interval_s * 1e9 / each_ns);
    for (auto i = static_cast<std::size_t>(begin); i < columns && static_cast<double>(i) < end; ++i) {
      const double part = std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
      if (part <= 0) continue;
      values[i] = (values[i].value_or(0) * weights[i] + *value * part) / (weights[i] + part);
      weights[i] += part;
    }
  }
  return values;
}

std::vector<std::string> live_lines(const MachineUse& use, const LiveHistory& history, const LiveView& view) {
  const bool screen = view.height > 0;
  Lines lines = {title_line(use, view)};
  if (screen && view.help) {
    append(lines, help_lines(use, view.style));
  } else {
    const std::size_t devices = !screen ? kTextDevices : view.height >= 40 ? 4 : view.height >= 30 ? 2 : 1;
    append(lines,
           gpu_lines(use, history, view.style, screen ? std::max<std::size_t>(view.height / 2, 2) : 0));
    append(lines, host_lines(use.host, history, view.style, devices));
    const Lines notes = note_lines(use, view.style, screen ? kMostNotes : use.notes.size() * 8);
    const std::size_t taken = lines.size() + notes.size() + 1;  // with the processes' heading
    const std::size_t left = view.height > taken ? view.height - taken : 0;
    append(lines, process_lines(use, view.order, view.style, screen ? left : kTextProcesses));
    append(lines, notes);
  }
  if (screen && lines.size() > view.height) lines.resize(view.height);
  return lines;
}

std::string live_text(const MachineUse& use, const LiveHistory& history, const LiveView& view) {
  std::string text;
  for (const std::string& line : live_lines(use, history, view)) text += line + "\n";
  return text;
}

}  // namespace hone::report
