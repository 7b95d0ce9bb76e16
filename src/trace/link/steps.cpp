#include "trace/link/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "trace/link/repetition.h"

namespace hone::trace {
namespace {

// Keys of Meta::notes.
constexpr std::string_view kHow = "steps";
constexpr std::string_view kConfidence = "steps: confidence";
constexpr std::string_view kNote = "steps: note";

}  // namespace

StepsFound steps_found(const Meta& meta) {
  StepsFound found;
  for (const auto& [key, value] : meta.notes) {
    if (key == kHow) found.how = value;
    if (key == kConfidence) found.confidence = std::strtod(value.c_str(), nullptr);
    if (key == kNote) found.notes.push_back(value);
  }
  return found;
}

namespace link {
namespace {

void note(Trace& trace, const StepsFound& found) {
  trace.meta.notes.emplace_back(kHow, found.how);
  trace.meta.notes.emplace_back(kConfidence, fmt::format("{:.2f}", found.confidence));
  for (const std::string& text : found.notes) trace.meta.notes.emplace_back(kNote, text);
}

bool on_thread(const Trace& trace, std::size_t row) {
  return trace.tracks[trace.spans.track[row].index].kind == TrackKind::kThread;
}

bool has_steps(const Trace& trace) {
  return std::find(trace.spans.category.begin(), trace.spans.category.end(), Category::kStep) !=
         trace.spans.category.end();
}

void make_step(Trace& trace, uint32_t row, int32_t step) {
  trace.spans.category[row] = Category::kStep;
  trace.spans.step[row] = step;
}

// The profiler's own marks become steps. False: there are none.
bool take_profiler_marks(Trace& trace) {
  bool any = false;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kRegion || !on_thread(trace, row)) continue;
    const std::string_view name = trace.strings.text(trace.spans.name[row]);
    if (role_of(name, Category::kRegion) != Role::kStepMark) continue;
    if (const int32_t number = step_number(name); number != kNoStep) {
      make_step(trace, row, number);
      any = true;
    }
  }
  return any;
}

// A way to divide a rank's time into steps: ranges of the program that go by one name.
struct RangeGroup {
  std::vector<uint32_t> rows;  // by start
  double covered = 0;          // share of the rank's work that begins within them
};

// Starts of what a step consists of, in order: operators, or calls that launch work.
std::vector<int64_t> work_starts(const Trace& trace, int rank) {
  std::vector<int64_t> starts;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const Category category = trace.spans.category[row];
    if ((category == Category::kOperator || category == Category::kRuntime) && on_thread(trace, row) &&
        rank_of(trace, row) == rank)
      starts.push_back(trace.spans.start_ns[row]);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

double covered_share(const Trace& trace, const std::vector<uint32_t>& rows,
                     const std::vector<int64_t>& starts) {
  std::size_t within = 0;
  for (uint32_t row : rows) {
    const int64_t start = trace.spans.start_ns[row];
    const auto first = std::lower_bound(starts.begin(), starts.end(), start);
    within += static_cast<std::size_t>(
        std::lower_bound(first, starts.end(), start + trace.spans.duration_ns[row]) - first);
  }
  return starts.empty() ? 0 : static_cast<double>(within) / static_cast<double>(starts.size());
}

// Ranges that can be steps: they do not overlap, occur at least twice, and most work begins within them.
// Parts of a step (layers, the forward pass) leave work outside and lose to what encloses them.
constexpr double kLeastCovered = 0.8;
constexpr double kSameCoverage = 0.02;

RangeGroup best_ranges(const Trace& trace, int rank) {
  std::map<std::pair<uint32_t, std::string>, std::vector<uint32_t>> groups;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>*> group_of;  // by track and name
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kRegion || !on_thread(trace, row) ||
        rank_of(trace, row) != rank)
      continue;
    const uint32_t track = trace.spans.track[row].index;
    const auto [known, is_new] = group_of.try_emplace({track, trace.spans.name[row].index}, nullptr);
    if (is_new) {
      const std::string_view name = trace.strings.text(trace.spans.name[row]);
      if (role_of(name, Category::kRegion) == Role::kModule)
        known->second = &groups[{track, without_numbers(name)}];
    }
    if (known->second != nullptr) known->second->push_back(row);
  }
  const std::vector<int64_t> starts = work_starts(trace, rank);
  RangeGroup best;
  for (auto& [key, rows] : groups) {
    if (rows.size() < 2) continue;
    std::sort(rows.begin(), rows.end(),
              [&](uint32_t a, uint32_t b) { return trace.spans.start_ns[a] < trace.spans.start_ns[b]; });
    const bool overlap = std::adjacent_find(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
                           return trace.spans.row(a).end_ns() > trace.spans.start_ns[b];
                         }) != rows.end();
    if (overlap) continue;
    const double covered = covered_share(trace, rows, starts);
    // As much covered by more ranges: an epoch encloses its steps.
    const bool better = covered > best.covered + kSameCoverage ||
                        (covered > best.covered - kSameCoverage && rows.size() > best.rows.size());
    if (covered >= kLeastCovered && better) best = {rows, covered};
  }
  return best;
}

// The thread that launches most of the rank's work: where steps are marked.
TrackId busiest_thread(const Trace& trace, int rank) {
  std::map<uint32_t, std::size_t> spans_on;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (on_thread(trace, row) && rank_of(trace, row) == rank) ++spans_on[trace.spans.track[row].index];
  TrackId best;
  std::size_t most = 0;
  for (const auto& [track, count] : spans_on)
    if (count > most) {
      most = count;
      best = {track};
    }
  return best;
}

