#include "analyze/device/ranks.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "core/statistics.h"
#include "core/units.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

int32_t timeline_step(const RankTimeline& timeline, const Arrival& arrival, std::size_t rank) {
  return arrival.rank == rank ? timeline.works[arrival.work].step : trace::kNoStep;
}

double steps_of(const Study& study, std::size_t rank) {
  return static_cast<double>(std::max<std::size_t>(1, study.timelines[rank].steps.size()));
}

// How much later than the first a rank comes to its collectives.
void add_lateness(const Study& study, std::size_t rank, RankSummary& summary) {
  const RankTimeline& timeline = study.timelines[rank];
  std::vector<double> all;
  std::map<int32_t, double> latest;  // by step
  for (const MatchedCollective& collective : study.collectives.all)
    for (const Arrival& arrival : collective.ranks) {
      const int32_t step = timeline_step(timeline, arrival, rank);
      if (step == trace::kNoStep) continue;
      const double late = arrival.start_ns - collective.first_ns;
      all.push_back(late);
      latest[step] = std::max(latest[step], late);
    }
  if (all.empty()) return;
  summary.collectives = static_cast<double>(all.size()) / steps_of(study, rank);
  summary.lateness_ms = std::reduce(all.begin(), all.end()) / steps_of(study, rank) * 1e-6;
  summary.usually_late_us = median(all) * 1e-3;
  std::vector<double> by_step;
  for (const auto& [step, late] : latest) by_step.push_back(late);
  summary.latest_ms = median(by_step) * 1e-6;
}

// A part of the time, in ms of a rank's typical step.
template <typename Field>
double per_step(const RankStudy& own, const std::vector<Overlap>& overlaps, Field field) {
  double total = 0;
  for (std::size_t window = 0; window < overlaps.size(); ++window)
    total += own.typical.part_ms(window, field(overlaps[window]));
  return total;
}

std::string source_of(const trace::Trace& trace, int rank) {
  for (const trace::RankInfo& info : trace.meta.ranks)
    if (info.rank == rank) return info.source;
  return {};
}

std::string device_name(const trace::Trace& trace, int rank, int device) {
  const trace::DeviceInfo* info = device_info(trace, rank, device);
  return info == nullptr ? std::string() : info->name;
}

double collective_bytes(const trace::Collective& detail) {
  return std::max(detail.elements_in, detail.elements_out) * static_cast<double>(dtype_size(detail.dtype));
}

// By work: how often it counts in the rank's typical step.
std::vector<double> work_weights(const Study& study, std::size_t rank) {
  const RankTimeline& timeline = study.timelines[rank];
  std::map<int32_t, double> of_step;
  for (std::size_t window = 0; window < timeline.steps.size(); ++window)
    of_step[timeline.steps[window].step] = study.ranks[rank].typical.weight[window];
  std::vector<double> weights;
  for (const Work& work : timeline.works) {
    const auto found = of_step.find(work.step);
    weights.push_back(found == of_step.end() ? 0 : found->second);
  }
  return weights;
}

// By work: of a collective, the time after the last rank came to it during which the device computed nothing,
// in ms of the rank's typical step: what the ledger calls communication.
std::vector<double> exposed_ms(const Study& study, std::size_t rank) {
  const RankStudy& own = study.ranks[rank];
  std::vector<double> exposed(study.timelines[rank].works.size(), 0);
  for (const BusyInterval& interval : own.occupancy.busy)
    exposed[interval.work] +=
        own.typical.part_ms(interval.window, interval.ns() - waited_ns(study, rank, interval));
  return exposed;
}

// From the last arrival to its end on this rank.
double transfer_ns(const Study& study, std::size_t rank, std::size_t work) {
  const Work& own = study.timelines[rank].works[work];
  const MatchedCollective* collective =
      study.collectives.find(static_cast<uint32_t>(rank), static_cast<uint32_t>(work));
  const auto start = static_cast<double>(own.start_ns);
  const double arrived = collective == nullptr ? start : std::max(start, collective->last_ns);
  return std::max(0.0, static_cast<double>(own.end_ns) - arrived);
}

std::string collective_name(const trace::Trace& trace, const Work& work, const trace::Collective* detail) {
  return detail != nullptr && detail->name.valid()
             ? std::string(trace.strings.text(detail->name))
             : trace::kernel_short_name(trace.strings.text(trace.spans.name[work.span]));
}

