#include "trace/link/carry_operators.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hone::trace::link {
namespace {

// How far apart two steps may be in their launches where they are aligned, and how often that is tried.
constexpr std::size_t kMostSkipped = 128;
constexpr int kMostMismatches = 256;
constexpr std::size_t kMostDonors = 3;  // that a step is compared with

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// What is the same for one launch in every step.
uint64_t launch_key(const Trace& trace, uint32_t row) {
  uint64_t key = mixed(static_cast<uint64_t>(trace.spans.category[row]), trace.spans.name[row].index);
  if (const Launch* launch = find_detail(trace.launches, row))
    for (const uint32_t blocks : launch->grid) key = mixed(key, blocks);
  if (const Copy* copy = find_detail(trace.copies, row)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, &copy->bytes, sizeof bytes);
    key = mixed(key, bytes);
  }
  return key;
}

struct StepLaunch {
  int64_t time_ns = 0;
  uint64_t key = 0;
  uint32_t work = 0;  // index into the device work
};

// The launches of one step, in order.
struct StepLaunches {
  std::vector<StepLaunch> launches;
  uint64_t hash = 0;
  std::vector<uint32_t> host = {};  // rows of what comes with operators
  bool has_callers = false;
  bool lacks_callers = false;
};

const StepInterval* step_at(std::span<const StepInterval> steps, int64_t time_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time_ns,
                       [](int64_t time, const StepInterval& step) { return time < step.start_ns; });
  return after != steps.begin() && std::prev(after)->contains(time_ns) ? &*std::prev(after) : nullptr;
}

// Moments of one step as moments of another: what is the same in both is at the same moment, and in between time passes
// evenly.
class TimeMap {
 public:
  // A moment that would make time fall is left out: of two that contradict each other the one that was added first stays.
  void add(int64_t from_ns, int64_t to_ns) {
    const auto after = std::lower_bound(moments_.begin(), moments_.end(), std::pair(from_ns, INT64_MIN));
    if (after != moments_.end() && (after->first == from_ns || to_ns > after->second)) return;
    if (after != moments_.begin() && to_ns < std::prev(after)->second) return;
    moments_.emplace(after, from_ns, to_ns);
  }

  // Never falls where `time_ns` rises. What lies outside of all moments is at the nearest.
  int64_t operator()(int64_t time_ns) const {
    const auto after = std::upper_bound(moments_.begin(), moments_.end(), time_ns,
                                        [](int64_t time, const auto& moment) { return time < moment.first; });
    if (after == moments_.begin()) return moments_.front().second;
    const auto [from, to] = *std::prev(after);
    if (after == moments_.end()) return to;
    const double share = static_cast<double>(time_ns - from) / static_cast<double>(after->first - from);
    return to + static_cast<int64_t>(share * static_cast<double>(after->second - to));
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> moments_;
};

// What a recorder writes down only with operators. Calls of the runtime are recorded in every step.
bool comes_with_operators(Category category) {
  switch (category) {
    case Category::kOperator:
    case Category::kRegion:
    case Category::kInput:
    case Category::kIo:
    case Category::kCompile:
    case Category::kFunction:
      return true;
    default:
      return false;
  }
}

class OperatorCarrier {
 public:
  OperatorCarrier(Trace& trace, int rank, std::span<const StepInterval> steps, std::vector<DeviceWork>& work)
      : trace_(trace), rank_(rank), intervals_(steps), work_(work) {}

  int run() {
    collect();
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (intervals_[i].mode != BlockMode::kTimeline && steps_[i].has_callers) donors_.push_back(i);
    if (donors_.empty()) return 0;
    collect_host_spans();
    int given = 0;
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (intervals_[i].mode == BlockMode::kTimeline && steps_[i].lacks_callers) given += receive(i) ? 1 : 0;
    return given;
  }

 private:
  // A launch's order is that of the host; work whose launch was not recorded stands where it ran.
  void collect() {
    steps_.resize(intervals_.size());
    for (uint32_t i = 0; i < work_.size(); ++i) {
      const DeviceWork& item = work_[i];
      if (rank_of(trace_, item.row) != rank_) continue;
      const int64_t time_ns = trace_.spans.start_ns[item.launch != kNoSpan ? item.launch : item.row];
      const StepInterval* interval = step_at(intervals_, time_ns);
      if (interval == nullptr) continue;
      StepLaunches& step = steps_[static_cast<std::size_t>(interval - intervals_.data())];
      step.launches.push_back({time_ns, launch_key(trace_, item.row), i});
      (item.caller != kNoSpan ? step.has_callers : step.lacks_callers) = true;
    }
    for (StepLaunches& step : steps_) {
      std::stable_sort(step.launches.begin(), step.launches.end(),
                       [](const StepLaunch& a, const StepLaunch& b) { return a.time_ns < b.time_ns; });
      for (const StepLaunch& launch : step.launches) step.hash = mixed(step.hash, launch.key);
    }
  }

