#include "analyze/device/timeline/clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "analyze/device/timeline/matched_collectives.h"
#include "core/statistics.h"

namespace hone::analyze::device {
namespace {

// From a rank to one whose clock is known: differences of the ends of collectives.
struct Differences {
  std::vector<double> at_once;  // of collectives that end on all ranks at once
  std::vector<double> any;

  const std::vector<double>& best() const { return at_once.empty() ? any : at_once; }
};

using Shifts = std::vector<std::optional<int64_t>>;  // by rank; nothing: not known yet

// What the ranks whose clocks are known say of the others.
std::map<uint32_t, Differences> differences(const trace::Trace& trace,
                                            const std::vector<RankTimeline>& timelines,
                                            const MatchedCollectives& collectives, const Shifts& known) {
  std::map<uint32_t, Differences> found;
  for (const MatchedCollective& collective : collectives.all) {
    const auto reference = std::find_if(collective.ranks.begin(), collective.ranks.end(),
                                        [&](const Arrival& each) { return known[each.rank].has_value(); });
    if (reference == collective.ranks.end()) continue;
    const double end = reference->end_ns + static_cast<double>(*known[reference->rank]);
    const bool together = ends_at_once(trace, timelines[reference->rank].works[reference->work]);
    for (const Arrival& arrival : collective.ranks) {
      if (known[arrival.rank]) continue;
      Differences& own = found[arrival.rank];
      own.any.push_back(end - arrival.end_ns);
      if (together) own.at_once.push_back(end - arrival.end_ns);
    }
  }
  return found;
}

Shifts shifts_to_first(const trace::Trace& trace, const std::vector<RankTimeline>& timelines) {
  const MatchedCollectives collectives = match_collectives(trace, timelines);
  Shifts shifts(timelines.size());
  shifts[0] = 0;
  while (true) {
    const std::map<uint32_t, Differences> found = differences(trace, timelines, collectives, shifts);
    if (found.empty()) return shifts;
    for (const auto& [rank, own] : found)  // rounded alike on both sides of 0
      shifts[rank] = static_cast<int64_t>(std::floor(median(own.best()) + 0.5));
  }
}

// When the first span of each rank begins.
std::map<int, int64_t> first_starts(const trace::Trace& trace) {
  std::map<int, int64_t> first;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const int rank = trace.tracks[trace.spans.track[row].index].rank;
    const int64_t start = trace.spans.start_ns[row];
    const auto [at, is_new] = first.try_emplace(rank, start);
    if (!is_new) at->second = std::min(at->second, start);
  }
  return first;
}

void move_times(RankTimeline& timeline, int64_t by_ns) {
  timeline.clock_shift_ns += by_ns;
  for (Work& work : timeline.works) {
    work.start_ns += by_ns;
    work.end_ns += by_ns;
  }
  for (HostCall& call : timeline.calls) {
    call.start_ns += by_ns;
    call.end_ns += by_ns;
  }
  for (DeviceStep& step : timeline.steps) {
    step.start_ns += by_ns;
    step.end_ns += by_ns;
    step.host_start_ns += by_ns;
    step.host_end_ns += by_ns;
  }
}

}  // namespace

void align_clocks(const trace::Trace& trace, std::vector<RankTimeline>& timelines) {
  if (timelines.size() < 2) return;
  const Shifts shifts = shifts_to_first(trace, timelines);
  const std::map<int, int64_t> first = first_starts(trace);
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (std::size_t rank = 0; rank < timelines.size(); ++rank)
    earliest = std::min(earliest, first.at(timelines[rank].rank) + shifts[rank].value_or(0));
  for (std::size_t rank = 0; rank < timelines.size(); ++rank)
    move_times(timelines[rank], shifts[rank].value_or(0) - earliest);
}

}  // namespace hone::analyze::device
