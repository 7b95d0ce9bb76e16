#include "trace/link/recorded_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/statistics.h"

namespace hone::trace::link {
namespace {

constexpr int kMostMarksAStep = 8;
constexpr int kMostTurnsAStep = 64;  // of a call that comes after each of a step's launches
constexpr double kOutOfTurnNames =
    0.05;  // of the marks after which something else was launched than a step before
constexpr double kAlikeLaunches = 0.02;  // of the launches of one step may differ in the next

struct MarkGroup {
  StepMarkKind kind = StepMarkKind::kUser;
  std::string name;
  std::vector<int64_t> times;
};

// How surely marks of a kind come once a step, surest first.
constexpr std::array<StepMarkKind, kStepMarkKindCount> kSurestFirst = {
    StepMarkKind::kUser,  StepMarkKind::kOptimizer, StepMarkKind::kData,   StepMarkKind::kModule,
    StepMarkKind::kRange, StepMarkKind::kHostWait,  StepMarkKind::kApiCall};

std::size_t doubt(StepMarkKind kind) {
  return static_cast<std::size_t>(std::find(kSurestFirst.begin(), kSurestFirst.end(), kind) -
                                  kSurestFirst.begin());
}

std::vector<RecordingBlock> blocks_of(const Meta& meta, int rank) {
  std::vector<RecordingBlock> blocks;
  for (const RecordingBlock& block : meta.blocks)
    if (block.rank == rank) blocks.push_back(block);
  return blocks;
}

// A call that is watched in blocks left alone is recorded like any other elsewhere. One that was noted the moment before
// its block began to be recorded must not be there twice.
void add_recorded_calls(const Trace& trace, int rank, MarkGroup& group) {
  const StringId name = trace.strings.find(group.name);
  if (!name.valid()) return;
  const auto marked = [&](int64_t time_ns) {
    const RecordingBlock* block = block_at(trace.meta.blocks, rank, time_ns);
    return block != nullptr && block->recorded();
  };
  std::erase_if(group.times, marked);
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const Track& track = trace.tracks[trace.spans.track[row].index];
    if (trace.spans.name[row] == name && track.kind == TrackKind::kThread && track.rank == rank)
      group.times.push_back(trace.spans.start_ns[row]);
  }
  std::sort(group.times.begin(), group.times.end());
}

// Surest first; of one kind the rarest first, which enclose the most.
std::vector<MarkGroup> mark_groups(const Trace& trace, int rank) {
  std::map<std::pair<StepMarkKind, std::string>, std::vector<int64_t>> times;
  for (const StepMark& mark : trace.meta.marks)
    if (mark.rank == rank) times[{mark.kind, mark.name}].push_back(mark.time_ns);
  std::vector<MarkGroup> groups;
  for (auto& [key, list] : times) {
    // Calls that were noted when the session looked for the one that comes once a step are not that one.
    const bool counts =
        key.first != StepMarkKind::kApiCall || std::any_of(list.begin(), list.end(), [&](int64_t time_ns) {
          return block_at(trace.meta.blocks, rank, time_ns) != nullptr;
        });
    if (counts) groups.push_back({key.first, key.second, std::move(list)});
  }
  for (MarkGroup& group : groups)
    if (group.kind == StepMarkKind::kApiCall) add_recorded_calls(trace, rank, group);
  std::stable_sort(groups.begin(), groups.end(), [](const MarkGroup& a, const MarkGroup& b) {
    return std::pair(doubt(a.kind), a.times.size()) < std::pair(doubt(b.kind), b.times.size());
  });
  return groups;
}

// The marks of a group that lie in one block: times[first, last).
struct Stretch {
  RecordingBlock block;
  std::size_t first = 0, last = 0;
  std::vector<double> launches = {};  // from each mark to the next
  std::vector<uint64_t> names = {};   // what these launched: equal numbers, equal names in equal order
};

uint64_t number_of_names(std::span<const uint32_t> names, std::size_t from, std::size_t to) {
  uint64_t number = 0xcbf29ce484222325u;  // FNV-1a
  for (std::size_t i = from; i < std::min(to, names.size()); ++i)
    number = (number ^ names[i]) * 0x100000001b3u;
  return number;
}

std::size_t place_of_time(std::span<const int64_t> sorted, int64_t time_ns) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), time_ns) - sorted.begin());
}