void add_steps(Trace& trace, TrackId track, std::span<const int64_t> bounds) {
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
    trace.spans.add({bounds[i], bounds[i + 1] - bounds[i], track,
                     trace.strings.intern(fmt::format("step {}", i)), Category::kStep,
                     static_cast<int32_t>(i)});
}

// From the start of the rank's first span to the end of its last one.
std::pair<int64_t, int64_t> whole(const Trace& trace, int rank) {
  std::pair<int64_t, int64_t> result{0, 0};
  bool any = false;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (rank_of(trace, row) != rank) continue;
    const int64_t start = trace.spans.start_ns[row], end = start + trace.spans.duration_ns[row];
    result =
        any ? std::pair{std::min(result.first, start), std::max(result.second, end)} : std::pair{start, end};
    any = true;
  }
  return result;
}

StepsFound mark_rank(Trace& trace, int rank, const SpanNesting& nesting, std::span<const DeviceWork> work,
                     const std::vector<Role>& roles) {
  if (const RangeGroup ranges = best_ranges(trace, rank); !ranges.rows.empty()) {
    for (std::size_t i = 0; i < ranges.rows.size(); ++i)
      make_step(trace, ranges.rows[i], static_cast<int32_t>(i));
    const std::string_view name = trace.strings.text(trace.spans.name[ranges.rows[0]]);
    return {
        fmt::format("ranges of the program named '{}'", without_numbers(name)), 0.95 * ranges.covered, {}};
  }
  TrackId track = busiest_thread(trace, rank);
  if (!track.valid()) {  // a recording of devices alone
    if (std::none_of(work.begin(), work.end(),
                     [&](const DeviceWork& item) { return rank_of(trace, item.row) == rank; }))
      return {};
    track = trace.add_track({TrackKind::kThread, "steps, as found", {}, 0, 0, rank, -1});
  }
  if (const Repetition repetition = find_repetition(trace, rank, nesting, work, roles); repetition.found()) {
    add_steps(trace, track, repetition.bounds_ns);
    return {"the repeating sequence: " + repetition.what, repetition.confidence, repetition.notes};
  }
  const auto [start, end] = whole(trace, rank);
  const int64_t bounds[] = {start, end};
  add_steps(trace, track, bounds);
  return {"the whole trace as one step: nothing in it repeats", 0, {}};
}

struct StepRange {
  int64_t start = 0, end = 0;
  int32_t step = kNoStep;
};

std::map<int, std::vector<StepRange>> step_ranges(const Trace& trace) {
  std::map<int, std::vector<StepRange>> ranges;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep) {
      const Span span = trace.spans.row(row);
      ranges[rank_of(trace, row)].push_back({span.start_ns, span.end_ns(), span.step});
    }
  for (auto& [rank, list] : ranges)
    std::sort(list.begin(), list.end(),
              [](const StepRange& a, const StepRange& b) { return a.start < b.start; });
  return ranges;
}

int32_t step_at(const std::vector<StepRange>& ranges, int64_t time) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), time,
                                [](int64_t at, const StepRange& range) { return at < range.start; });
  if (after == ranges.begin()) return kNoStep;
  --after;
  return time < after->end ? after->step : kNoStep;
}

}  // namespace

std::string without_numbers(std::string_view name) {
  std::string text;
  for (char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      text += c;
    else if (text.empty() || text.back() != '#')
      text += '#';
  }
  return text;
}

void note_on_steps(Trace& trace, std::string text) { trace.meta.notes.emplace_back(kNote, std::move(text)); }

bool mark_steps(Trace& trace, const SpanNesting& nesting, std::span<const DeviceWork> work,
                const std::vector<Role>& roles) {
  if (has_steps(trace)) return false;
  if (take_profiler_marks(trace)) {
    note(trace, {std::string(kProfilerSteps), 1, {}});
    return false;
  }
  std::set<int> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  StepsFound first;
  for (int rank : ranks) {
    StepsFound found = mark_rank(trace, rank, nesting, work, roles);
    if (first.how.empty() || found.confidence < first.confidence) first = std::move(found);
  }
  if (!first.how.empty()) note(trace, first);
  return true;
}

void assign_steps(Trace& trace, std::span<const DeviceWork> work) {
  const auto ranges = step_ranges(trace);
  SpanTable& spans = trace.spans;
  for (std::size_t row = 0; row < spans.size(); ++row) {
    if (spans.step[row] != kNoStep || trace.tracks[spans.track[row].index].kind == TrackKind::kStream)
      continue;
    const auto at = ranges.find(rank_of(trace, row));
    if (at != ranges.end()) spans.step[row] = step_at(at->second, spans.start_ns[row]);
  }
  std::set<int> with_launches;  // ranks whose host was recorded
  for (const DeviceWork& item : work)
    if (item.launch != kNoSpan || item.caller != kNoSpan) with_launches.insert(rank_of(trace, item.row));
  std::map<uint32_t, int32_t> last_on;  // by stream
  for (const DeviceWork& item : work) {
    if (const int rank = rank_of(trace, item.row); !with_launches.contains(rank)) {
      const auto at = ranges.find(rank);
      if (at != ranges.end() && spans.step[item.row] == kNoStep)
        spans.step[item.row] = step_at(at->second, spans.start_ns[item.row]);
      continue;
    }
    int32_t& step = spans.step[item.row];
    int32_t& last = last_on.try_emplace(spans.track[item.row].index, kNoStep).first->second;
    const uint32_t cause = item.launch != kNoSpan ? item.launch : item.caller;
    if (step == kNoStep) step = cause != kNoSpan ? spans.step[cause] : last;
    last = step;
  }
}

}  // namespace link
}  // namespace hone::trace
