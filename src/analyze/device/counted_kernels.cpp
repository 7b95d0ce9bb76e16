#include "analyze/device/counted_kernels.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "analyze/device/kernels/hot_lines.h"
#include "analyze/device/kernels/kernel_figures.h"
#include "analyze/device/kernels/kernel_study.h"
#include "analyze/device/kernels/operators_of_kernels.h"
#include "analyze/device/rules/tables.h"
#include "core/units.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

constexpr double kMuchApart = 1.5;  // what was measured and what follows from shapes

std::string size_text(const std::array<uint32_t, 3>& size) {
  return fmt::format("{}×{}×{}", size[0], size[1], size[2]);
}

// The roof that the measured work needs longest at, and how long.
struct CountedRoof {
  std::string name;
  double ns = 0;
};

CountedRoof roof_of(const CounterGroup& group, const GpuRoofs& roofs) {
  const CountedFlops flops = group.flops();
  const std::pair<double, KernelMath> kinds[] = {
      {flops.vector_f32, KernelMath::kVectorF32}, {flops.vector_f64 + flops.tensor_f64, KernelMath::kF64},
      {flops.tensor_bf16, KernelMath::kBf16},     {flops.tensor_f16, KernelMath::kF16},
      {flops.tensor_tf32, KernelMath::kTf32},     {flops.tensor_f8, KernelMath::kF8},
      {flops.tensor_i8, KernelMath::kI8}};
  CountedRoof longest;
  for (const auto& [amount, math] : kinds)
    if (const double ns = ns_at(amount, roofs.matrix_roof(math)); ns > longest.ns)
      longest = {fmt::format("{} compute", trace::kernel_math_type(math)), ns};
  if (const double ns = ns_at(group.dram_bytes(), roofs.dram); ns > longest.ns) longest = {"DRAM", ns};
  return longest;
}

KernelFinding finding_of(const KernelFault& fault, double us, trace::Framework framework) {
  const DeviceRule& row = row_of(fault.rule);
  KernelFinding finding;
  finding.rule = row.id;
  finding.cause = row.cause;
  finding.title = row.word;
  finding.evidence = fault.evidence;
  finding.fix = row.fix.of(framework);
  finding.predicted_gain_us = fault.gain() * us;
  finding.gain_is_bound = fault.is_bound;
  return finding;
}

std::string apart(double measured, double by_shapes, std::string_view what, std::string (*text)(double)) {
  const double factor = measured / by_shapes;
  return fmt::format("{} {} were measured, {} follow from the operator's shapes ({})", text(measured), what,
                     text(by_shapes), format_factor(factor));
}

void add_place(const KernelPlace& place, double step_ms, CountedKernel& row) {
  row.step_ms = place.step_ms;
  row.share = step_ms > 0 ? place.step_ms / step_ms : 0;
  row.operator_flops = place.costs.flops();
  row.operator_bytes = place.costs.bytes();
  if (row.operator_flops > 0 && row.flops > 0 &&
      (row.flops > kMuchApart * row.operator_flops || row.operator_flops > kMuchApart * row.flops))
    row.disagreement = apart(row.flops, row.operator_flops, "of arithmetic", format_flops);
  // Less than that is what caches are for.
  if (row.operator_bytes > 0 && row.dram_bytes > kMuchApart * row.operator_bytes)
    row.disagreement += (row.disagreement.empty() ? "" : "; ") +
                        apart(row.dram_bytes, row.operator_bytes, "of traffic to DRAM", format_bytes);
}

