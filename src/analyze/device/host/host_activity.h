// What the host of a rank did at every instant, as far as it holds its device up: the nested spans of the
// threads that launch work, flattened into intervals that do not overlap. What a span says for itself is
// host_spans.h's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyze/device/host/host_spans.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

struct ActivitySpan {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Activity activity = Activity::kIssue;
  uint32_t span = kNothing;  // the innermost that is open; of kOther and kInput maybe none
  bool in_operator = false;  // that span is an operator of a framework

  int64_t ns() const { return end_ns - start_ns; }
};

// A part of the host's time by activity, in ns.
struct HostTime {
  std::array<int64_t, kActivityCount> all{};
  // The part of it in operators themselves: not in calls of the runtime, nor in the program around operators.
  std::array<int64_t, kActivityCount> in_operators{};
  std::array<int64_t, kActivityCount> operators{};  // how many began in it

  int64_t of(Activity activity) const { return all[static_cast<std::size_t>(activity)]; }
};

// Time in an operator itself, whatever activity the spans around it speak of.
struct TimeInOperators {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct HostActivity {
  std::vector<ActivitySpan> intervals;          // by time, gapless from the first span to the last
  std::vector<TimeInOperators> operator_times;  // by time, apart from each other
  std::vector<int64_t> operator_starts;         // sorted
  double operator_gap_ns = 0;                   // operator_gap.h

  // [from, to) by activity; nothing is known before the first and after the last interval: kOther. For
  // many pieces of time in a row there is HostDivider.
  HostTime divide(int64_t from, int64_t to) const;
  // What the host did at an instant; kOther where nothing is known.
  Activity at(int64_t ns) const;
  // The longest interval of an activity that touches [from, to); null if none does.
  const ActivitySpan* longest(int64_t from, int64_t to, Activity activity) const;
};

// Divides one piece of time after the other: each that begins no earlier than the one before is found from
// there on, in O(what lies between), others in O(log n).
class HostDivider {
 public:
  explicit HostDivider(const HostActivity& activity) : activity_(activity) {}  // which must outlive this

  HostTime divide(int64_t from, int64_t to);

 private:
  void go_to(int64_t from);
  int64_t in_operators(int64_t from, int64_t to) const;

  const HostActivity& activity_;
  int64_t at_ns_ = 0;
  bool began_ = false;
  // The first that ends after at_ns_, and of the starts the first that is not before it.
  std::vector<ActivitySpan>::const_iterator interval_;
  std::vector<TimeInOperators>::const_iterator operator_time_;
  std::vector<int64_t>::const_iterator operator_start_;
};

HostActivity host_activity(const trace::Trace& trace, const RankTimeline& timeline);

}  // namespace hone::analyze::device