std::vector<Stretch> stretches_of(const std::vector<RecordingBlock>& blocks,
                                  const std::vector<int64_t>& times, std::span<const int64_t> launches,
                                  std::span<const uint32_t> names) {
  std::vector<Stretch> stretches;
  for (const RecordingBlock& block : blocks) {
    Stretch stretch{block, place_of_time(times, block.start_ns), place_of_time(times, block.end_ns)};
    for (std::size_t i = stretch.first; i + 1 < stretch.last; ++i) {
      const std::size_t from = place_of_time(launches, times[i]), to = place_of_time(launches, times[i + 1]);
      stretch.launches.push_back(static_cast<double>(to - from));
      stretch.names.push_back(number_of_names(names, from, to));
    }
    stretches.push_back(std::move(stretch));
  }
  return stretches;
}

double sum_of(const std::vector<double>& values, std::size_t from, std::size_t count) {
  double sum = 0;
  for (std::size_t i = from; i < from + count; ++i) sum += values[i];
  return sum;
}

// How much the launches of as many marks in a row differ from those of as many after them: mean deviation ÷ mean. More
// than anything can be: no block has twice as many.
double unlikeness(const std::vector<Stretch>& stretches, std::size_t marks) {
  double apart = 0, all = 0;
  for (const Stretch& stretch : stretches) {
    if (!stretch.block.recorded()) continue;
    for (std::size_t i = 0; i + 2 * marks <= stretch.launches.size(); ++i) {
      const double here = sum_of(stretch.launches, i, marks),
                   next = sum_of(stretch.launches, i + marks, marks);
      apart += std::abs(next - here);
      all += std::max(here, next);
    }
  }
  return all > 0 ? apart / all : 2;
}

// The share of marks after which something else was launched than as many marks before; more than anything can be: no
// recorded block has twice as many.
double names_out_of_turn(const std::vector<Stretch>& stretches, std::size_t marks) {
  double apart = 0, all = 0;
  for (const Stretch& stretch : stretches) {
    if (!stretch.block.recorded() || stretch.names.size() < 2 * marks) continue;
    for (std::size_t i = 0; i + marks < stretch.names.size(); ++i) {
      apart += stretch.names[i] != stretch.names[i + marks] ? 1 : 0;
      all += 1;
    }
  }
  return all > 0 ? apart / all : 2;
}

// Of a call that nobody meant as a mark and that comes after every launch: kernels of several names in turn, each waited for,
// are one step together. 1: no turns, or none that come again.
int turns_a_step(const std::vector<Stretch>& stretches) {
  constexpr double kEveryLaunch = 1;
  std::vector<double> launches;
  for (const Stretch& stretch : stretches)
    if (stretch.block.recorded())
      launches.insert(launches.end(), stretch.launches.begin(), stretch.launches.end());
  if (launches.empty() || median(launches) > kEveryLaunch) return 1;
  for (int marks = 1; marks <= kMostTurnsAStep; ++marks)
    if (names_out_of_turn(stretches, static_cast<std::size_t>(marks)) <= kOutOfTurnNames) return marks;
  return 1;
}

bool is_meant_as_mark(StepMarkKind kind) {
  return kind != StepMarkKind::kApiCall && kind != StepMarkKind::kHostWait;
}

// Two optimizers of one class, of which one steps after the other, mark a step twice.
int marks_a_step(const std::vector<Stretch>& stretches) {
  for (int marks = 1; marks <= kMostMarksAStep; ++marks)
    if (unlikeness(stretches, static_cast<std::size_t>(marks)) <= kAlikeLaunches) return marks;
  return 1;
}

// What was launched between the marks of one step.
struct StepPattern {
  std::vector<double> launches;
  std::vector<uint64_t> names;
};

// Which mark of a stretch begins a step, if steps have several: where launches follow as in the first stretch.
std::size_t phase_of(const Stretch& stretch, const StepPattern& pattern) {
  const std::size_t marks = pattern.launches.size();
  std::size_t best = 0;
  double least = -1;
  for (std::size_t offset = 0; offset < marks && offset + marks <= stretch.launches.size(); ++offset) {
    double apart = 0;
    for (std::size_t i = 0; i < marks; ++i)
      apart += std::abs(stretch.launches[offset + i] - pattern.launches[i]) +
               (stretch.names[offset + i] == pattern.names[i] ? 0 : 1);
    if (least < 0 || apart < least) {
      least = apart;
      best = offset;
    }
  }
  return best;
}

