#include "analyze/device/plan_counters.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/device/counted_kernels.h"
#include "analyze/device/study.h"
#include "core/units.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

GpuRoofs roofs_of_plan(const trace::Trace& trace, const Roofs& given) {
  const trace::DeviceInfo* device = trace.meta.devices.empty() ? nullptr : &trace.meta.devices.front();
  GpuRoofs known = gpu_roofs(device == nullptr ? given.machine : device->name);
  if (device != nullptr && device->multiprocessors > 0) known.multiprocessors = device->multiprocessors;
  return given.compute.empty() && given.memory.empty() ? known : gpu_roofs_from(given, known);
}

// What repairing a kernel would win of `part_ms`, of which the roofs alone promise `by_roofs_ms`.
double recoverable_ms(const KernelStudy& study, double part_ms, double by_roofs_ms) {
  if (study.faults.empty()) return study.near_roof() ? 0 : by_roofs_ms;
  const KernelFault& worst = study.faults.front();
  const double promised = worst.gain() * part_ms;
  return worst.is_bound ? std::min(promised, by_roofs_ms) : promised;
}

}  // namespace

PlanCounters::PlanCounters(const trace::Trace& trace, const Roofs& roofs, std::span<const PlanKernel> kernels)
    : trace_(trace),
      roofs_(roofs_of_plan(trace, roofs)),
      groups_(trace),
      parts_(groups_.rows().empty() ? 0 : trace.operators.size()) {
  for (const CounterGroup& group : groups_.rows())
    studies_.push_back(study_kernel(group, device_info(trace, group.rank, group.device)));
  if (empty()) return;
  for (const PlanKernel& kernel : kernels) {
    if (kernel.op >= parts_.size()) continue;
    trace::Launch launch;
    launch.grid = kernel.grid;
    launch.block = kernel.block;
    parts_[kernel.op].push_back({groups_.find(0, trace.strings.find(kernel.name), launch), kernel.ns});
  }
}

// By the times of its kernels: gaps between them are its own as well.
double PlanCounters::counted_share(uint32_t op) const {
  double counted = 0, all = 0;
  for (const Part& part : parts_[op]) {
    all += part.ns;
    if (part.group) counted += part.ns;
  }
  return all > 0 ? counted / all : 0;
}

void PlanCounters::judge(StepProfile& profile) const {
  if (empty()) return;
  for (OperatorProfile& entry : profile.operators) {
    double all = 0, recoverable = 0;
    for (const Part& part : parts_[entry.op]) all += part.ns;
    if (all <= 0) continue;
    Split& split = entry.split;
    for (const Part& part : parts_[entry.op]) {
      const double share = part.ns / all, by_roofs = share * split.recoverable_inefficiency_ms;
      recoverable +=
          part.group ? recoverable_ms(studies_[*part.group], share * entry.ms.median, by_roofs) : by_roofs;
    }
    split.recoverable_inefficiency_ms = std::clamp(recoverable, 0.0, split.inefficiency_ms);
  }
}

void PlanCounters::tell(const StepProfile& profile, std::vector<LedgerRow>& ledger) const {
  if (empty()) return;
  for (LedgerRow& row : ledger) {
    if (row.cause != Cause::kFloor && row.cause != Cause::kKernelInefficiency) continue;
    double ms = 0;
    for (const OperatorProfile& entry : profile.operators)
      ms += counted_share(entry.op) *
            (row.cause == Cause::kFloor ? entry.split.floor_ms : entry.split.inefficiency_ms);
    if (ms <= 0) continue;
    row.evidence.push_back(
        fmt::format("{} of it by counters: so much is the time of kernels whose hardware counters were read",
                    fixed_ms(std::min(ms, row.ms), profile.step_ms)));
  }
}

std::string PlanCounters::words(uint32_t op) const {
  if (empty() || op >= parts_.size()) return {};
  const Part* longest = nullptr;
  for (const Part& part : parts_[op])
    if (part.group && (longest == nullptr || part.ns > longest->ns)) longest = &part;
  if (longest == nullptr) return {};
  const std::string said = counters_sentence(studies_[*longest->group]);
  if (parts_[op].size() == 1) return said;
  const CounterGroup& group = groups_.rows()[*longest->group];
  return fmt::format("{}: {}", trace::kernel_short_name(trace_.strings.text(group.kernel)), said);
}

std::vector<CountedKernel> PlanCounters::kernels(double step_ms) const {
  std::vector<KernelPlace> places(groups_.rows().size());
  for (uint32_t op = 0; op < parts_.size(); ++op) {
    const trace::Operator& row = trace_.operators[op];
    for (const Part& part : parts_[op]) {
      if (!part.group) continue;
      KernelPlace& place = places[*part.group];
      place.step_ms += part.ns * 1e-6;
      // What several kernels share among them nobody knows.
      place.costs.add(parts_[op].size() == 1 ? std::optional(LaunchCosts{row.kernel_flops(), row.bytes()})
                                             : std::nullopt);
    }
  }
  return counted_table(trace_, groups_, places, roofs_, step_ms);
}

}  // namespace hone::analyze::device