  using Matches = std::vector<std::pair<uint32_t, uint32_t>>;  // works: of the donor, of the receiver

  // Of steps with operators, and of those that get them.
  void collect_host_spans() {
    for (uint32_t row = 0; row < trace_.spans.size(); ++row) {
      if (!comes_with_operators(trace_.spans.category[row]) || rank_of(trace_, row) != rank_ ||
          trace_.tracks[trace_.spans.track[row].index].kind == TrackKind::kStream)
        continue;
      const StepInterval* interval = step_at(intervals_, trace_.spans.start_ns[row]);
      if (interval != nullptr)
        steps_[static_cast<std::size_t>(interval - intervals_.data())].host.push_back(row);
    }
  }

  // False: no step with operators is like it.
  bool receive(uint32_t index) {
    constexpr double kAlikeSteps = 0.5;  // of its launches have a counterpart
    const StepLaunches& step = steps_[index];
    uint32_t donor = donors_.front();
    Matches best;
    for (const uint32_t candidate : nearest_donors(step)) {
      Matches matches = align(steps_[candidate], step);
      if (matches.size() > best.size()) {
        best = std::move(matches);
        donor = candidate;
      }
      if (best.size() == step.launches.size()) break;
    }
    if (static_cast<double>(best.size()) < kAlikeSteps * static_cast<double>(step.launches.size()))
      return false;
    const std::unordered_map<uint32_t, uint32_t> copies =
        copy_host_spans(donor, index, time_map(donor, index, best));
    for (const auto& [from, to] : best) {
      const auto copy = copies.find(work_[from].caller);
      if (work_[to].caller == kNoSpan && copy != copies.end()) work_[to].caller = copy->second;
    }
    return true;
  }

  TimeMap time_map(uint32_t donor, uint32_t receiver, const Matches& matches) const {
    TimeMap map;
    map.add(intervals_[donor].start_ns, intervals_[receiver].start_ns);
    map.add(intervals_[donor].end_ns, intervals_[receiver].end_ns);
    for (const auto& [from, to] : matches) {
      if (work_[from].launch == kNoSpan || work_[to].launch == kNoSpan) continue;
      const Span a = trace_.spans.row(work_[from].launch), b = trace_.spans.row(work_[to].launch);
      map.add(a.start_ns, b.start_ns);
      map.add(a.end_ns(), b.end_ns());
    }
    add_own_spans(donor, receiver, map);
    return map;
  }

  // What the receiver has itself is where it is there: what is copied lies beside it as it did in the donor.
  void add_own_spans(uint32_t donor, uint32_t receiver, TimeMap& map) const {
    using Kind = std::tuple<Category, uint32_t, uint32_t>;  // name, track
    const auto by_kind = [this](uint32_t step) {
      std::map<Kind, std::vector<Span>> found;
      for (const uint32_t row : steps_[step].host) {
        const Span span = trace_.spans.row(row);
        found[{span.category, span.name.index, span.track.index}].push_back(span);
      }
      return found;
    };
    const std::map<Kind, std::vector<Span>> theirs = by_kind(donor);
    for (const auto& [kind, own] : by_kind(receiver)) {
      const auto same = theirs.find(kind);
      if (same == theirs.end() || same->second.size() != own.size()) continue;
      for (std::size_t i = 0; i < own.size(); ++i) {
        map.add(same->second[i].start_ns, own[i].start_ns);
        map.add(same->second[i].end_ns(), own[i].end_ns());
      }
    }
  }

