#include "analyze/device/host_activity.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace hone::analyze::device {
namespace {

// The stretch that open spans make of the time from `from` to `to`; outer spans that name an activity of
// the whole (compiling, input) speak for all they enclose.
void add_stretch(std::vector<Stretch>& out, const std::vector<HostSpan>& open, int64_t from, int64_t to) {
  if (from >= to || open.empty()) return;
  Stretch stretch{from, to, Activity::kOther, open.back().row};
  const auto outer = std::find_if(open.begin(), open.end(), [](const HostSpan& span) { return span.outer; });
  if (outer != open.end()) {
    stretch.activity = outer->activity;
    stretch.span = outer->row;
  } else if (open.back().says) {
    stretch.activity = open.back().activity;
  }
  out.push_back(stretch);
}

// Of the properly nested spans of one thread.
std::vector<Stretch> flatten(const std::vector<HostSpan>& spans) {
  std::vector<Stretch> out;
  std::vector<HostSpan> open;
  int64_t time = 0;
  auto close_until = [&](int64_t limit) {
    while (!open.empty() && open.back().end_ns <= limit) {
      add_stretch(out, open, time, open.back().end_ns);
      time = std::max(time, open.back().end_ns);
      open.pop_back();
    }
  };
  for (HostSpan span : spans) {
    close_until(span.start_ns);
    add_stretch(out, open, time, span.start_ns);
    time = std::max(time, span.start_ns);
    if (!open.empty()) span.end_ns = std::min(span.end_ns, open.back().end_ns);
    open.push_back(span);
  }
  close_until(std::numeric_limits<int64_t>::max());
  return out;
}

// Where several threads are at work the one that began last counts; a thread that says what it does goes
// before one that does not (it may wait for the other).
std::vector<Stretch> overlay(const std::vector<Stretch>& all) {
  std::vector<int64_t> cuts;
  for (const Stretch& stretch : all) {
    cuts.push_back(stretch.start_ns);
    cuts.push_back(stretch.end_ns);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Stretch> out, open;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::erase_if(open, [&](const Stretch& stretch) { return stretch.end_ns <= cuts[i]; });
    while (next < all.size() && all[next].start_ns <= cuts[i]) open.push_back(all[next++]);
    const Stretch* best = nullptr;
    for (const Stretch& stretch : open)
      if (best == nullptr || (stretch.activity != Activity::kOther) >= (best->activity != Activity::kOther))
        best = &stretch;
    if (best != nullptr) out.push_back({cuts[i], cuts[i + 1], best->activity, best->span});
  }
  return out;
}

// Fills the time in which no thread had a span open, and joins neighbours of one kind.
std::vector<Stretch> with_holes(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> out;
  auto append = [&](const Stretch& stretch) {
    if (!out.empty() && out.back().end_ns == stretch.start_ns && out.back().activity == stretch.activity &&
        out.back().span == stretch.span)
      out.back().end_ns = stretch.end_ns;
    else
      out.push_back(stretch);
  };
  for (const Stretch& stretch : stretches) {
    if (!out.empty() && out.back().end_ns < stretch.start_ns)
      append({out.back().end_ns, stretch.start_ns, Activity::kOther, kNothing});
    append(stretch);
  }
  return out;
}

std::vector<Stretch> merge(const std::vector<std::vector<Stretch>>& lanes) {
  std::vector<Stretch> all;
  for (const std::vector<Stretch>& lane : lanes) all.insert(all.end(), lane.begin(), lane.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
  if (lanes.size() > 1) all = overlay(all);
  return with_holes(all);
}

// What is first put on the device after `time` is a copy from the host: what came before made its data.
bool feeds_a_copy(const RankTimeline& timeline, int64_t time) {
  constexpr int kLaunchesLookedAt = 2;
  auto at = std::lower_bound(timeline.calls.begin(), timeline.calls.end(), time,
                             [](const HostCall& call, int64_t wanted) { return call.start_ns < wanted; });
  for (int seen = 0; at != timeline.calls.end() && seen < kLaunchesLookedAt; ++at) {
    if (at->kind != CallKind::kLaunch || at->works == 0) continue;
    const Work& work = timeline.works[timeline.launched[at->first_work]];
    if (work.kind == WorkKind::kCopyToDevice && work.ns() > 5'000) return true;
    ++seen;
  }
  return false;
}

bool is_operator(const trace::Trace& trace, const Stretch& stretch) {
  return stretch.span != kNothing && trace.spans.category[stretch.span] == trace::Category::kOperator;
}

// What was last put on the device before `time` is a large copy to the host: operators of the host that run
// now work on what was copied.
bool follows_a_copy(const trace::Trace& trace, const RankTimeline& timeline, int64_t time) {
  auto at = std::upper_bound(timeline.calls.begin(), timeline.calls.end(), time,
                             [](int64_t wanted, const HostCall& call) { return wanted < call.start_ns; });
  while (at != timeline.calls.begin()) {
    --at;
    if (at->kind != CallKind::kLaunch || at->works == 0) continue;
    return timeline.works[timeline.launched[at->first_work]].kind == WorkKind::kCopyToHost &&
           copy_activity(trace, timeline, *at) == Activity::kCopy;
  }
  return false;
}

// What the trace says nothing about is issuing where it is short; longer, what the device does next or did
// last may tell.
void name_silent_stretches(std::vector<Stretch>& stretches, const trace::Trace& trace,
                           const RankTimeline& timeline) {
  for (Stretch& stretch : stretches) {
    if (stretch.activity != Activity::kOther) continue;
    if (stretch.ns() < kLongStretchNs)
      stretch.activity = Activity::kIssue;
    else if (feeds_a_copy(timeline, stretch.end_ns))
      stretch.activity = Activity::kInput;
    else if (is_operator(trace, stretch) && follows_a_copy(trace, timeline, stretch.start_ns))
      stretch.activity = Activity::kCopy;
  }
}

// A step may begin before anything was recorded.
void begin_with_the_first_step(std::vector<Stretch>& stretches, const RankTimeline& timeline) {
  if (timeline.steps.empty() || stretches.empty()) return;
  const int64_t begin = timeline.steps.front().host_start_ns, first = stretches.front().start_ns;
  if (begin < first) stretches.insert(stretches.begin(), {begin, first, Activity::kOther, kNothing});
}

}  // namespace

void HostActivity::divide(int64_t from, int64_t to, int64_t (&ns)[kActivityCount]) const {
  std::fill(std::begin(ns), std::end(ns), 0);
  if (from >= to) return;
  int64_t left = to - from;
  auto at = std::upper_bound(stretches.begin(), stretches.end(), from,
                             [](int64_t time, const Stretch& stretch) { return time < stretch.end_ns; });
  for (; at != stretches.end() && at->start_ns < to; ++at) {
    const int64_t part = std::min(to, at->end_ns) - std::max(from, at->start_ns);
    ns[static_cast<std::size_t>(at->activity)] += part;
    left -= part;
  }
  ns[static_cast<std::size_t>(Activity::kOther)] += left;
}

const Stretch* HostActivity::longest(int64_t from, int64_t to, Activity activity) const {
  const Stretch* best = nullptr;
  auto at = std::upper_bound(stretches.begin(), stretches.end(), from,
                             [](int64_t time, const Stretch& stretch) { return time < stretch.end_ns; });
  for (; at != stretches.end() && at->start_ns < to; ++at)
    if (at->activity == activity && (best == nullptr || at->ns() > best->ns())) best = &*at;
  return best;
}

int64_t HostActivity::recorded_between(int64_t from, int64_t to) const {
  if (from >= to) return 0;
  return std::lower_bound(recorded_starts.begin(), recorded_starts.end(), to) -
         std::lower_bound(recorded_starts.begin(), recorded_starts.end(), from);
}

HostActivity host_activity(const trace::Trace& trace, const RankTimeline& timeline) {
  HostSpans spans = host_spans(trace, timeline);
  std::vector<std::vector<Stretch>> lanes;
  for (const std::vector<HostSpan>& thread : spans.threads) lanes.push_back(flatten(thread));
  HostActivity result;
  result.stretches = merge(lanes);
  begin_with_the_first_step(result.stretches, timeline);
  name_silent_stretches(result.stretches, trace, timeline);
  result.recorded_starts = std::move(spans.recorded_starts);
  return result;
}

}  // namespace hone::analyze::device
