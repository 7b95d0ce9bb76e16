#include "analyze/device/host/sampled.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyze/host_lines.h"

namespace hone::analyze::device {
namespace {

using trace::StackSample;

// A sample on the clock of the rank's timeline.
struct TimedSample {
  int64_t time_ns = 0;
  uint32_t row = 0;
};

std::vector<TimedSample> samples_by_time(const trace::Trace& trace, const RankTimeline& timeline,
                                         auto&& wanted) {
  std::vector<TimedSample> samples;
  for (uint32_t row = 0; row < trace.stacks.samples.size(); ++row) {
    const StackSample& sample = trace.stacks.samples[row];
    if (wanted(sample)) samples.push_back({sample.time_ns + timeline.clock_shift_ns, row});
  }
  std::ranges::stable_sort(samples, {}, &TimedSample::time_ns);
  return samples;
}

std::vector<TimedSample> samples_of(const trace::Trace& trace, const RankTimeline& timeline,
                                    trace::TrackId track) {
  return samples_by_time(trace, timeline, [&](const StackSample& sample) { return sample.track == track; });
}

Activity activity_of_stack(const trace::Trace& trace, const StackSample& sample, Activity otherwise) {
  const std::optional<Cause> cause = cause_of_stack(trace, sample);
  if (cause == Cause::kInput) return Activity::kInput;
  if (cause == Cause::kIo) return Activity::kIo;
  if (cause == Cause::kCompile) return Activity::kCompile;
  return otherwise;
}

// Where in the program's steps an interval lies: between which launches.
using Place = std::pair<uint32_t, uint32_t>;  // names of what was launched before and after

class PlaceFinder {
 public:
  PlaceFinder(const trace::Trace& trace, const RankTimeline& timeline) : trace_(trace), timeline_(timeline) {
    for (const HostCall& call : timeline.calls)
      if (call.kind == CallKind::kLaunch && call.works > 0) launches_.push_back(&call);
  }

  Place of(const ActivitySpan& interval) const {
    const auto after = std::ranges::lower_bound(launches_, interval.end_ns, {}, &HostCall::start_ns);
    const auto before = std::ranges::upper_bound(launches_, interval.start_ns, {}, &HostCall::start_ns);
    return {before == launches_.begin() ? kNothing : launched(**std::prev(before)),
            after == launches_.end() ? kNothing : launched(**after)};
  }

 private:
  uint32_t launched(const HostCall& call) const {
    return trace_.spans.name[timeline_.works[timeline_.launched[call.first_work]].span].index;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  std::vector<const HostCall*> launches_;
};

using Shares = std::array<double, kActivityCount>;

double sum_of(const Shares& shares) {
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum;
}

// Pieces of an interval by those shares, gapless, in the order of activities.
void divide_by_shares(const ActivitySpan& interval, const Shares& shares, std::vector<ActivitySpan>& into) {
  const double all = sum_of(shares);
  double before = 0;
  int64_t start = interval.start_ns;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] <= 0) continue;
    before += shares[i];
    ActivitySpan piece = interval;
    piece.activity = static_cast<Activity>(i);
    piece.start_ns = start;
    piece.end_ns =
        before >= all
            ? interval.end_ns
            : interval.start_ns + static_cast<int64_t>(before / all * static_cast<double>(interval.ns()));
    if (piece.ns() > 0) into.push_back(piece);
    start = piece.end_ns;
  }
}

// When the device of the ledger was at work: intervals apart from each other, by time.
std::vector<std::pair<int64_t, int64_t>> busy_times(const RankTimeline& timeline) {
  std::vector<std::pair<int64_t, int64_t>> times;
  for (const Work& work : timeline.works) {  // by start
    if (!timeline.in_ledger(work)) continue;
    if (!times.empty() && work.start_ns <= times.back().second)
      times.back().second = std::max(times.back().second, work.end_ns);
    else
      times.emplace_back(work.start_ns, work.end_ns);
  }
  return times;
}

bool falls_into(const std::vector<std::pair<int64_t, int64_t>>& times, int64_t ns) {
  const auto after = std::ranges::upper_bound(times, ns, {}, &std::pair<int64_t, int64_t>::first);
  return after != times.begin() && ns < std::prev(after)->second;
}

}  // namespace

void name_by_samples(std::vector<ActivitySpan>& intervals, std::vector<std::size_t> silent,
                     const trace::Trace& trace, const RankTimeline& timeline) {
  const trace::TrackId lead = leading_thread(trace, timeline.threads);
  if (!lead.valid() || silent.empty()) return;
  const std::vector<TimedSample> samples = samples_of(trace, timeline, lead);
  const PlaceFinder places(trace, timeline);
  std::map<Place, Shares> known;
  Shares all{};
  for (const std::size_t i : silent) {
    const ActivitySpan& interval = intervals[i];
    auto at = std::ranges::lower_bound(samples, interval.start_ns, {}, &TimedSample::time_ns);
    for (; at != samples.end() && at->time_ns < interval.end_ns; ++at) {
      const Activity activity = activity_of_stack(trace, trace.stacks.samples[at->row], Activity::kOther);
      known[places.of(interval)][static_cast<std::size_t>(activity)] += 1;
      all[static_cast<std::size_t>(activity)] += 1;
    }
  }
  if (sum_of(all) < kLeastSamples) return;
  std::vector<ActivitySpan> result;
  result.reserve(intervals.size());
  auto next = silent.begin();
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (next == silent.end() || *next != i) {
      result.push_back(intervals[i]);
      continue;
    }
    ++next;
    const auto here = known.find(places.of(intervals[i]));
    divide_by_shares(intervals[i], here != known.end() ? here->second : all, result);
  }
  intervals = std::move(result);
}

LinesByCause lines_of_idle_host(const trace::Trace& trace, const RankTimeline& timeline,
                                const HostActivity& activity) {
  LinesByCause lines;
  const trace::TrackId lead = leading_thread(trace, timeline.threads);
  if (!lead.valid()) return lines;
  const int64_t pid = trace.tracks[lead.index].pid;
  const auto busy = busy_times(timeline);
  std::array<std::vector<uint32_t>, kCauseCount> rows;
  std::vector<int64_t> waits_for_input;
  for (const TimedSample& each : samples_of(trace, timeline, lead)) {
    if (falls_into(busy, each.time_ns)) continue;
    Activity at = activity.at(each.time_ns);
    if (at == Activity::kOther || at == Activity::kInput || at == Activity::kIo || at == Activity::kCompile)
      at = activity_of_stack(trace, trace.stacks.samples[each.row],
                             at == Activity::kIo || at == Activity::kCompile ? Activity::kOther : at);
    if (at == Activity::kInput) waits_for_input.push_back(each.time_ns);
    rows[static_cast<std::size_t>(activity_cause(at))].push_back(each.row);
  }
  for (std::size_t cause = 0; cause < kCauseCount; ++cause)
    if (rows[cause].size() >= kLeastSamples) lines[cause] = host_lines(trace, rows[cause], pid);
  for (int64_t& time : waits_for_input) time -= timeline.clock_shift_ns;
  const std::vector<HostLine> theirs =
      lines_of_loaders(trace, trace.tracks[lead.index].rank, pid, waits_for_input);
  std::vector<HostLine>& input = lines[static_cast<std::size_t>(Cause::kInput)];
  input.insert(input.begin(), theirs.begin(), theirs.end());
  return lines;
}

}  // namespace hone::analyze::device