  // Returns which row became which. What the step has itself (ranges that are recorded always) is not copied.
  std::unordered_map<uint32_t, uint32_t> copy_host_spans(uint32_t donor, uint32_t receiver,
                                                         const TimeMap& moment) {
    const int32_t number = number_of(receiver);
    std::set<std::pair<Category, uint32_t>> own;
    for (const uint32_t row : steps_[receiver].host)
      own.emplace(trace_.spans.category[row], trace_.spans.name[row].index);
    std::unordered_map<uint32_t, uint32_t> copies;
    for (const uint32_t row : steps_[donor].host) {
      Span span = trace_.spans.row(row);
      if (own.contains({span.category, span.name.index})) continue;
      const int64_t start = moment(span.start_ns), end = moment(span.end_ns());
      span.start_ns = start;
      span.duration_ns = std::max<int64_t>(0, end - start);
      span.step = number;
      copies[row] = static_cast<uint32_t>(trace_.spans.size());
      trace_.spans.add(span);
      const Call* call = find_detail(trace_.calls, row);
      if (call == nullptr) continue;
      Call copied = *call;
      copied.span = copies[row];
      trace_.calls.push_back(copied);
    }
    return copies;
  }

  // Under which the step is shown.
  int32_t number_of(uint32_t step) const {
    for (const StepLaunch& launch : steps_[step].launches)
      if (const uint32_t row = work_[launch.work].launch; row != kNoSpan) return trace_.spans.step[row];
    return kNoStep;
  }

  // The same sequence first, then those of about as many launches.
  std::vector<uint32_t> nearest_donors(const StepLaunches& step) const {
    std::vector<uint32_t> nearest = donors_;
    const auto apart = [&](uint32_t donor) {
      const std::size_t own = step.launches.size(), other = steps_[donor].launches.size();
      return std::pair(steps_[donor].hash != step.hash, own > other ? own - other : other - own);
    };
    const std::size_t count = std::min(nearest.size(), kMostDonors);
    std::partial_sort(
        nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(count), nearest.end(),
        [&](uint32_t a, uint32_t b) { return std::pair(apart(a), a) < std::pair(apart(b), b); });
    nearest.resize(count);
    return nearest;
  }

  // Side by side; where they differ, on from the nearest place at which two launches in a row agree again.
  static Matches align(const StepLaunches& donor, const StepLaunches& receiver) {
    const std::vector<StepLaunch>&a = donor.launches, &b = receiver.launches;
    Matches matches;
    int mismatches = 0;
    for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
      if (a[i].key == b[k].key) {
        matches.emplace_back(a[i++].work, b[k++].work);
        continue;
      }
      if (++mismatches > kMostMismatches) break;
      const auto [skip_a, skip_b] = resume(std::span(a).subspan(i), std::span(b).subspan(k));
      i += skip_a;
      k += skip_b;
    }
    return matches;
  }

  static std::pair<std::size_t, std::size_t> resume(std::span<const StepLaunch> a,
                                                    std::span<const StepLaunch> b) {
    const auto agree = [&](std::size_t i, std::size_t k) {
      if (i >= a.size() || k >= b.size() || a[i].key != b[k].key) return false;
      const bool last = i + 1 >= a.size() || k + 1 >= b.size();
      return last || a[i + 1].key == b[k + 1].key;
    };
    for (std::size_t skipped = 1; skipped <= kMostSkipped; ++skipped)
      for (std::size_t i = 0; i <= skipped; ++i)
        if (agree(i, skipped - i)) return {i, skipped - i};
    return {1, 1};
  }

  Trace& trace_;
  int rank_;
  std::span<const StepInterval> intervals_;
  std::vector<DeviceWork>& work_;
  std::vector<StepLaunches> steps_;  // as intervals_
  std::vector<uint32_t> donors_;     // into steps_
};

}  // namespace

int carry_operators(Trace& trace, const std::map<int, std::vector<StepInterval>>& recorded,
                    std::vector<DeviceWork>& work) {
  int given = 0;
  for (const auto& [rank, steps] : recorded) given += OperatorCarrier(trace, rank, steps, work).run();
  return given;
}

std::vector<int32_t> recorded_steps_by_row(const Trace& trace,
                                           const std::map<int, std::vector<StepInterval>>& recorded) {
  std::vector<int32_t> by_row = trace.spans.step;
  if (recorded.empty()) return by_row;
  for (std::size_t row = 0; row < by_row.size(); ++row) {
    const Track& track = trace.tracks[trace.spans.track[row].index];
    const auto steps = recorded.find(track.rank);
    if (by_row[row] != kNoStep || track.kind == TrackKind::kStream || steps == recorded.end()) continue;
    const StepInterval* step = step_at(steps->second, trace.spans.start_ns[row]);
    if (step != nullptr) by_row[row] = kNoStep - 1 - step->number;
  }
  return by_row;
}

}  // namespace hone::trace::link