void add_steps_of(const Stretch& stretch, const std::vector<int64_t>& times, StepPattern& pattern,
                  MarkedSteps& found) {
  const auto marks = static_cast<std::size_t>(found.marks_a_step);
  if (!stretch.block.recorded() || stretch.launches.size() < marks) return;
  if (pattern.launches.empty()) {
    const auto step = static_cast<std::ptrdiff_t>(marks);
    pattern = {{stretch.launches.begin(), stretch.launches.begin() + step},
               {stretch.names.begin(), stretch.names.begin() + step}};
  }
  for (std::size_t i = stretch.first + phase_of(stretch, pattern); i + marks < stretch.last; i += marks)
    // One that began before anything was recorded is not known as a whole.
    if (times[i] >= 0 && times[i] < times[i + marks])
      found.steps.push_back({times[i], times[i + marks],
                             static_cast<int32_t>(std::min(i / marks, std::size_t{1} << 30)),
                             stretch.block.mode});
}

// Over whole steps, but for the last and the first; of blocks that follow others the first quarter: the recorder has just
// come or gone, and a host whose queue it emptied runs ahead of the device until that is full again. There is one untouched
// block, so parts of it tell how even its steps are.
void add_means(const RecordingBlock& block, std::span<const int64_t> bounds, std::vector<BlockSteps>& into) {
  constexpr std::size_t kParts = 12;
  if (bounds.size() < 4) return;
  const bool untouched = block.mode == BlockMode::kUntouched;
  const std::size_t first = untouched ? 1 : std::max<std::size_t>(1, (bounds.size() - 1) / 4);
  const std::size_t last = bounds.size() - 2;
  const std::size_t parts = untouched ? std::min(kParts, last - first) : 1;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t from = first + (last - first) * i / parts,
                      to = first + (last - first) * (i + 1) / parts;
    const auto steps = static_cast<double>(to - from);
    const auto ns = static_cast<double>(bounds[to] - bounds[from]);
    if (!(ns > 0)) continue;
    std::vector<double> each;
    for (std::size_t k = from; k < to; ++k) each.push_back(static_cast<double>(bounds[k + 1] - bounds[k]));
    into.push_back({block.rank, block.number, block.mode, steps, ns / steps, false, median(each)});
  }
}

}  // namespace

std::vector<StepInterval> within_blocks(const Meta& meta, int rank, std::span<const StepInterval> steps) {
  std::vector<StepInterval> kept;
  const bool takes_turns = std::any_of(meta.blocks.begin(), meta.blocks.end(),
                                       [&](const RecordingBlock& block) { return block.rank == rank; });
  for (StepInterval step : steps) {
    const RecordingBlock* block = block_at(meta.blocks, rank, step.start_ns);
    if (takes_turns && (block == nullptr || !block->recorded() || step.end_ns > block->end_ns)) continue;
    if (takes_turns) step.mode = block->mode;
    kept.push_back(step);
  }
  return kept;
}

void drop_torn_steps(const Meta& meta, int rank, std::span<const int64_t> launches,
                     std::vector<StepInterval>& steps) {
  if (meta.blocks.empty() || launches.empty()) return;
  std::vector<double> counts;
  for (const StepInterval& step : steps)
    counts.push_back(
        static_cast<double>(place_of_time(launches, step.end_ns) - place_of_time(launches, step.start_ns)));
  const double whole = counts.empty() ? 0 : (1 - kAlikeLaunches) * median(counts);
  std::vector<StepInterval> kept;
  const RecordingBlock* complete = nullptr;  // the block of which later steps are
  for (std::size_t i = steps.size(); i-- > 0;) {
    const RecordingBlock* block = block_at(meta.blocks, rank, steps[i].start_ns);
    if (block != complete && counts[i] < whole) continue;
    complete = block;
    kept.push_back(steps[i]);
  }
  steps.assign(kept.rbegin(), kept.rend());
}

std::vector<StepInterval> shown_steps(std::span<const StepInterval> steps, bool drives_device) {
  std::array<BlockMode, 3> modes = {BlockMode::kTimeline, BlockMode::kOperators, BlockMode::kStacks};
  if (!drives_device) std::rotate(modes.begin(), modes.begin() + 1, modes.end());
  for (const BlockMode mode : modes) {
    std::vector<StepInterval> kept;
    std::copy_if(steps.begin(), steps.end(), std::back_inserter(kept),
                 [&](const StepInterval& step) { return step.mode == mode; });
    if (!kept.empty()) return kept;
  }
  return {steps.begin(), steps.end()};
}

