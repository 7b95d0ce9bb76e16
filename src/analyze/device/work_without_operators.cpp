#include "analyze/device/work_without_operators.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "trace/kernel_family.h"
#include "trace/link/steps.h"
#include "trace/span_nesting.h"

namespace hone::analyze::device {
namespace {

// Ranges with this share of the time, or that leave so much of it out, say less than kernels do: one around the whole step.
constexpr double kWholeStep = 0.95, kLeftOut = 0.5;

struct RangeTime {
  double ms = 0, works = 0;                 // a step
  std::map<uint32_t, double> kernels = {};  // by string id, ms
};

// By the innermost range around the launch, numbers left out of its name.
std::map<std::string, RangeTime> times_by_range(const Study& study, std::size_t rank) {
  const trace::Trace& trace = *study.trace;
  const RankTimeline& timeline = study.timelines[rank];
  const RankStudy& own = study.ranks[rank];
  const std::vector<uint32_t> around = trace::SpanNesting(trace).nearest(trace, trace::Category::kRegion);
  std::map<std::string, RangeTime> times;
  std::vector<char> counted(timeline.works.size(), 0);
  for (const BusyInterval& interval : own.occupancy.busy) {
    const Work& work = timeline.works[interval.work];
    if (work.kind == WorkKind::kCollective || !own.typical.counts(interval.window)) continue;
    const uint32_t region = work.call == kNothing ? trace::kNoSpan : around[timeline.calls[work.call].span];
    std::string name;
    if (region != trace::kNoSpan)
      name = trace::link::without_numbers(trace.strings.text(trace.spans.name[region]));
    RangeTime& time = times[name];
    const double ms = own.typical.part_ms(interval.window, interval.ns());
    time.ms += ms;
    if (std::exchange(counted[interval.work], 1) == 0) time.works += own.typical.weight[interval.window];
    time.kernels[trace.spans.name[work.span].index] += ms;
  }
  return times;
}

TopOperator top_row_of(TopKind of, const std::string& name, double ms, double step_ms) {
  TopOperator row;
  row.of = of;
  row.op = kNothing;
  row.name = name;
  row.kind = of == TopKind::kRange ? "range" : "kernel";
  row.ms = ms;
  row.share = step_ms > 0 ? ms / step_ms : 0;
  row.roof = "unknown";
  return row;
}

std::vector<TopOperator> rows_of_ranges(const Study& study, std::size_t rank) {
  const trace::Trace& trace = *study.trace;
  std::vector<TopOperator> rows;
  double all = 0, largest = 0, outside = 0;
  for (const auto& [name, time] : times_by_range(study, rank)) {
    all += time.ms;
    if (name.empty()) {
      outside = time.ms;
      continue;
    }
    largest = std::max(largest, time.ms);
    rows.push_back(top_row_of(TopKind::kRange, name, time.ms, study.ranks[rank].typical.ms));
    const auto most = std::max_element(time.kernels.begin(), time.kernels.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    rows.back().why = fmt::format("{:.3g} launches a step, most of the time {}", time.works,
                                  trace::kernel_short_name(trace.strings.text(trace::StringId{most->first})));
  }
  if (largest > kWholeStep * all || outside > kLeftOut * all) return {};
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return rows;
}

}  // namespace

void list_work_without_operators(const Study& study, std::size_t rank, int top, OperatorTables& tables) {
  if (!tables.operators.empty()) return;
  const double step_ms = study.ranks[rank].typical.ms;
  tables.top = rows_of_ranges(study, rank);
  if (tables.top.empty())
    for (const KernelTime& kernel : tables.kernels) {
      tables.top.push_back(top_row_of(TopKind::kKernel, kernel.name, kernel.ms, step_ms));
      tables.top.back().why = fmt::format("{} × {}", kernel.launches, format_ms(kernel.mean_us * 1e-3));
    }
  if (static_cast<int>(tables.top.size()) > top) tables.top.resize(static_cast<std::size_t>(top));
  for (std::size_t i = 0; i < tables.top.size(); ++i) tables.top[i].rank = static_cast<int>(i) + 1;
}

}  // namespace hone::analyze::device