CountedKernel row_of_group(const trace::Trace& trace, const CounterGroup& group, const KernelPlace& place,
                           const GpuRoofs& roofs, double step_ms) {
  const KernelStudy study = study_kernel(group, device_info(trace, group.rank, group.device));
  CountedKernel row;
  row.full_name = trace.strings.text(group.kernel);
  row.name = trace::kernel_short_name(row.full_name);
  row.family = trace.kernel(group.kernel).text();
  row.rank = group.rank;
  row.device = group.device;
  row.grid = size_text(group.launch.grid);
  row.block = size_text(group.launch.block);
  row.blocks = group.launch.blocks();
  row.threads = group.launch.threads();
  row.registers = group.launch.registers;
  row.shared_bytes = group.launch.shared_bytes;
  row.launches = group.launches;
  row.passes = group.passes;
  row.once = group.once;
  row.in_full = group.has(trace::Counter::kSmClock);
  row.us = group.ns() * 1e-3;
  row.flops = group.flops().all();
  row.dram_bytes = group.dram_bytes();
  row.intensity = row.dram_bytes > 0 ? row.flops / row.dram_bytes : 0;
  const CountedRoof roof = roof_of(group, roofs);
  row.roof = roof.name;
  row.fraction_of_roof = roof.ns / group.ns();
  if (study.bound != KernelBound::kUnknown) row.bound = kernel_bound_name(study.bound);
  row.sentence = counters_sentence(study);
  add_place(place, step_ms, row);
  row.figures = kernel_figures(study);
  KernelLines lines = hot_lines(trace, group);
  row.samples = lines.samples;
  row.line_info = std::move(lines.line_info);
  row.lines = std::move(lines.lines);
  for (const KernelFault& fault : study.faults)
    row.findings.push_back(finding_of(fault, row.us, trace.meta.framework));
  return row;
}

// By the launches in the timeline of the rank that is shown.
std::vector<KernelPlace> places_in_step(const Study& study, const CounterGroups& groups) {
  std::vector<KernelPlace> places(groups.rows().size());
  if (places.empty()) return places;
  const trace::Trace& trace = *study.trace;
  const RankTimeline& timeline = study.timelines[study.headline];
  const RankStudy& own = study.ranks[study.headline];
  const OperatorsOfKernels operators(trace, timeline);
  std::vector<char> seen(timeline.works.size(), 0);
  for (const BusyInterval& interval : own.occupancy.busy) {
    const Work& work = timeline.works[interval.work];
    const trace::Launch* launch = trace::find_detail(trace.launches, work.span);
    if (launch == nullptr) continue;
    const auto group = groups.find(timeline.rank, trace.spans.name[work.span], *launch);
    if (!group) continue;
    KernelPlace& place = places[*group];
    if (own.typical.counts(interval.window))
      place.step_ms += own.typical.part_ms(interval.window, interval.ns());
    if (std::exchange(seen[interval.work], 1) == 0) place.costs.add(operators.costs_of(work));
  }
  return places;
}

}  // namespace

std::string counters_sentence(const KernelStudy& study) {
  if (!study.knows_units) return "how busy the units of the device were was not measured";
  const std::string busy = format_percent(study.demand.most());
  const std::string bound =
      study.bound == KernelBound::kLatency
          ? fmt::format("no unit is busier than {}: it waits", busy)
          : fmt::format("bound by {}, which is {} busy", kernel_bound_name(study.bound), busy);
  if (study.faults.empty())
    return study.near_roof() ? bound + ": near what the device can do, nothing to be won in the kernel itself"
                             : bound + "; nothing is known that would help";
  return fmt::format("{}; {}", bound, row_of(study.faults.front().rule).word);
}

std::vector<CountedKernel> counted_table(const trace::Trace& trace, const CounterGroups& groups,
                                         std::span<const KernelPlace> places, const GpuRoofs& roofs,
                                         double step_ms) {
  std::vector<CountedKernel> rows;
  for (std::size_t i = 0; i < groups.rows().size(); ++i)
    rows.push_back(row_of_group(trace, groups.rows()[i], places[i], roofs, step_ms));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CountedKernel& a, const CountedKernel& b) { return a.step_ms > b.step_ms; });
  return rows;
}

std::vector<CountedKernel> counted_kernels(const Study& study) {
  const CounterGroups groups(*study.trace);
  return counted_table(*study.trace, groups, places_in_step(study, groups), study.roofs,
                       study.ranks[study.headline].typical.ms);
}

}  // namespace hone::analyze::device
