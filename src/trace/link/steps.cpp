#include "trace/link/steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/units.h"
#include "trace/import/merge.h"
#include "trace/link/repetition.h"

namespace hone::trace {
namespace {

// Keys of Meta::notes.
constexpr std::string_view kHow = "steps";
constexpr std::string_view kConfidence = "steps: confidence";
constexpr std::string_view kNote = "steps: note";

// That a recorded block is a step of the program of which nothing repeats: it may be the program's start.
constexpr double kNothingRepeats = 0.1;

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

void add_steps(Trace& trace, TrackId track, std::span<const StepInterval> steps) {
  for (const StepInterval& step : steps)
    trace.spans.add({step.start_ns, step.end_ns - step.start_ns, track,
                     trace.strings.intern(fmt::format("step {}", step.number)), Category::kStep,
                     step.number});
}

std::vector<StepInterval> between(std::span<const int64_t> bounds) {
  std::vector<StepInterval> steps;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
    steps.push_back({bounds[i], bounds[i + 1], static_cast<int32_t>(i)});
  return steps;
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

// What is not one step of something that repeats: all that was recorded, or the longest block of it.
StepInterval whole_step(const Trace& trace, int rank) {
  const auto [start, end] = whole(trace, rank);
  StepInterval longest{start, end, 0};
  bool takes_turns = false;
  for (const RecordingBlock& block : trace.meta.blocks) {
    if (block.rank != rank || !block.recorded()) continue;
    const StepInterval part{std::max(start, block.start_ns), std::min(end, block.end_ns), 0, block.mode};
    if (!takes_turns || part.end_ns - part.start_ns > longest.end_ns - longest.start_ns) longest = part;
    takes_turns = true;
  }
  longest.end_ns = std::max(longest.end_ns, longest.start_ns);
  return longest;
}

// A correlation id as its own recording has it, without what tells ids of several files apart.
uint64_t own_id(uint64_t correlation) { return correlation & ((uint64_t{1} << kIdBits) - 1); }

// When the rank launched something, and the recorder's number of it.
std::vector<NumberedLaunch> numbered_launches(const Trace& trace, int rank,
                                              std::span<const DeviceWork> work) {
  std::vector<NumberedLaunch> launches;
  for (const DeviceWork& item : work)
    if (rank_of(trace, item.row) == rank && item.launch != kNoSpan)
      launches.push_back({trace.spans.start_ns[item.launch], own_id(trace.spans.correlation[item.launch]),
                          trace.spans.name[item.row].index});
  const auto earlier = [](const NumberedLaunch& a, const NumberedLaunch& b) {
    return std::tuple(a.time_ns, a.number, a.name) < std::tuple(b.time_ns, b.number, b.name);
  };
  std::sort(launches.begin(), launches.end(), earlier);
  const auto same = [](const NumberedLaunch& a, const NumberedLaunch& b) {
    return a.time_ns == b.time_ns && a.number == b.number;
  };
  launches.erase(std::unique(launches.begin(), launches.end(), same), launches.end());
  return launches;
}

// A way to divide what a rank did.
struct Division {
  std::vector<StepInterval> steps;  // all that were recorded
  std::vector<uint32_t> rows = {};  // the ranges that they are; else steps are added
  std::vector<BlockSteps> blocks = {};
  std::vector<SampledStep> sampled = {};
  StepsFound found;
};

class RankDivider {
 public:
  RankDivider(const Trace& trace, int rank, const SpanNesting& nesting, std::span<const DeviceWork> work,
              const std::vector<Role>& roles)
      : trace_(trace),
        rank_(rank),
        nesting_(nesting),
        work_(work),
        roles_(roles),
        launches_(numbered_launches(trace, rank, work)) {}

  Division run() const {
    Division division = by_marks();
    if (!division.steps.empty()) return division;
    division = by_ranges();
    if (division.steps.empty()) division = by_repetition();
    if (division.steps.empty()) {
      division.steps = {whole_step(trace_, rank_)};
      const bool repeats = !division.found.how.empty(), blocks = !trace_.meta.blocks.empty();
      division.found = {
          (blocks ? "the longest recorded block as one step: " : "the whole trace as one step: ") +
              (repeats ? division.found.how : "nothing in it repeats"),
          blocks && !repeats ? kNothingRepeats : 0,
          {}};
    } else {
      division.blocks = block_steps_by_launches(trace_.meta, rank_, division.steps, launches_);
    }
    return division;
  }

 private:
  Division by_marks() const {
    std::vector<int64_t> starts;
    std::vector<uint32_t> names;
    for (const NumberedLaunch& launch : launches_) {
      starts.push_back(launch.time_ns);
      names.push_back(launch.name);
    }
    MarkedSteps marked = find_marked_steps(trace_, rank_, starts, names);
    drop_torn_steps(trace_.meta, rank_, starts, marked.steps);
    Division division;
    if (!marked.found()) return division;
    division.found = {marked.what(), marked.confidence(), {}};
    const bool watched = marked.kind == StepMarkKind::kApiCall &&
                         std::any_of(marked.blocks.begin(), marked.blocks.end(), [](const BlockSteps& block) {
                           return block.mode == BlockMode::kUntouched;
                         });
    if (watched)
      division.found.notes.emplace_back(
          "the program marks no steps itself: before anything was recorded CUPTI was there to note that "
          "call, "
          "which may have cost up to 0.5 µs a launch in steps that wait for launches");
    division.steps = std::move(marked.steps);
    division.blocks = std::move(marked.blocks);
    division.sampled = std::move(marked.sampled);
    return division;
  }

  Division by_ranges() const {
    Division division;
    const RangeGroup ranges = best_ranges(trace_, rank_);
    if (ranges.rows.empty()) return division;
    std::vector<StepInterval> steps;
    std::vector<int64_t> starts;
    for (std::size_t i = 0; i < ranges.rows.size(); ++i) {
      const Span span = trace_.spans.row(ranges.rows[i]);
      steps.push_back({span.start_ns, span.end_ns(), static_cast<int32_t>(i)});
      starts.push_back(span.start_ns);
    }
    const std::string_view name = trace_.strings.text(trace_.spans.name[ranges.rows[0]]);
    division.found.confidence = 0.95 * ranges.covered;
    if (is_module_call(name)) {
      // Nobody meant the call for a step: what the program does until the next one is part of its turn, as from mark to mark.
      division.steps = within_blocks(trace_.meta, rank_, between(starts));
      division.found.how =
          fmt::format("calls of the module '{}', from one to the next", without_numbers(module_name(name)));
      return division;
    }
    division.found.how = fmt::format("ranges of the program named '{}'", without_numbers(name));
    if (std::string outside = time_outside(steps); !outside.empty())
      division.found.notes.push_back(std::move(outside));
    division.rows = ranges.rows;
    division.steps = within_blocks(trace_.meta, rank_, steps);
    return division;
  }

  // Of ranges that leave out much of the time: how much. Empty: of others.
  std::string time_outside(const std::vector<StepInterval>& ranges) const {
    constexpr double kMuch = 0.2;
    const std::vector<RecordingBlock>& blocks = trace_.meta.blocks;
    double within = 0, outside = 0;
    std::size_t gaps = 0;
    for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
      const StepInterval &range = ranges[i], &next = ranges[i + 1];
      if (!blocks.empty() &&
          block_at(blocks, rank_, range.start_ns) != block_at(blocks, rank_, next.start_ns))
        continue;
      within += static_cast<double>(range.end_ns - range.start_ns);
      outside += static_cast<double>(next.start_ns - range.end_ns);
      ++gaps;
    }
    if (gaps == 0 || outside <= kMuch * (within + outside)) return "";
    return fmt::format(
        "these ranges cover {} of the time: from one to the next pass {} more, which belong to no step; mark "
        "whole turns of the program to have that explained, too",
        format_percent(within / (within + outside)), format_ms(outside / static_cast<double>(gaps) * 1e-6));
  }

  Division by_repetition() const {
    Division division;
    const Repetition repetition = find_repetition(trace_, rank_, nesting_, work_, roles_);
    if (!repetition.found()) {
      division.found.how = repetition.what;
      return division;
    }
    division.steps = within_blocks(trace_.meta, rank_, between(repetition.bounds_ns));
    division.found = {"the repeating sequence: " + repetition.what, repetition.confidence, repetition.notes};
    return division;
  }

  const Trace& trace_;
  int rank_;
  const SpanNesting& nesting_;
  std::span<const DeviceWork> work_;
  const std::vector<Role>& roles_;
  std::vector<NumberedLaunch> launches_;
};

// Where the steps of a rank are marked; invalid: it has nothing.
TrackId track_for_steps(Trace& trace, int rank, std::span<const DeviceWork> work) {
  const TrackId track = busiest_thread(trace, rank);
  if (track.valid()) return track;
  // Else a recording of devices alone.
  if (std::none_of(work.begin(), work.end(),
                   [&](const DeviceWork& item) { return rank_of(trace, item.row) == rank; }))
    return {};
  return trace.add_track({TrackKind::kThread, "steps, as found", {}, 0, 0, rank, -1});
}

Division mark_rank(Trace& trace, int rank, const SpanNesting& nesting, std::span<const DeviceWork> work,
                   const std::vector<Role>& roles) {
  Division division = RankDivider(trace, rank, nesting, work, roles).run();
  const bool drives_device = std::any_of(
      work.begin(), work.end(), [&](const DeviceWork& item) { return rank_of(trace, item.row) == rank; });
  const std::vector<StepInterval> shown = shown_steps(division.steps, drives_device);
  for (BlockSteps& block : division.blocks) block.shown = !shown.empty() && block.mode == shown.front().mode;
  if (!division.rows.empty()) {
    for (const StepInterval& step : shown)
      make_step(trace, division.rows[static_cast<std::size_t>(step.number)], step.number);
    return division;
  }
  const TrackId track = track_for_steps(trace, rank, work);
  if (!track.valid()) return {};
  add_steps(trace, track, shown);
  return division;
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

MarkedRanks mark_steps(Trace& trace, const SpanNesting& nesting, std::span<const DeviceWork> work,
                       const std::vector<Role>& roles) {
  if (has_steps(trace)) {
    if (trace.meta.framework != Framework::kHone && steps_found(trace.meta).how.empty())
      note(trace, {std::string(kMarkedSteps), 1, {}});
    return {};
  }
  if (take_profiler_marks(trace)) {
    note(trace, {std::string(kProfilerSteps), 1, {}});
    return {};
  }
  std::set<int> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  MarkedRanks marked{true};
  StepsFound first;
  for (int rank : ranks) {
    Division division = mark_rank(trace, rank, nesting, work, roles);
    if (first.how.empty() || division.found.confidence < first.confidence) first = std::move(division.found);
    trace.meta.block_steps.insert(trace.meta.block_steps.end(), division.blocks.begin(),
                                  division.blocks.end());
    trace.meta.sampled_steps.insert(trace.meta.sampled_steps.end(), division.sampled.begin(),
                                    division.sampled.end());
    if (!trace.meta.blocks.empty()) marked.recorded[rank] = std::move(division.steps);
  }
  if (!first.how.empty()) note(trace, first);
  return marked;
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
  struct LastStep {
    int32_t step = kNoStep;
    const RecordingBlock* block = nullptr;  // a step ends with its block
  };
  std::map<uint32_t, LastStep> last_on;  // by stream
  for (const DeviceWork& item : work) {
    if (const int rank = rank_of(trace, item.row); !with_launches.contains(rank)) {
      const auto at = ranges.find(rank);
      if (at != ranges.end() && spans.step[item.row] == kNoStep)
        spans.step[item.row] = step_at(at->second, spans.start_ns[item.row]);
      continue;
    }
    int32_t& step = spans.step[item.row];
    LastStep& last = last_on[spans.track[item.row].index];
    const uint32_t cause = item.launch != kNoSpan ? item.launch : item.caller;
    const RecordingBlock* block =
        block_at(trace.meta.blocks, rank_of(trace, item.row), spans.start_ns[item.row]);
    if (step == kNoStep && cause != kNoSpan) step = spans.step[cause];
    if (step == kNoStep && cause == kNoSpan && last.block == block) step = last.step;
    last = {step, block};
  }
}

}  // namespace link
}  // namespace hone::trace