// The rank whose arrival ends most of what the headline rank waits at their collectives.
std::size_t most_waited_for(const Study& study) {
  std::vector<double> waited(study.timelines.size(), 0);
  for (const MatchedCollective& collective : study.collectives.all) {
    double arrived = 0;
    bool attends = false;
    for (const Arrival& arrival : collective.ranks)
      if (arrival.rank == study.headline) {
        attends = study.timelines[arrival.rank].works[arrival.work].step != trace::kNoStep;
        arrived = arrival.start_ns;
      }
    if (!attends) continue;
    const auto last =
        std::max_element(collective.ranks.begin(), collective.ranks.end(),
                         [](const Arrival& a, const Arrival& b) { return a.start_ns < b.start_ns; });
    waited[last->rank] += collective.last_ns - arrived;
  }
  const auto most = std::max_element(waited.begin(), waited.end());
  return most == waited.end() ? 0 : static_cast<std::size_t>(most - waited.begin());
}

// Device time and calls a step of each kind of operator. Calls, not works: on more data the same call may
// launch more kernels.
struct KindUse {
  double ms = 0;
  double calls = 0;
};

std::map<std::string_view, KindUse> use_by_kind(const Study& study, std::size_t rank) {
  std::map<std::string_view, KindUse> uses;
  const RankTimeline& timeline = study.timelines[rank];
  std::vector<char> seen(timeline.executions, 0);
  for (const Work& work : timeline.works) {
    if (work.op == kNothing || work.step == trace::kNoStep) continue;
    KindUse& use = uses[study.trace->operators[work.op].kind];
    use.ms += static_cast<double>(work.ns()) * 1e-6 / steps_of(study, rank);
    if (seen[work.execution] == 0) use.calls += 1 / steps_of(study, rank);
    seen[work.execution] = 1;
  }
  return uses;
}

// Whether a rank computes longer than another mainly because it runs more operators, not longer ones.
bool does_extra_work(const Study& study, std::size_t rank, std::size_t other) {
  constexpr double kMoreCalls = 1.02;
  const auto own = use_by_kind(study, rank), others = use_by_kind(study, other);
  double longer = 0, extra = 0;
  for (const auto& [kind, use] : own) {
    const auto found = others.find(kind);
    const KindUse known = found == others.end() ? KindUse() : found->second;
    const double more = std::max(0.0, use.ms - known.ms);
    longer += more;
    if (use.calls > kMoreCalls * known.calls) extra += more;
  }
  return extra > 0.5 * longer;
}

}  // namespace

double bus_bytes(trace::CollectiveKind collective, double bytes, double ranks) {
  if (ranks < 2) return bytes;
  const double others = (ranks - 1) / ranks;
  switch (collective) {
    using enum trace::CollectiveKind;
    case kAllReduce:
      return 2 * others * bytes;
    case kReduceScatter:
    case kAllGather:
    case kAllToAll:
    case kGather:
    case kScatter:
      return others * bytes;
    default:
      return bytes;
  }
}

std::vector<RankSummary> rank_summaries(const Study& study) {
  std::vector<RankSummary> summaries;
  for (std::size_t rank = 0; rank < study.timelines.size(); ++rank) {
    const RankTimeline& timeline = study.timelines[rank];
    const RankStudy& own = study.ranks[rank];
    RankSummary summary;
    summary.rank = timeline.rank;
    summary.source = source_of(*study.trace, summary.rank);
    summary.step_ms = own.typical.ms;
    summary.clock_shift_us =
        static_cast<double>(timeline.clock_shift_ns - study.timelines[0].clock_shift_ns) * 1e-3;
    for (std::size_t k = 0; k < timeline.devices.size(); ++k) {
      RankSummary row = summary;
      row.device_index = timeline.devices.size() > 1 ? timeline.devices[k] : -1;
      row.device = device_name(*study.trace, row.rank, timeline.devices[k]);
      const double busy = per_step(own, own.overlaps[k], [](const Overlap& overlap) { return overlap.busy; });
      row.busy_share = own.typical.ms > 0 ? busy / own.typical.ms : 0;
      row.compute_ms = per_step(own, own.overlaps[k], [](const Overlap& overlap) { return overlap.compute; });
      if (k == 0) {
        add_lateness(study, rank, row);
        row.waiting_ms = waiting_for_others_ms(study, rank);
      }
      summaries.push_back(std::move(row));
    }
  }
  return summaries;
}