std::string MarkedSteps::what() const {
  std::string text;
  switch (kind) {
    case StepMarkKind::kUser:
      text = "the program's own marks";
      break;
    case StepMarkKind::kOptimizer:
      text = "the ends of the optimizer's steps";
      break;
    case StepMarkKind::kData:
      text = "the batches that were asked for";
      break;
    case StepMarkKind::kModule:
      text = "the calls of the outermost module";
      break;
    case StepMarkKind::kApiCall:
      text = "a call that comes once a step";
      break;
    case StepMarkKind::kHostWait:
      text = "what waits for the device";
      break;
    case StepMarkKind::kRange:
      text = "an NVTX range of the program";
      break;
  }
  if (!name.empty()) text += fmt::format(" ({})", name);
  if (marks_a_step > 1) text += fmt::format(", {} a step", marks_a_step);
  return text;
}

double MarkedSteps::confidence() const {
  constexpr std::array<double, kStepMarkKindCount> kConfidenceOfKind = {1, 1, 0.9, 0.8, 0.8, 0.6, 0.6};
  return kConfidenceOfKind[doubt(kind)];
}

MarkedSteps find_marked_steps(const Trace& trace, int rank, std::span<const int64_t> launches,
                              std::span<const uint32_t> names) {
  const std::vector<RecordingBlock> blocks = blocks_of(trace.meta, rank);
  if (blocks.empty()) return {};
  for (const MarkGroup& group : mark_groups(trace, rank)) {
    const std::vector<Stretch> stretches = stretches_of(blocks, group.times, launches, names);
    MarkedSteps found;
    found.kind = group.kind;
    found.name = group.name;
    found.marks_a_step = marks_a_step(stretches);
    if (!is_meant_as_mark(group.kind))
      found.marks_a_step = std::max(found.marks_a_step, turns_a_step(stretches));
    StepPattern pattern;
    for (const Stretch& stretch : stretches) add_steps_of(stretch, group.times, pattern, found);
    if (!found.found()) continue;
    for (const Stretch& stretch : stretches) {
      std::vector<int64_t> bounds;
      for (std::size_t i = stretch.first; i < stretch.last; i += static_cast<std::size_t>(found.marks_a_step))
        bounds.push_back(group.times[i]);
      add_means(stretch.block, bounds, found.blocks);
      if (stretch.block.mode != BlockMode::kSampling) continue;
      for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
        if (bounds[i] >= 0 && bounds[i] < bounds[i + 1])
          found.sampled.push_back({rank, bounds[i], bounds[i + 1]});
    }
    return found;
  }
  return {};
}

std::vector<BlockSteps> block_steps_by_launches(const Meta& meta, int rank,
                                                std::span<const StepInterval> steps,
                                                std::span<const NumberedLaunch> launches) {
  const auto before = [&](int64_t time_ns) {
    return std::lower_bound(
               launches.begin(), launches.end(), time_ns,
               [](const NumberedLaunch& launch, int64_t time) { return launch.time_ns < time; }) -
           launches.begin();
  };
  std::vector<double> a_step;
  for (const StepInterval& step : steps)
    if (const auto count = before(step.end_ns) - before(step.start_ns); count > 0)
      a_step.push_back(static_cast<double>(count));
  std::vector<BlockSteps> found;
  const double launches_a_step = a_step.empty() ? 0 : median(a_step);
  for (const RecordingBlock& block : blocks_of(meta, rank)) {
    if (block.recorded()) {
      std::vector<int64_t> bounds;
      for (const StepInterval& step : steps)
        if (block.contains(step.start_ns) && (bounds.empty() || bounds.back() == step.start_ns)) {
          if (bounds.empty()) bounds.push_back(step.start_ns);
          bounds.push_back(step.end_ns);
        }
      add_means(block, bounds, found);
    } else if (launches_a_step > 0 && block.first_launch > 0 && block.last_launch > block.first_launch) {
      const double count = static_cast<double>(block.last_launch - block.first_launch) / launches_a_step;
      if (count >= 1)
        found.push_back({rank, block.number, block.mode, count,
                         static_cast<double>(block.end_ns - block.start_ns) / count});
    }
  }
  return found;
}

}  // namespace hone::trace::link
