#include "analyze/device/kernels/counted_works.h"

namespace hone::analyze::device {
namespace {

const trace::DeviceInfo* device_of(const trace::Trace& trace, const CounterGroup& group) {
  for (const trace::DeviceInfo& info : trace.meta.devices)
    if (info.rank == group.rank && info.index == group.device) return &info;
  return trace.meta.devices.empty() ? nullptr : &trace.meta.devices.front();
}

}  // namespace

CountedWorks::CountedWorks(const trace::Trace& trace, const RankTimeline& timeline) {
  if (trace.counters.empty()) return;
  const CounterGroups groups(trace);
  groups_ = groups.rows();
  for (const CounterGroup& group : groups_) studies_.push_back(study_kernel(group, device_of(trace, group)));
  by_work_.assign(timeline.works.size(), kNothing);
  for (std::size_t i = 0; i < timeline.works.size(); ++i) {
    const uint32_t span = timeline.works[i].span;
    const trace::Launch* launch = trace::find_detail(trace.launches, span);
    if (launch == nullptr) continue;
    if (const auto group = groups.find(timeline.rank, trace.spans.name[span], *launch))
      by_work_[i] = static_cast<uint32_t>(*group);
  }
}

}  // namespace hone::analyze::device
