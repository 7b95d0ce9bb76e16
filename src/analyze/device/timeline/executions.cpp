#include "analyze/device/timeline/executions.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace hone::analyze::device {
namespace {

// A call of an operator on a thread of the host.
struct Caller {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t span = 0;
};

bool outer_first(const Caller& a, const Caller& b) {
  return std::tie(a.start_ns, b.end_ns, a.span) < std::tie(b.start_ns, a.end_ns, b.span);
}

// By thread of the timeline, enclosing ones before what they enclose.
std::vector<std::vector<Caller>> callers_by_thread(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<uint32_t> thread_of(trace.tracks.size(), kNothing);
  for (uint32_t thread = 0; thread < timeline.threads.size(); ++thread)
    thread_of[timeline.threads[thread].index] = thread;
  std::vector<std::vector<Caller>> callers(timeline.threads.size());
  const trace::SpanTable& spans = trace.spans;
  for (uint32_t row = 0; row < spans.size(); ++row)
    if (const uint32_t thread = thread_of[spans.track[row].index];
        thread != kNothing && spans.category[row] == trace::Category::kOperator && spans.op[row].valid())
      callers[thread].push_back({spans.start_ns[row], spans.start_ns[row] + spans.duration_ns[row], row});
  for (std::vector<Caller>& list : callers)
    if (!std::is_sorted(list.begin(), list.end(), outer_first))
      std::sort(list.begin(), list.end(), outer_first);
  return callers;
}

// Finds the innermost operator around one instant after the other.
class Innermost {
 public:
  explicit Innermost(std::vector<Caller> callers) : callers_(std::move(callers)) {}

  // Its span; kNothing: none. `time_ns` must not go back.
  uint32_t at(int64_t time_ns) {
    for (; next_ < callers_.size() && callers_[next_].start_ns <= time_ns; ++next_) {
      close_until(callers_[next_].start_ns);
      open_.push_back(callers_[next_]);
    }
    close_until(time_ns);
    return open_.empty() ? kNothing : open_.back().span;
  }

 private:
  void close_until(int64_t time_ns) {
    while (!open_.empty() && open_.back().end_ns <= time_ns) open_.pop_back();
  }

  std::vector<Caller> callers_;
  std::size_t next_ = 0;
  std::vector<Caller> open_;
};

// By call of the timeline that launches: the span of the innermost operator around it; kNothing: none.
std::vector<uint32_t> callers_of_launches(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<Innermost> threads;
  for (std::vector<Caller>& callers : callers_by_thread(trace, timeline))
    threads.emplace_back(std::move(callers));
  std::vector<uint32_t> callers(timeline.calls.size(), kNothing);
  for (std::size_t i = 0; i < timeline.calls.size(); ++i)
    if (const HostCall& call = timeline.calls[i]; call.works > 0)
      callers[i] = threads[call.thread].at(call.start_ns);
  return callers;
}

// The framework's id of the call that caused a work, as its device recorded it.
uint64_t external_of(const trace::Trace& trace, const Work& work) {
  if (const trace::Launch* launch = trace::find_detail(trace.launches, work.span)) return launch->external;
  if (const trace::Copy* copy = trace::find_detail(trace.copies, work.span)) return copy->external;
  return 0;
}

// The call that replays the graph which the work is a node of; nothing: it is none.
uint32_t replay_of(const trace::Trace& trace, const Work& work) {
  const trace::Launch* launch = trace::find_detail(trace.launches, work.span);
  return launch != nullptr && launch->graph_node != 0 ? work.call : kNothing;
}

}  // namespace

void number_executions(const trace::Trace& trace, RankTimeline& timeline) {
  const std::vector<uint32_t> callers = callers_of_launches(trace, timeline);
  std::vector<uint32_t> of_caller(trace.spans.size(), kNothing);
  // By the framework's id and the operator. A graph replays its captured call.
  std::map<std::tuple<uint64_t, uint32_t, int32_t, uint32_t>, uint32_t> of_external;
  timeline.executions = 0;
  const auto number = [&](uint32_t& known) {
    if (known == kNothing) known = timeline.executions++;
    return known;
  };
  for (Work& work : timeline.works) {
    if (work.op == kNothing) continue;
    const uint32_t caller = work.call == kNothing ? kNothing : callers[work.call];
    if (caller != kNothing && trace.spans.op[caller].index == work.op)
      work.execution = number(of_caller[caller]);
    else if (const uint64_t external = external_of(trace, work); external != 0)
      work.execution =
          number(of_external.try_emplace({external, work.op, work.step, replay_of(trace, work)}, kNothing)
                     .first->second);
    else
      work.execution = timeline.executions++;
  }
}

}  // namespace hone::analyze::device
