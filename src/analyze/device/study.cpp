#include "analyze/device/study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyze/device/busy/divide_busy.h"
#include "analyze/device/run_async.h"
#include "analyze/device/timeline/clocks.h"

namespace hone::analyze::device {
namespace {

// The steps that every rank has; empty: there are none.
std::set<int32_t> common_steps(const std::vector<RankTimeline>& timelines) {
  std::map<int32_t, std::size_t> ranks;
  for (const RankTimeline& timeline : timelines)
    for (const DeviceStep& step : timeline.steps) ++ranks[step.step];
  std::set<int32_t> common;
  for (const auto& [step, count] : ranks)
    if (count == timelines.size()) common.insert(step);
  return common;
}

// Ranks that wait for each other stall together, or the one does whose ledger tells why: all are told alike.
void tell_ranks_alike(std::vector<RankTimeline>& timelines) {
  const bool recur =
      std::ranges::any_of(timelines, [](const RankTimeline& timeline) { return timeline.stalls.recur; });
  for (RankTimeline& timeline : timelines) timeline.stalls.recur = recur;
}

// Recording hardly slows what the device does: a step that takes much less than the device worked is another one.
void take_recorder_out(const trace::Meta& meta, const RankTimeline& timeline, RankStudy& rank) {
  constexpr double kLeastOfBusy = 0.9;
  rank.measured = measured_steps(meta, timeline.rank, timeline.stalls);
  if (!rank.measured) return;
  double busy_ms = 0;
  for (const BusyInterval& interval : rank.occupancy.busy)
    busy_ms += rank.typical.part_ms(interval.window, interval.ns());
  if (rank.measured->unrecorded.median < kLeastOfBusy * busy_ms) {
    rank.measured.reset();
    rank.measured_others = true;
  } else {
    rank.typical.ms = std::min(rank.typical.ms, rank.measured->unrecorded.median);
  }
}

}  // namespace

const trace::DeviceInfo* device_info(const trace::Trace& trace, int rank, int device) {
  const trace::DeviceInfo* found = nullptr;
  for (const trace::DeviceInfo& info : trace.meta.devices) {
    if (info.rank != rank) continue;
    if (info.index == device) return &info;
    if (found == nullptr) found = &info;
  }
  return found != nullptr || trace.meta.devices.empty() ? found : &trace.meta.devices.front();
}

std::vector<RankTimeline> rank_timelines(const trace::Trace& trace) {
  std::vector<RankTimeline> timelines;
  for (int rank : device_ranks(trace)) timelines.push_back(rank_timeline(trace, rank));
  return timelines;
}

Study make_study(const trace::Trace& trace, const GpuRoofs& roofs) {
  return make_study(trace, rank_timelines(trace), roofs);
}

Study make_study(const trace::Trace& trace, std::vector<RankTimeline> timelines, const GpuRoofs& roofs) {
  Study study;
  study.trace = &trace;
  study.roofs = roofs;
  std::erase_if(timelines, [](const RankTimeline& timeline) { return timeline.steps.empty(); });
  OneRun run = ranks_of_one_run(trace, std::move(timelines));
  study.timelines = std::move(run.timelines);
  study.of_other_runs = std::move(run.of_other_runs);
  for (RankTimeline& timeline : study.timelines) study.evidence.push_back(weigh_evidence(trace, timeline));
  align_clocks(trace, study.timelines);
  tell_ranks_alike(study.timelines);
  const std::set<int32_t> common = common_steps(study.timelines);
  for (const RankTimeline& timeline : study.timelines) {
    RankStudy rank;
    std::future<HostActivity> activity = run_async([&] { return host_activity(trace, timeline); });
    rank.occupancy = occupancy(timeline, timeline.ledger_device());
    for (int device : timeline.devices)
      rank.overlaps.push_back(device == timeline.ledger_device() ? rank.occupancy.overlaps
                                                                 : occupancy(timeline, device).overlaps);
    rank.loops = find_loops(trace, timeline);
    study.activities.push_back(activity.get());
    rank.idle = idle_intervals(timeline, rank.occupancy, study.activities.back());
    rank.split = divide_busy(trace, timeline, study.activities.back(), rank.loops, roofs);
    rank.shapes = varying_shapes(trace, timeline, rank.split.uses);
    rank.typical = typical_step(timeline, common);
    take_recorder_out(trace.meta, timeline, rank);
    study.ranks.push_back(std::move(rank));
  }
  study.collectives = match_collectives(trace, study.timelines);
  study.programs = make_programs(trace, study.timelines, study.activities, study.collectives);
  double longest = 0;
  for (std::size_t rank = 0; rank < study.ranks.size(); ++rank) {
    const double waits = waiting_for_others_ms(study, rank);
    if (waits <= longest) continue;
    longest = waits;
    study.headline = rank;
  }
  return study;
}

std::size_t typical_window(const Study& study, std::size_t rank) {
  const std::vector<DeviceStep>& steps = study.timelines[rank].steps;
  const double middle = study.ranks[rank].typical.recorded_ms;
  std::size_t best = 0;
  for (std::size_t k = 1; k < steps.size(); ++k)
    if (std::abs(steps[k].ms() - middle) < std::abs(steps[best].ms() - middle)) best = k;
  return best;
}

double waited_ns(const Study& study, std::size_t rank, const BusyInterval& interval) {
  const MatchedCollective* collective = study.collectives.find(static_cast<uint32_t>(rank), interval.work);
  if (collective == nullptr) return 0;
  return std::clamp(collective->last_ns - static_cast<double>(interval.start_ns), 0.0,
                    static_cast<double>(interval.end_ns - interval.start_ns)) /
         interval.sharers;
}

double waiting_for_others_ms(const Study& study, std::size_t rank) {
  double total = 0;
  for (const BusyInterval& interval : study.ranks[rank].occupancy.busy)
    total += study.ranks[rank].typical.part_ms(interval.window, waited_ns(study, rank, interval));
  return total;
}

}  // namespace hone::analyze::device
