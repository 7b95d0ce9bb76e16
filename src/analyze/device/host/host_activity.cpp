#include "analyze/device/host/host_activity.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "analyze/attribution.h"
#include "analyze/device/host/operator_gap.h"
#include "analyze/device/host/sampled.h"

namespace hone::analyze::device {
namespace {

// The properly nested spans of one thread as intervals, one after the other.
class Lane {
 public:
  explicit Lane(const std::vector<HostSpan>& spans) : spans_(spans) { advance(); }

  bool over() const { return over_; }
  const ActivitySpan& now() const { return now_; }
  void advance() {
    while (!open_.empty() || next_ < spans_.size()) {
      const int64_t begins =
          next_ < spans_.size() ? spans_[next_].start_ns : std::numeric_limits<int64_t>::max();
      const bool closes = !open_.empty() && open_.back().end_ns <= begins;
      const int64_t from = time_, to = closes ? open_.back().end_ns : begins;
      time_ = std::max(from, to);
      const bool found = from < to && !open_.empty();
      if (found) now_ = interval(from, to);
      closes ? close() : open(spans_[next_++]);
      if (found) return;
    }
    over_ = true;
  }

 private:
  void open(HostSpan span) {
    if (!open_.empty()) span.end_ns = std::min(span.end_ns, open_.back().end_ns);
    if (span.outer && outer_ == kNoPlace) outer_ = open_.size();
    open_.push_back(span);
  }
  void close() {
    open_.pop_back();
    if (outer_ == open_.size()) outer_ = kNoPlace;
  }

  // What open spans make of a time; outer spans that name an activity of the whole (compiling, input) speak
  // for all they enclose.
  ActivitySpan interval(int64_t from, int64_t to) const {
    const HostSpan& inner = open_.back();
    if (outer_ != kNoPlace) return {from, to, open_[outer_].activity, open_[outer_].row, inner.is_operator};
    return {from, to, inner.says ? inner.activity : Activity::kOther, inner.row, inner.is_operator};
  }

  const std::vector<HostSpan>& spans_;
  std::size_t next_ = 0;
  static constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();
  std::vector<HostSpan> open_;    // innermost last
  std::size_t outer_ = kNoPlace;  // place in open_ of the outermost that speaks for all inside it
  int64_t time_ = 0;
  ActivitySpan now_;
  bool over_ = false;
};

// Goes over the intervals of all threads at once, from one edge to the next. Where several threads are at
// work the one that began last counts; a thread that says what it does goes before one that does not (it may
// wait for the other).
class Overlay {
 public:
  explicit Overlay(const std::vector<std::vector<HostSpan>>& threads) {
    lanes_.reserve(threads.size());
    for (const std::vector<HostSpan>& thread : threads) lanes_.emplace_back(thread);
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) wait_for_edge(lane);
  }

  // The next part that has one answer; false: there is none. Time in which no thread had a span open is
  // passed over. O(log threads) for each edge.
  bool next(ActivitySpan& part) {
    while (!edges_.empty()) {
      const int64_t edge = edges_.top().first, from = std::exchange(time_, edge);
      const bool found = !open_.empty();
      if (found) {
        const ActivitySpan& best = lanes_[std::get<uint32_t>(*open_.rbegin())].now();
        part = {from, edge, best.activity, best.span, best.in_operator};
      }
      while (!edges_.empty() && edges_.top().first <= edge) pass(edges_.top().second);
      if (found) return true;
    }
    return false;
  }

 private:
  // Of open lanes the last goes before the others: whether it says what it does, when it began.
  using Open = std::tuple<bool, int64_t, uint32_t>;
  using Edge = std::pair<int64_t, uint32_t>;  // when, and of which lane

  Open key_of(uint32_t lane) const {
    const ActivitySpan& now = lanes_[lane].now();
    return {now.activity != Activity::kOther, now.start_ns, lane};
  }

  void wait_for_edge(uint32_t lane) {
    if (lanes_[lane].over()) return;
    const ActivitySpan& now = lanes_[lane].now();
    const bool opens_later = now.start_ns > time_;
    if (!opens_later) open_.insert(key_of(lane));
    edges_.push({opens_later ? now.start_ns : now.end_ns, lane});
  }

  void pass(uint32_t lane) {
    edges_.pop();
    if (open_.erase(key_of(lane)) > 0) lanes_[lane].advance();
    wait_for_edge(lane);
  }

