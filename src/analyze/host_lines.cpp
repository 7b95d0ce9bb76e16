#include "analyze/host_lines.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze {
namespace {

using trace::Frame, trace::FrameId, trace::FrameOwner, trace::FrameRole, trace::StackSample,
    trace::ThreadState;

constexpr double kWorthALine = 0.01;  // of the samples
constexpr double kMostOfALine = 0.5;  // of a line's samples: what they all do is said

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class HostLineFinder {
 public:
  HostLineFinder(const trace::Trace& trace, int64_t main_pid) : trace_(trace), main_pid_(main_pid) {}

  void add(const StackSample& sample) {
    const Chosen chosen = choose(sample);
    if (chosen.frame == nullptr) return;
    ++samples_;
    Line& line = lines_[{chosen.frame->function, chosen.frame->file, chosen.frame->line}];
    line.frame = chosen.frame;
    line.pid = trace_.tracks[sample.track.index].pid;
    ++line.samples;
    ++line.states[sample.state];
    if (chosen.innermost != nullptr && chosen.innermost != chosen.frame) ++line.innermost[chosen.innermost];
  }

  std::vector<HostLine> take(std::size_t most) const {
    std::vector<const Line*> order;
    for (const auto& [key, line] : lines_) order.push_back(&line);
    std::ranges::stable_sort(order, std::ranges::greater(), &Line::samples);
    std::vector<HostLine> result;
    for (const Line* line : order) {
      const double share = static_cast<double>(line->samples) / static_cast<double>(samples_);
      if (result.size() >= most || (share < kWorthALine && !result.empty())) break;
      result.push_back(told(*line, share));
    }
    return result;
  }

 private:
  struct Line {
    const Frame* frame = nullptr;
    int64_t pid = 0;
    uint64_t samples = 0;
    std::map<ThreadState, uint64_t> states;
    std::map<const Frame*, uint64_t> innermost;
  };
  struct Chosen {
    const Frame* frame = nullptr;
    const Frame* innermost = nullptr;  // that tells more of what it does
  };

  const Frame& frame(FrameId id) const { return trace_.stacks.frames[id.index]; }

  // Python's frames say more to the author of a Python program than those of its interpreter.
  Chosen choose(const StackSample& sample) const {
    const auto python = trace_.stacks.python(sample), native = trace_.stacks.native(sample);
    const auto own_in = [&](std::span<const FrameId> stack) -> const Frame* {
      for (const FrameId id : stack)
        if (frame(id).owner == FrameOwner::kProgram) return &frame(id);
      return nullptr;
    };
    const Frame* own = python.empty() ? own_in(native) : own_in(within_input(sample, python));
    const Frame* inner_python = python.empty() ? nullptr : &frame(python.front());
    const Frame* inner_native = native.empty() ? nullptr : &frame(native.front());
    Chosen chosen{own, inner_python != nullptr && inner_python != own ? inner_python : inner_native};
    if (chosen.frame == nullptr) chosen.frame = inner_python != nullptr ? inner_python : inner_native;
    return chosen;
  }

  // A process that was forked to prepare batches has the line that started it on its stack: that is not what it does.
  std::span<const FrameId> within_input(const StackSample& sample, std::span<const FrameId> python) const {
    const trace::Track& track = trace_.tracks[sample.track.index];
    if (track.pid == main_pid_) return python;
    const auto role =
        std::ranges::find_if(python, [&](FrameId id) { return frame(id).role == FrameRole::kInput; });
    return python.first(static_cast<std::size_t>(role - python.begin()));
  }

  std::string place_text(const Frame& row) const {
    const std::string_view function = trace_.strings.text(row.function),
                           file = base_name(trace_.strings.text(row.file));
    if (file.empty()) return std::string(function);
    return row.line > 0 ? fmt::format("{} ({}:{})", function, file, row.line)
                        : fmt::format("{} ({})", function, file);
  }

  HostLine told(const Line& line, double share) const {
    HostLine row;
    row.where = place_text(*line.frame);
    row.function = trace_.strings.text(line.frame->function);
    row.file = trace_.strings.text(line.frame->file);
    row.line = line.frame->line;
    row.share = share;
    row.samples = static_cast<double>(samples_);
    row.pid = line.pid;
    const auto most_of = [&](const auto& counts) {
      return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    };
    const double enough = kMostOfALine * static_cast<double>(line.samples);
    if (const auto at = most_of(line.innermost);
        at != line.innermost.end() && static_cast<double>(at->second) >= enough)
      row.calls = place_text(*at->first);
    if (const auto at = most_of(line.states); static_cast<double>(at->second) >= enough &&
                                              at->first != ThreadState::kUnknown &&
                                              at->first != ThreadState::kRunning)
      row.waits = thread_state_name(at->first);
    return row;
  }

  const trace::Trace& trace_;
  int64_t main_pid_;
  std::map<std::tuple<trace::StringId, trace::StringId, int32_t>, Line> lines_;
  uint64_t samples_ = 0;
};

// The first role that a stack has, from outside.
FrameRole outermost_role(const trace::Trace& trace, std::span<const FrameId> stack) {
  for (auto at = stack.rbegin(); at != stack.rend(); ++at)
    if (const FrameRole role = trace.stacks.frames[at->index].role; role != FrameRole::kNone) return role;
  return FrameRole::kNone;
}

}  // namespace

