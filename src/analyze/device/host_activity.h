// What the host of a rank did at every instant, as far as it holds its device up: the nested spans of the
// threads that launch work, flattened into stretches that do not overlap. Which words name which activity is
// data, in host_activity.cpp.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

enum class Activity : uint8_t {
  kIssue,  // operators, launches, and the program between them
  kWait,   // for the device
  kAllocate,
  kCopy,  // in a copy that the call waits for
  kCompile,
  kInput,
  kIo,
  kCommunicate,  // launching collectives, and what the framework does around that
  kOther,        // a long stretch of the program's own, which the trace says nothing about
};
inline constexpr int kActivityCount = 9;

// What a device that has nothing to do waits for while its host does this.
Cause activity_cause(Activity activity);

struct Stretch {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Activity activity = Activity::kIssue;
  uint32_t span = kNothing;  // the innermost that is open; of kOther and kInput maybe none

  int64_t ns() const { return end_ns - start_ns; }
};

// A stretch of the program's own from this length on is work, not issuing.
inline constexpr int64_t kLongStretchNs = 600'000;

struct HostActivity {
  std::vector<Stretch> stretches;        // by time, gapless from the first span to the last
  std::vector<int64_t> recorded_starts;  // of the host spans that the recorder had to write, sorted

  // Nanoseconds of [from, to) by activity; nothing is known before the first and after the last stretch:
  // kOther.
  void divide(int64_t from, int64_t to, int64_t (&ns)[kActivityCount]) const;
  // The longest stretch of an activity that touches [from, to); null if none does.
  const Stretch* longest(int64_t from, int64_t to, Activity activity) const;
  int64_t recorded_between(int64_t from, int64_t to) const;
};

HostActivity host_activity(const trace::Trace& trace, const RankTimeline& timeline);

// What a launch of a copy does to the host that calls it: kWait where it reads a value, kCopy where it lasts
// as long as the copy, kIssue where it only launches.
Activity copy_activity(const trace::Trace& trace, const RankTimeline& timeline, const HostCall& call);

// Whether a call is the wait that ends a copy from memory which the host may page out: the framework waits
// right after launching it.
bool ends_a_copy(const RankTimeline& timeline, std::size_t call);

// The activity that a name speaks of, kIssue if none: "enumerate(DataLoader)#…" is kInput.
Activity named_activity(std::string_view name);

}  // namespace hone::analyze::device