  std::vector<Lane> lanes_;
  std::set<Open> open_;
  std::priority_queue<Edge, std::vector<Edge>, std::greater<>> edges_;
  int64_t time_ = std::numeric_limits<int64_t>::min();
};

void add_time(std::vector<TimeInOperators>& times, const ActivitySpan& part) {
  if (!times.empty() && times.back().end_ns == part.start_ns)
    times.back().end_ns = part.end_ns;
  else
    times.push_back({part.start_ns, part.end_ns});
}

// Fills the time in which no thread had a span open, and joins neighbours of one kind. `in_operators`: what
// of it was in operators, also inside of what speaks for all it encloses.
std::vector<ActivitySpan> merge(const std::vector<std::vector<HostSpan>>& threads,
                                std::vector<TimeInOperators>& in_operators) {
  std::vector<ActivitySpan> out;
  Overlay overlay(threads);
  for (ActivitySpan part; overlay.next(part);) {
    if (part.in_operator) add_time(in_operators, part);
    if (!out.empty() && out.back().end_ns < part.start_ns)
      out.push_back({out.back().end_ns, part.start_ns, Activity::kOther, kNothing});
    if (!out.empty() && out.back().activity == part.activity && out.back().span == part.span)
      out.back().end_ns = part.end_ns;
    else
      out.push_back(part);
  }
  return out;
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

bool is_operator(const trace::Trace& trace, const ActivitySpan& interval) {
  return interval.span != kNothing && trace.spans.category[interval.span] == trace::Category::kOperator;
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
// last may tell. Returns those of which nothing tells.
std::vector<std::size_t> name_silent_intervals(std::vector<ActivitySpan>& intervals,
                                               const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<std::size_t> silent;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    ActivitySpan& interval = intervals[i];
    if (interval.activity != Activity::kOther) continue;
    if (interval.ns() < kLongGapNs) {
      interval.activity = Activity::kIssue;
    } else if (feeds_a_copy(timeline, interval.end_ns)) {
      interval.activity = Activity::kInput;
    } else if (interval.in_operator && follows_a_copy(trace, timeline, interval.start_ns)) {
      interval.activity = Activity::kCopy;
    } else {
      silent.push_back(i);
    }
  }
  return silent;
}

// A step may begin before anything was recorded.
void begin_with_the_first_step(std::vector<ActivitySpan>& intervals, const RankTimeline& timeline) {
  if (timeline.steps.empty() || intervals.empty()) return;
  const int64_t begin = timeline.steps.front().host_start_ns, first = intervals.front().start_ns;
  if (begin < first) intervals.insert(intervals.begin(), {begin, first, Activity::kOther, kNothing});
}

// The first that ends after `ns`. `from`: none before it does.
template <typename Iterator>
Iterator first_after(Iterator from, Iterator end, int64_t ns) {
  return std::upper_bound(from, end, ns,
                          [](int64_t instant, const auto& piece) { return instant < piece.end_ns; });
}

}  // namespace

HostTime HostActivity::divide(int64_t from, int64_t to) const { return HostDivider(*this).divide(from, to); }

HostTime HostDivider::divide(int64_t from, int64_t to) {
  HostTime time;
  if (from >= to) return time;
  go_to(from);
  int64_t left = to - from;
  for (auto at = interval_; at != activity_.intervals.end() && at->start_ns < to; ++at) {
    const int64_t begin = std::max(from, at->start_ns), end = std::min(to, at->end_ns);
    go_to(begin);
    const auto activity = static_cast<std::size_t>(at->activity);
    time.all[activity] += end - begin;
    time.in_operators[activity] += in_operators(begin, end);
    for (auto start = operator_start_; start != activity_.operator_starts.end() && *start < end; ++start)
      ++time.operators[activity];
    left -= end - begin;
  }
  time.all[static_cast<std::size_t>(Activity::kOther)] += left;
  return time;
}

// Most pieces follow one another closely, so that few entries lie between.
void HostDivider::go_to(int64_t from) {
  const std::vector<ActivitySpan>& intervals = activity_.intervals;
  const std::vector<TimeInOperators>& times = activity_.operator_times;
  const std::vector<int64_t>& starts = activity_.operator_starts;
  if (!began_ || from < at_ns_) {
    interval_ = first_after(intervals.begin(), intervals.end(), from);
    operator_time_ = first_after(times.begin(), times.end(), from);
    operator_start_ = std::lower_bound(starts.begin(), starts.end(), from);
    began_ = true;
  }
  at_ns_ = from;
  while (interval_ != intervals.end() && interval_->end_ns <= from) ++interval_;
  while (operator_time_ != times.end() && operator_time_->end_ns <= from) ++operator_time_;
  while (operator_start_ != starts.end() && *operator_start_ < from) ++operator_start_;
}

// [from, to), which lies behind at_ns_.
int64_t HostDivider::in_operators(int64_t from, int64_t to) const {
  int64_t total = 0;
  for (auto at = operator_time_; at != activity_.operator_times.end() && at->start_ns < to; ++at)
    total += std::min(to, at->end_ns) - std::max(from, at->start_ns);
  return total;
}

Activity HostActivity::at(int64_t ns) const {
  const auto interval = first_after(intervals.begin(), intervals.end(), ns);
  return interval != intervals.end() && interval->start_ns <= ns ? interval->activity : Activity::kOther;
}

const ActivitySpan* HostActivity::longest(int64_t from, int64_t to, Activity activity) const {
  const ActivitySpan* best = nullptr;
  auto at = first_after(intervals.begin(), intervals.end(), from);
  for (; at != intervals.end() && at->start_ns < to; ++at)
    if (at->activity == activity && (best == nullptr || at->ns() > best->ns())) best = &*at;
  return best;
}

HostActivity host_activity(const trace::Trace& trace, const RankTimeline& timeline) {
  HostSpans spans = host_spans(trace, timeline);
  HostActivity result;
  result.intervals = merge(spans.threads, result.operator_times);
  result.operator_gap_ns = operator_gap(trace, spans.threads);
  spans.threads.clear();
  begin_with_the_first_step(result.intervals, timeline);
  for (ActivitySpan& interval : result.intervals) interval.in_operator = is_operator(trace, interval);
  std::vector<std::size_t> silent = name_silent_intervals(result.intervals, trace, timeline);
  name_by_samples(result.intervals, std::move(silent), trace, timeline);
  result.operator_starts = std::move(spans.operator_starts);
  return result;
}

}  // namespace hone::analyze::device
