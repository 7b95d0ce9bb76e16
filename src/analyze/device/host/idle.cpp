#include "analyze/device/host/idle.h"

#include <algorithm>

namespace hone::analyze::device {
namespace {

// Work that starts later than this after its launch stood in a queue.
constexpr int64_t kQueuedNs = 60'000;

class Divider {
 public:
  Divider(const RankTimeline& timeline, const HostActivity& activity)
      : timeline_(timeline), activity_(activity), host_time_(activity) {
    for (const Work& work : timeline.works) {  // by start
      if (timeline.in_ledger(work) || work.kind == WorkKind::kCollective) continue;
      if (!others_.empty() && work.start_ns <= others_.back().second)
        others_.back().second = std::max(others_.back().second, work.end_ns);
      else
        others_.push_back({work.start_ns, work.end_ns});
    }
  }

  void divide(const Gap& gap) {
    const HostCall* call = gap.next == kNothing ? nullptr : timeline_.launch_of(timeline_.works[gap.next]);
    if (gap.next != kNothing && call == nullptr) {
      add(gap, {Cause::kLaunch, gap.window, gap.start_ns, static_cast<double>(gap.ns()), gap.next, kNothing,
                false, true});
      return;
    }
    // After the last work of the trace the host is what the step ends with.
    const int64_t launched =
        call == nullptr ? gap.end_ns : std::clamp(call->end_ns, gap.start_ns, gap.end_ns);
    const bool in_time = call != nullptr && call->start_ns <= gap.start_ns;
    const int64_t host_until = in_time ? gap.start_ns : launched;
    host(gap, gap.start_ns, host_until);
    latency(gap, host_until, call);
  }

  std::vector<IdleInterval> take() { return std::move(parts_); }

 private:
  void host(const Gap& gap, int64_t from, int64_t to) {
    const HostTime time = host_time_.divide(from, to);
    int64_t start = from;
    for (const auto& [began, activity] : activities_by_time(time, from, to)) {
      const ActivitySpan* interval =
          activity == Activity::kIssue ? nullptr : activity_.longest(from, to, activity);
      add(gap, {activity_cause(activity), gap.window, start, static_cast<double>(time.of(activity)), gap.next,
                interval == nullptr ? kNothing : interval->span, false, false});
      start += time.of(activity);
    }
  }

  // Those that have time in [from, to), by when the longest interval of each began.
  std::vector<std::pair<int64_t, Activity>> activities_by_time(const HostTime& time, int64_t from,
                                                               int64_t to) const {
    std::vector<std::pair<int64_t, Activity>> order;
    for (int i = 0; i < kActivityCount; ++i) {
      const auto activity = static_cast<Activity>(i);
      if (time.of(activity) == 0) continue;
      const ActivitySpan* interval = activity_.longest(from, to, activity);
      order.push_back({interval == nullptr ? to : interval->start_ns, activity});
    }
    std::sort(order.begin(), order.end());
    return order;
  }

  // The device takes its time to begin. It costs nothing while other work is queued; it does after the host
  // has waited for the queue to run empty.
  void latency(const Gap& gap, int64_t from, const HostCall* call) {
    if (from >= gap.end_ns) return;
    const HostTime time = host_time_.divide(from, gap.end_ns);
    const bool queue_was_empty = call != nullptr && gap.end_ns - call->start_ns < kQueuedNs;
    const int64_t waited = queue_was_empty ? time.of(Activity::kWait) : 0;
    const ActivitySpan* interval =
        waited == 0 ? nullptr : activity_.longest(from, gap.end_ns, Activity::kWait);
    if (waited > 0)
      add(gap, {Cause::kHostSync, gap.window, from, static_cast<double>(waited), gap.next,
                interval == nullptr ? kNothing : interval->span, true, false});
    const int64_t others =
        queue_was_empty ? 0 : std::min(gap.end_ns - from - waited, busy_elsewhere(from, gap.end_ns));
    if (others > 0)
      add(gap, {Cause::kBubble, gap.window, from + waited, static_cast<double>(others), gap.next, kNothing,
                true, false, true});
    if (waited + others < gap.end_ns - from)
      add(gap, {Cause::kLaunch, gap.window, from + waited + others,
                static_cast<double>(gap.end_ns - from - waited - others), gap.next, kNothing, true, false});
  }

  // How long other devices of the process worked in [from, to).
  int64_t busy_elsewhere(int64_t from, int64_t to) const {
    auto at = std::upper_bound(others_.begin(), others_.end(), from,
                               [](int64_t time, const auto& interval) { return time < interval.second; });
    int64_t total = 0;
    for (; at != others_.end() && at->first < to; ++at)
      total += std::min(to, at->second) - std::max(from, at->first);
    return total;
  }

  void add(const Gap& gap, IdleInterval part) {
    if (gap.ns() > 0) parts_.push_back(part);
  }

  const RankTimeline& timeline_;
  const HostActivity& activity_;
  HostDivider host_time_;
  std::vector<std::pair<int64_t, int64_t>> others_;  // when other devices of the process work, by start
  std::vector<IdleInterval> parts_;
};

}  // namespace

std::vector<IdleInterval> idle_intervals(const RankTimeline& timeline, const Occupancy& occupancy,
                                         const HostActivity& activity) {
  Divider divider(timeline, activity);
  for (const Gap& gap : occupancy.gaps) divider.divide(gap);
  return divider.take();
}

}  // namespace hone::analyze::device
