#include "analyze/host_lines.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analyze/attribution.h"
#include "analyze/rules.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

using trace::Frame, trace::FrameId, trace::FrameOwner, trace::FrameRole, trace::StackSample,
    trace::ThreadState;

constexpr double kWorthALine = 0.01;   // of the samples
constexpr uint64_t kLeastOfALine = 3;  // one or two samples may be anywhere
constexpr double kMostOfALine = 0.5;   // of a line's samples: what they all do is said

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
      const bool rare = share < kWorthALine || line->samples < kLeastOfALine;
      if (result.size() >= most || (rare && !result.empty())) break;
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
    const auto first =
        std::ranges::find_if(python, [&](FrameId id) { return frame(id).owner != FrameOwner::kRecorder; });
    const Frame* inner_python = first == python.end() ? nullptr : &frame(*first);
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
    if (function.empty() || function == "?") return std::string(file);
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

constexpr int64_t kSurelyBetweenNs = 50'000;

using HostInterval = std::pair<int64_t, int64_t>;

// Intervals apart from each other, by time.
std::vector<HostInterval> united(std::vector<HostInterval> intervals) {
  std::ranges::sort(intervals);
  std::vector<HostInterval> result;
  for (const auto& [start, end] : intervals)
    if (!result.empty() && start <= result.back().second)
      result.back().second = std::max(result.back().second, end);
    else
      result.emplace_back(start, end);
  return result;
}

// The first interval that ends after an instant.
std::vector<HostInterval>::const_iterator ending_after(const std::vector<HostInterval>& intervals,
                                                       int64_t ns) {
  return std::ranges::upper_bound(intervals, ns, {}, &HostInterval::second);
}

// When a rank's host ran operators, and when it waited for what.
class HostSpansByTime {
 public:
  HostSpansByTime(const trace::Trace& trace, int rank) {
    std::array<std::vector<HostInterval>, kCauseCount> waits;
    std::vector<HostInterval> operators;
    std::vector<char> runs(trace.tracks.size(), 0);
    for (std::size_t row = 0; row < trace.spans.size(); ++row) {
      const trace::TrackId track = trace.spans.track[row];
      if (trace.tracks[track.index].rank != rank) continue;
      const HostInterval interval = {trace.spans.start_ns[row],
                                     trace.spans.start_ns[row] + trace.spans.duration_ns[row]};
      if (const auto cause = waiting_cause(trace.spans.category[row])) {
        waits[static_cast<std::size_t>(*cause)].push_back(interval);
      } else if (trace.spans.category[row] == trace::Category::kOperator) {
        operators.push_back(interval);
        runs[track.index] = 1;
      }
    }
    operators_ = united(std::move(operators));
    for (std::size_t cause = 0; cause < kCauseCount; ++cause) waits_[cause] = united(std::move(waits[cause]));
    for (uint32_t track = 0; track < runs.size(); ++track)
      if (runs[track] != 0) threads_.push_back({track});
  }

  // That run operators.
  const std::vector<trace::TrackId>& threads() const { return threads_; }

  // Nothing: an operator runs, or one ends and the next begins nearer than a sample's moment is known: reading a stack
  // from outside takes some ten microseconds, in which the thread runs on. Between operators it is `launch` where they follow each other soon, else `host_other`.
  std::optional<Cause> cause_at(int64_t ns) const {
    for (std::size_t cause = 0; cause < kCauseCount; ++cause)
      if (const auto at = ending_after(waits_[cause], ns); at != waits_[cause].end() && at->first <= ns)
        return static_cast<Cause>(cause);
    const auto next = ending_after(operators_, ns);
    if (next != operators_.end() && next->first <= ns) return std::nullopt;
    if (next == operators_.begin() || next == operators_.end()) return Cause::kHostOther;
    const int64_t gap_ns = next->first - std::prev(next)->second;
    if (gap_ns < kSurelyBetweenNs) return std::nullopt;
    return gap_ns < kLongGapNs ? Cause::kLaunch : Cause::kHostOther;
  }

 private:
  std::vector<HostInterval> operators_;
  std::array<std::vector<HostInterval>, kCauseCount> waits_;
  std::vector<trace::TrackId> threads_;
};

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

std::vector<HostLine> lines_of_loaders(const trace::Trace& trace, int rank, int64_t main_pid,
                                       std::span<const int64_t> waits) {
  constexpr int64_t kNearNs = 2'500'000;  // samples are taken every millisecond or so
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.stacks.samples.size(); ++row) {
    const StackSample& sample = trace.stacks.samples[row];
    const trace::Track& track = trace.tracks[sample.track.index];
    if (track.rank != rank || track.pid == main_pid || track.tid != track.pid) continue;
    if (!prepares_input(trace, sample)) continue;
    const auto at = std::ranges::lower_bound(waits, sample.time_ns - kNearNs);
    if (at != waits.end() && *at <= sample.time_ns + kNearNs) rows.push_back(row);
  }
  if (rows.size() < kLeastSamples) return {};
  std::vector<HostLine> lines = host_lines(trace, rows, main_pid);
  for (HostLine& line : lines) line.of = "of the processes that prepare batches";
  return lines;
}

LinesByCause lines_between_operators(const trace::Trace& trace, int rank) {
  LinesByCause lines;
  const HostSpansByTime spans(trace, rank);
  const trace::TrackId lead = leading_thread(trace, spans.threads());
  if (!lead.valid()) return lines;
  const int64_t pid = trace.tracks[lead.index].pid;
  std::array<std::vector<uint32_t>, kCauseCount> rows;
  std::vector<int64_t> waits;
  for (uint32_t row = 0; row < trace.stacks.samples.size(); ++row) {
    const StackSample& sample = trace.stacks.samples[row];
    if (sample.track != lead) continue;
    std::optional<Cause> cause = spans.cause_at(sample.time_ns);
    if (!cause) continue;
    if (*cause == Cause::kHostOther || *cause == Cause::kLaunch)
      cause = cause_of_stack(trace, sample).value_or(*cause);
    if (cause == Cause::kInput) waits.push_back(sample.time_ns);
    rows[static_cast<std::size_t>(*cause)].push_back(row);
  }
  for (std::size_t cause = 0; cause < kCauseCount; ++cause)
    if (rows[cause].size() >= kLeastSamples) lines[cause] = host_lines(trace, rows[cause], pid);
  std::ranges::sort(waits);
  std::vector<HostLine>& input = lines[static_cast<std::size_t>(Cause::kInput)];
  const std::vector<HostLine> loaders = lines_of_loaders(trace, rank, pid, waits);
  input.insert(input.begin(), loaders.begin(), loaders.end());
  return lines;
}

void tell_lines(const std::vector<HostLine>& lines, std::vector<std::string>& evidence) {
  constexpr std::size_t kTold = 3;
  std::vector<std::string> told;
  for (const HostLine& line : lines)
    if (told.size() < kTold) told.push_back(host_line_text(line));
  evidence.insert(evidence.begin() + (evidence.empty() ? 0 : 1), told.begin(), told.end());
}

void tell_where(std::span<const LedgerRow> ledger, Verdict& verdict) {
  const auto row =
      std::ranges::find_if(ledger, [&](const LedgerRow& each) { return verdict.cause == each.cause; });
  if (row == ledger.end() || row->lines.empty()) return;
  verdict.sentence += fmt::format(" Most of all at {}.", host_line_text(row->lines.front()));
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