std::optional<Cause> cause_of_stack(const trace::Trace& trace, const StackSample& sample) {
  const FrameRole role = outermost_role(trace, trace.stacks.python(sample));
  if (role == FrameRole::kInput) return Cause::kInput;
  if (role == FrameRole::kCompile) return Cause::kCompile;
  if (role == FrameRole::kIo) return Cause::kIo;
  if (sample.state == ThreadState::kFile || sample.state == ThreadState::kPageFault) return Cause::kIo;
  if (outermost_role(trace, trace.stacks.native(sample)) == FrameRole::kIo &&
      sample.state == ThreadState::kRunning)
    return Cause::kIo;
  return std::nullopt;
}

bool prepares_input(const trace::Trace& trace, const StackSample& sample) {
  using enum ThreadState;
  if (sample.state != kPipe && sample.state != kLock) return sample.python + sample.native > 0;
  // A worker that waits for an order is in nobody's code: its loop is a library's, and so is the queue.
  const auto python = trace.stacks.python(sample);
  const auto own = std::ranges::find_if(
      python, [&](FrameId id) { return trace.stacks.frames[id.index].owner == FrameOwner::kProgram; });
  const auto role = std::ranges::find_if(
      python, [&](FrameId id) { return trace.stacks.frames[id.index].role == FrameRole::kInput; });
  return own != python.end() && (role == python.end() || own < role);
}

trace::TrackId leading_thread(const trace::Trace& trace, std::span<const trace::TrackId> threads) {
  std::map<uint32_t, uint64_t> counts;
  for (const StackSample& sample : trace.stacks.samples) ++counts[sample.track.index];
  trace::TrackId best;
  uint64_t most = 0;
  for (const trace::TrackId track : threads) {
    const auto count = counts.find(track.index);
    if (count == counts.end()) continue;
    if (trace.tracks[track.index].tid == trace.tracks[track.index].pid) return track;
    if (count->second > most) best = track, most = count->second;
  }
  return best;
}

std::vector<HostLine> host_lines(const trace::Trace& trace, std::span<const uint32_t> samples,
                                 int64_t main_pid, std::size_t most) {
  HostLineFinder finder(trace, main_pid);
  for (const uint32_t row : samples) finder.add(trace.stacks.samples[row]);
  return finder.take(most);
}

std::string host_line_text(const HostLine& line) {
  std::string text =
      fmt::format("{}: {} of {}", line.where, format_percent(line.share), counted(line.samples, "sample"));
  if (!line.of.empty()) text += " " + line.of;
  if (!line.waits.empty()) text += fmt::format("; it {}", line.waits);
  if (!line.calls.empty())
    text += fmt::format("{} in {}", line.waits.empty() ? ", most of them" : "", line.calls);
  return text;
}

}  // namespace hone::analyze