std::vector<CollectiveSummary> collective_summaries(const Study& study) {
  const std::size_t rank = study.headline;
  const RankTimeline& timeline = study.timelines[rank];
  const std::vector<double> weights = work_weights(study, rank), exposed = exposed_ms(study, rank);
  std::map<std::pair<std::string, std::string>, CollectiveSummary> rows;
  std::map<std::pair<std::string, std::string>, double> moved;
  for (std::size_t i = 0; i < timeline.works.size(); ++i) {
    const Work& work = timeline.works[i];
    if (work.kind != WorkKind::kCollective || weights[i] <= 0 || !timeline.in_ledger(work)) continue;
    const trace::Collective* detail = trace::find_detail(study.trace->collectives, work.span);
    const std::string name = collective_name(*study.trace, work, detail);
    auto ranks = static_cast<double>(study.timelines.size());
    std::string group = "unnamed group";
    if (detail != nullptr) {
      ranks = detail->group_size > 0 ? detail->group_size : ranks;
      group = fmt::format("{} ({:g} ranks)",
                          detail->group.valid() ? study.trace->strings.text(detail->group) : "group", ranks);
    }
    CollectiveSummary& row = rows[{name, group}];
    row.name = name;
    row.group = group;
    row.count += weights[i];
    row.ms += transfer_ns(study, rank, i) * weights[i] * 1e-6;
    row.exposed_ms += exposed[i];
    const double bytes = detail != nullptr ? collective_bytes(*detail) : 0;
    const bool named = detail != nullptr && detail->name.valid();
    const trace::CollectiveKind kind = named ? detail->kind : study.trace->kernel(work.span).collective;
    row.bytes += bytes * weights[i];
    moved[{name, group}] += bus_bytes(kind, bytes, ranks) * weights[i];
    row.roof_bytes_per_s = study.roofs.link;
  }
  std::vector<CollectiveSummary> summaries;
  for (auto& [key, row] : rows) {
    row.count = whole_count(row.count);
    row.bus_bytes_per_s = row.ms > 0 ? moved[key] / (row.ms * 1e-3) : 0;
    summaries.push_back(std::move(row));
  }
  std::stable_sort(summaries.begin(), summaries.end(),
                   [](const CollectiveSummary& a, const CollectiveSummary& b) { return a.ms > b.ms; });
  return summaries;
}

Straggler find_straggler(const Study& study, const Accounts& headline) {
  Straggler late;
  late.rank = most_waited_for(study);
  late.number = study.timelines.empty() ? 0 : study.timelines[late.rank].rank;
  if (study.timelines.size() < 2 || late.rank == study.headline) return late;
  const Accounts own = make_accounts(study, late.rank);
  double busy = 0, longest = 0;
  Cause cause = Cause::kFloor;
  for (Cause each : all_causes()) {
    const double more = own[static_cast<std::size_t>(each)].ms - headline[static_cast<std::size_t>(each)].ms;
    if (is_busy(each))
      busy += more;
    else if (each != Cause::kStraggler && each != Cause::kComm && more > longest)
      longest = more, cause = each;
  }
  const double step_ms = study.ranks[study.headline].typical.ms;
  late.longer_ms = std::max(busy, longest);
  if (busy >= longest) {
    late.extra_work = does_extra_work(study, late.rank, study.headline);
    late.doing = fmt::format(
        "its device computes {} longer than that of rank {}{}", fixed_ms(busy, step_ms),
        study.timelines[study.headline].rank,
        late.extra_work ? ", most of it in calls of operators that the latter does not make" : "");
    return late;
  }
  late.cause = cause;
  const Account& account = own[static_cast<std::size_t>(cause)];
  const bool named = !account.entries.empty() && !account.entries.front().name.empty();
  late.doing =
      fmt::format("its device is idle {} longer than that of rank {} ({}{}{})", fixed_ms(longest, step_ms),
                  study.timelines[study.headline].rank, cause_label(cause), named ? ": " : "",
                  named ? account.entries.front().name : std::string());
  return late;
}

}  // namespace hone::analyze::device
