#include "analyze/device/replay/replay_program.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/side_by_side.h"

namespace hone::analyze::device {
namespace {

// A device that begins this long after everything known to bind it waits for something else.
constexpr int64_t kUnexplainedNs = 15'000;
constexpr double kDefaultLatencyNs = 5'000;
constexpr double kDefaultQueueGapNs = 1'000;

double median_of(std::vector<double>& values, double otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const trace::Trace& trace, const RankTimeline& timeline, const HostActivity& activity)
      : trace_(trace), timeline_(timeline), activity_(activity), host_time_(activity) {
    program_.timeline = &timeline;
    program_.works.resize(timeline.works.size());
  }

  Program run() {
    find_steps();
    find_predecessors();
    find_typical();
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) bind(i);
    bind_collectives();
    make_items();
    return std::move(program_);
  }

 private:
  void find_steps() {
    std::unordered_map<int32_t, uint32_t> place;
    for (uint32_t k = 0; k < timeline_.steps.size(); ++k) place.emplace(timeline_.steps[k].step, k);
    for (std::size_t i = 0; i < timeline_.works.size(); ++i)
      if (const auto found = place.find(timeline_.works[i].step); found != place.end())
        program_.works[i].step = found->second;
  }

  void find_predecessors() {
    before_.assign(timeline_.works.size(), kNothing);
    std::vector<uint32_t> last(timeline_.streams.size(), kNothing);
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      uint32_t& tail = last[timeline_.works[i].stream];
      before_[i] = tail;
      tail = i;
    }
  }

  int64_t stream_free(uint32_t i) const {
    return before_[i] == kNothing ? 0 : timeline_.works[before_[i]].end_ns;
  }

  // What launching and following usually take on this device: where one of them alone decides.
  void find_typical() {
    std::vector<double> latencies, gaps;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      const HostCall* call = timeline_.launch_of(work);
      if (call == nullptr) continue;
      if (stream_free(i) < call->start_ns)
        latencies.push_back(static_cast<double>(work.start_ns - call->start_ns));
      else if (before_[i] != kNothing && call->end_ns + 10'000 < stream_free(i))
        gaps.push_back(static_cast<double>(work.start_ns - stream_free(i)));
    }
    latency_ = std::clamp(median_of(latencies, kDefaultLatencyNs), 1'000.0, 30'000.0);
    gap_ = std::clamp(median_of(gaps, kDefaultQueueGapNs), 200.0, 3'000.0);
  }

  void bind(uint32_t i) {
    const Work& work = timeline_.works[i];
    ProgramWork& bound = program_.works[i];
    bound.ns = static_cast<double>(work.ns());
    bound.latency_ns = latency_;
    bound.queue_gap_ns = gap_;
    if (before_[i] != kNothing && is_late_without_launch(before_[i])) bound.unlaunched = before_[i];
    const HostCall* call = timeline_.launch_of(work);
    if (call == nullptr) {
      if (!is_late_without_launch(i)) program_.preloaded.push_back(i);
      return;
    }
    const auto start = static_cast<double>(work.start_ns);
    const double by_stream = before_[i] == kNothing ? 0 : static_cast<double>(stream_free(i)) + gap_;
    const double by_launch = static_cast<double>(call->start_ns) + latency_;
    const double excess = start - std::max(by_stream, by_launch);
    if (excess > static_cast<double>(kUnexplainedNs) && (wait_for_other_stream(i) || follow_other_stream(i)))
      return;
    if (by_stream >= by_launch)
      bound.queue_gap_ns = start - static_cast<double>(stream_free(i));
    else
      bound.latency_ns = start - static_cast<double>(call->start_ns);
  }

  // Recorders that take turns miss the launches of what is under way where a block begins.
  bool is_late_without_launch(uint32_t i) const {
    const Work& work = timeline_.works[i];
    return timeline_.launch_of(work) == nullptr && !timeline_.steps.empty() &&
           work.start_ns >= timeline_.steps.front().start_ns;
  }

  // The latest work on another stream that ended just before this one began.
  bool wait_for_other_stream(uint32_t i) {
    constexpr uint32_t kLookBack = 256;
    const Work& work = timeline_.works[i];
    uint32_t best = kNothing;
    for (uint32_t back = 1; back <= std::min(i, kLookBack); ++back) {
      const Work& other = timeline_.works[i - back];
      if (other.stream == work.stream || other.end_ns > work.start_ns + 500) continue;
      if (other.end_ns < work.start_ns - kUnexplainedNs) continue;
      if (best == kNothing || other.end_ns > timeline_.works[best].end_ns) best = i - back;
    }
    if (best == kNothing) return false;
    program_.works[i].after[0] = best;
    program_.works[i].after_gap_ns[0] = static_cast<double>(work.start_ns - timeline_.works[best].end_ns);
    return true;
  }

  // A work that the host had launched long before, that no end explains: it moves with the work of another
  // stream that held the device when it began, which an unrecorded event or a lack of free multiprocessors
  // made it wait for.
  bool follow_other_stream(uint32_t i) {
    constexpr uint32_t kLookBack = 64;
    const Work& work = timeline_.works[i];
    const HostCall* call = timeline_.launch_of(work);
    if (call->end_ns + kUnexplainedNs > work.start_ns) return false;
    for (uint32_t back = 1; back <= std::min(i, kLookBack); ++back) {
      const Work& other = timeline_.works[i - back];
      if (other.stream == work.stream || other.kind == WorkKind::kCollective) continue;
      if (other.end_ns < work.start_ns - 10 * kUnexplainedNs) continue;
      // What a collective sums was launched before it; that later works held it up says nothing of its own.
      if (work.kind == WorkKind::kCollective && other.call > work.call) continue;
      program_.works[i].after[0] = i - back;
      program_.works[i].after_gap_ns[0] = static_cast<double>(work.start_ns - other.end_ns);
      return true;
    }
    return false;
  }

  // A collective reads what was computed before it was launched; an optimizer reads what collectives made.
  // The recording shows these waits only where they were the last to be over.
  void bind_collectives() {
    uint32_t computed = kNothing, collective = kNothing;
    for (uint32_t i : timeline_.launched) {
      const Work& work = timeline_.works[i];
      ProgramWork& bound = program_.works[i];
      if (work.kind == WorkKind::kCollective) {
        add_dependence(bound, i, computed);
        collective = i;
      } else {
        if (collective != kNothing && is_optimizer(work)) {
          add_dependence(bound, i, collective);
          collective = kNothing;
        }
        computed = i;
      }
    }
  }

  bool is_optimizer(const Work& work) const {
    return work.op != kNothing && trace_.operators[work.op].phase == trace::Phase::kOptimizer;
  }

  void add_dependence(ProgramWork& bound, uint32_t i, uint32_t on) {
    if (on == kNothing || bound.after[0] == on) return;
    if (timeline_.works[on].end_ns > timeline_.works[i].start_ns + 1'000) return;  // it did not wait
    if (timeline_.works[on].stream == timeline_.works[i].stream) return;
    bound.after[1] = on;
    bound.after_gap_ns[1] =
        std::min(gap_, static_cast<double>(timeline_.works[i].start_ns - timeline_.works[on].end_ns));
  }

  void make_items() {
    if (timeline_.steps.empty()) return;
    const int64_t from = timeline_.steps.front().host_start_ns;
    program_.start_ns = static_cast<double>(from);
    program_.operator_gap_ns = activity_.operator_gap_ns;
    time_ = from;
    std::size_t step = 0;
    auto end_steps_until = [&](int64_t limit) {
      for (; step < timeline_.steps.size() && timeline_.steps[step].host_end_ns <= limit; ++step) {
        Item item = item_until(timeline_.steps[step].host_end_ns);
        item.kind = ItemKind::kStepEnd;
        item.step = static_cast<uint32_t>(step);
        program_.items.push_back(item);
        skip_time_before(step + 1);
      }
    };
    for (uint32_t i = 0; i < timeline_.calls.size(); ++i) {
      const HostCall& call = timeline_.calls[i];
      if (call.end_ns <= from) {  // before the first step: its works stand as recorded
        for (uint32_t k = 0; k < call.works; ++k)
          program_.preloaded.push_back(timeline_.launched[call.first_work + k]);
        continue;
      }
      end_steps_until(call.start_ns);
      add_call(i);
    }
    end_steps_until(std::numeric_limits<int64_t>::max());
    std::sort(program_.preloaded.begin(), program_.preloaded.end());
  }

  // What the profiler needs between two steps is no time of the program.
  void skip_time_before(std::size_t step) {
    if (step < timeline_.steps.size() && timeline_.steps[step].marked_by_profiler)
      time_ = std::max(time_, timeline_.steps[step].host_start_ns);
  }

  // The host's time up to `until`; nothing if another thread was past it.
  Item item_until(int64_t until) {
    Item item;
    if (until <= time_) return item;
    const HostTime time = host_time_.divide(time_, until);
    std::copy(time.all.begin(), time.all.end(), item.before_ns.begin());
    std::copy(time.in_operators.begin(), time.in_operators.end(), item.operators_ns.begin());
    std::copy(time.operators.begin(), time.operators.end(), item.operators.begin());
    time_ = until;
    return item;
  }

  void add_call(uint32_t i) {
    const HostCall& call = timeline_.calls[i];
    Item item = item_until(call.start_ns);
    item.call = i;
    item.kind = call.kind == CallKind::kLaunch ? ItemKind::kLaunch
                : call.kind == CallKind::kWait ? ItemKind::kWait
                                               : ItemKind::kHold;
    item.activity = call.kind == CallKind::kLaunch                               ? Activity::kIssue
                    : call.kind == CallKind::kWait && !ends_a_copy(timeline_, i) ? Activity::kWait
                    : call.kind == CallKind::kWait                               ? Activity::kCopy
                                                                                 : Activity::kAllocate;
    const int64_t begin = std::max(call.start_ns, time_);
    item.call_ns = static_cast<double>(std::max<int64_t>(0, call.end_ns - begin));
    item.waits_for = waited_for(call);
    if (call.kind == CallKind::kLaunch) item.activity = copy_activity(trace_, timeline_, call);
    if (call.kind == CallKind::kAllocation && waits_for_all(call)) item.waits_for = longest_before(call);
    if (item.waits_for != kNothing) {
      const int64_t end = timeline_.works[item.waits_for].end_ns;
      item.call_ns = static_cast<double>(std::max<int64_t>(0, call.end_ns - std::max(begin, end)));
      item.ahead_ns = static_cast<double>(std::max<int64_t>(0, end - call.end_ns));
    }
    time_ = std::max(time_, call.end_ns);
    program_.items.push_back(item);
  }

  // Giving memory back to the device waits for all that was launched; taking it does not.
  bool waits_for_all(const HostCall& call) const {
    const std::string_view name = trace_.strings.text(trace_.spans.name[call.span]);
    return name == "cudaFree" || name.starts_with("cuMemFree") || name.starts_with("cuMemUnmap");
  }

  // The work that ended last of those launched before the call.
  uint32_t longest_before(const HostCall& call) const {
    constexpr uint32_t kLookBack = 256;
    const auto at = std::partition_point(
        timeline_.launched.begin(), timeline_.launched.end(),
        [&](uint32_t work) { return timeline_.calls[timeline_.works[work].call].start_ns < call.start_ns; });
    uint32_t best = kNothing, seen = 0;
    for (auto before = at; before != timeline_.launched.begin() && seen < kLookBack; ++seen) {
      --before;
      if (best == kNothing || timeline_.works[*before].end_ns > timeline_.works[best].end_ns) best = *before;
    }
    return best;
  }

  // The driver takes up some 1000 works; launching one more waits until one of them is over.
  bool finds_queue_full(const HostCall& call) const {
    constexpr int64_t kLongNs = 30'000;
    constexpr std::ptrdiff_t kManyWorks = 256;
    if (call.end_ns - call.start_ns < kLongNs) return false;
    const auto begun = std::upper_bound(timeline_.works.begin(), timeline_.works.end(), call.start_ns,
                                        [](int64_t time, const Work& work) { return time < work.start_ns; });
    return static_cast<std::ptrdiff_t>(call.first_work) - (begun - timeline_.works.begin()) >= kManyWorks;
  }

  // The work whose end let the call return: its own copy, or the last that ended before the call did.
  uint32_t waited_for(const HostCall& call) const {
    constexpr int64_t kReturnNs = 60'000;  // from the end of the work to the return of the call
    constexpr int64_t kMostlyWaits = 3;    // times as long as what comes after the work
    if (call.end_ns - call.start_ns < 8'000) return kNothing;
    if (call.kind == CallKind::kLaunch) {
      if (call.works == 0) return kNothing;
      const uint32_t own = timeline_.launched[call.first_work];
      const Work& work = timeline_.works[own];
      const bool copy = work.kind == WorkKind::kCopyToDevice || work.kind == WorkKind::kCopyToHost;
      // A copy from pageable memory goes through a buffer of the driver, part by part: its call waits until the stream has
      // come to it, and returns once the last part is on its way.
      const bool parts = work.pageable && work.start_ns < call.end_ns;
      const bool waits = parts || work.end_ns <= call.end_ns + 1'000;
      if (copy || !finds_queue_full(call)) return copy && waits ? own : kNothing;
    }
    auto at = std::upper_bound(timeline_.works.begin(), timeline_.works.end(), call.end_ns,
                               [](int64_t time, const Work& work) { return time < work.start_ns; });
    uint32_t best = kNothing;
    for (int seen = 0; at != timeline_.works.begin() && seen < 64; ++seen) {
      --at;
      const HostCall* launch = timeline_.launch_of(*at);
      if (at->end_ns > call.end_ns || (launch != nullptr && launch->start_ns > call.start_ns)) continue;
      const auto index = static_cast<uint32_t>(at - timeline_.works.begin());
      if (best == kNothing || at->end_ns > timeline_.works[best].end_ns) best = index;
    }
    if (best == kNothing) return kNothing;
    // A framework may need other threads to go on: then most of the call was the wait all the same.
    const int64_t end = timeline_.works[best].end_ns;
    const bool soon =
        end >= call.end_ns - kReturnNs || end - call.start_ns >= kMostlyWaits * (call.end_ns - end);
    return end > call.start_ns && soon ? best : kNothing;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const HostActivity& activity_;
  HostDivider host_time_;
  std::vector<uint32_t> before_;  // the work before each on its stream
  double latency_ = kDefaultLatencyNs;
  double gap_ = kDefaultQueueGapNs;
  int64_t time_ = 0;
  Program program_;
};

}  // namespace

std::vector<Program> make_programs(const trace::Trace& trace, std::span<const RankTimeline> timelines,
                                   std::span<const HostActivity> activities,
                                   const MatchedCollectives& collectives) {
  std::vector<Program> programs(timelines.size());
  each_side_by_side(timelines.size(), [&](std::size_t rank) {
    programs[rank] = ProgramBuilder(trace, timelines[rank], activities[rank]).run();
    for (std::size_t work = 0; work < programs[rank].works.size(); ++work)
      programs[rank].works[work].collective = collectives.of[rank][work];
  });
  return programs;
}

}  // namespace hone::analyze::device
