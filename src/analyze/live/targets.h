// What the live figures should be. Those of GPUs that a recording has as well are judged by the same targets
// (analyze/device/metrics.h); the others stand in a table here.
#pragma once

#include <string_view>
#include <vector>

#include "analyze/findings.h"
#include "trace/live/machine_use.h"

namespace hone::analyze::live {

// Only figures that are known. A GPU that nobody uses misses no target: its figures come without.
std::vector<Metric> gpu_targets(const trace::live::GpuUse& gpu);
std::vector<Metric> host_targets(const trace::live::HostUse& host);

// The metric of that name; null: it is not known.
const Metric* find_metric(const std::vector<Metric>& metrics, std::string_view name);

}  // namespace hone::analyze::live
