// The spans of the threads of a rank that launch work, each with the activity that it speaks of: by its
// category, by its name (which words name which activity is data, in host_spans.cpp), or by the copy that its
// call waits for. What they add up to at an instant is host_activity.h's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/name_patterns.h"
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
  kOther,        // a long interval of the program's own, which the trace says nothing about
};
inline constexpr int kActivityCount = 9;

// What a device that has nothing to do waits for while its host does this.
Cause activity_cause(Activity activity);

// A span of the host with what it says about the time inside it.
struct HostSpan {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t row;
  Activity activity;
  bool says;           // its own activity, rather than "something of the program's"
  bool outer = false;  // speaks for all that is inside it
  bool reads = false;  // an operator that reads a value of the device, if it waits
  bool is_operator = false;
};

struct HostSpans {
  std::vector<std::vector<HostSpan>> threads;  // of RankTimeline::threads; by start, the longer first
  std::vector<int64_t> operator_starts;        // on all of them, sorted
};

// Which words in the names of the program's ranges speak of which activity; for tests.
std::span<const trace::NamePattern<Activity>> activity_words();

HostSpans host_spans(const trace::Trace& trace, const RankTimeline& timeline);

// What a launch of a copy does to the host that calls it: kWait where it reads a value, kCopy where it lasts
// as long as the copy, kIssue where it only launches.
Activity copy_activity(const trace::Trace& trace, const RankTimeline& timeline, const HostCall& call);

// Whether a call is the wait that ends a copy from memory which the host may page out: the framework waits
// right after launching it.
bool ends_a_copy(const RankTimeline& timeline, std::size_t call);

}  // namespace hone::analyze::device
