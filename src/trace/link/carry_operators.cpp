#include "trace/link/carry_operators.h"

#include <algorithm>
#include <cstring>
#include <span>
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
  bool has_callers = false;
  bool lacks_callers = false;
};

const StepInterval* step_at(std::span<const StepInterval> steps, int64_t time_ns) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time_ns,
                       [](int64_t time, const StepInterval& step) { return time < step.start_ns; });
  return after != steps.begin() && std::prev(after)->contains(time_ns) ? &*std::prev(after) : nullptr;
}

class OperatorCarrier {
 public:
  OperatorCarrier(Trace& trace, int rank, std::span<const StepInterval> steps, std::vector<DeviceWork>& work)
      : trace_(trace), rank_(rank), intervals_(steps), work_(work) {}

  void run() {
    collect();
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].has_callers) donors_.push_back(i);
    if (donors_.empty()) return;
    for (uint32_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].lacks_callers) receive(steps_[i]);
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

  void receive(const StepLaunches& step) {
    Matches best;
    for (const uint32_t donor : nearest_donors(step)) {
      Matches matches = align(steps_[donor], step);
      if (matches.size() > best.size()) best = std::move(matches);
      if (best.size() == step.launches.size()) break;
    }
    for (const auto& [from, to] : best) hand_over(work_[from].caller, work_[to]);
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

  void hand_over(uint32_t caller, DeviceWork& to) {
    if (caller == kNoSpan || to.caller != kNoSpan) return;
    to.caller = caller;
    const Call* call = find_detail(trace_.calls, caller);
    if (call == nullptr || call->external == 0) return;
    set_external(trace_.launches, to.row, call->external);
    set_external(trace_.copies, to.row, call->external);
  }

  template <typename Detail>
  static void set_external(std::vector<Detail>& details, uint32_t row, uint64_t external) {
    const auto at =
        std::lower_bound(details.begin(), details.end(), row,
                         [](const Detail& detail, uint32_t wanted) { return detail.span < wanted; });
    if (at != details.end() && at->span == row && at->external == 0) at->external = external;
  }

  Trace& trace_;
  int rank_;
  std::span<const StepInterval> intervals_;
  std::vector<DeviceWork>& work_;
  std::vector<StepLaunches> steps_;  // as intervals_
  std::vector<uint32_t> donors_;     // into steps_
};

}  // namespace

void carry_operators(Trace& trace, const std::map<int, std::vector<StepInterval>>& recorded,
                     std::vector<DeviceWork>& work) {
  for (const auto& [rank, steps] : recorded) OperatorCarrier(trace, rank, steps, work).run();
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
