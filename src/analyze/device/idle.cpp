#include "analyze/device/idle.h"

#include <algorithm>

namespace hone::analyze::device {
namespace {

// Work that starts later than this after its launch stood in a queue.
constexpr int64_t kQueuedNs = 60'000;

class Divider {
 public:
  Divider(const RankTimeline& timeline, const HostActivity& activity)
      : timeline_(timeline), activity_(activity) {}

  void divide(const Gap& gap) {
    const HostCall* call = gap.next == kNothing ? nullptr : timeline_.launch_of(timeline_.works[gap.next]);
    if (gap.next != kNothing && call == nullptr) {
      add(gap, {Cause::kLaunch, gap.window, static_cast<double>(gap.ns()), gap.next, kNothing, false, true});
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

  std::vector<IdlePart> take() { return std::move(parts_); }

 private:
  void host(const Gap& gap, int64_t from, int64_t to) {
    int64_t ns[kActivityCount];
    activity_.divide(from, to, ns);
    for (int i = 0; i < kActivityCount; ++i) {
      if (ns[i] == 0) continue;
      const auto activity = static_cast<Activity>(i);
      const Stretch* stretch = activity == Activity::kIssue ? nullptr : activity_.longest(from, to, activity);
      add(gap, {activity_cause(activity), gap.window, static_cast<double>(ns[i]), gap.next,
                stretch == nullptr ? kNothing : stretch->span, false, false});
    }
  }

  // The device takes its time to begin. It costs nothing while other work is queued; it does after the host
  // has waited for the queue to run empty.
  void latency(const Gap& gap, int64_t from, const HostCall* call) {
    if (from >= gap.end_ns) return;
    int64_t ns[kActivityCount];
    activity_.divide(from, gap.end_ns, ns);
    const bool queue_was_empty = call != nullptr && gap.end_ns - call->start_ns < kQueuedNs;
    const int64_t waited = queue_was_empty ? ns[static_cast<std::size_t>(Activity::kWait)] : 0;
    const Stretch* stretch = waited == 0 ? nullptr : activity_.longest(from, gap.end_ns, Activity::kWait);
    if (waited > 0)
      add(gap, {Cause::kHostSync, gap.window, static_cast<double>(waited), gap.next,
                stretch == nullptr ? kNothing : stretch->span, true, false});
    if (waited < gap.end_ns - from)
      add(gap, {Cause::kLaunch, gap.window, static_cast<double>(gap.end_ns - from - waited), gap.next,
                kNothing, true, false});
  }

  void add(const Gap& gap, IdlePart part) {
    if (gap.ns() > 0) parts_.push_back(part);
  }

  const RankTimeline& timeline_;
  const HostActivity& activity_;
  std::vector<IdlePart> parts_;
};

}  // namespace

std::vector<IdlePart> idle_parts(const RankTimeline& timeline, const Occupancy& occupancy,
                                 const HostActivity& activity) {
  Divider divider(timeline, activity);
  for (const Gap& gap : occupancy.gaps) divider.divide(gap);
  return divider.take();
}

}  // namespace hone::analyze::device
