// What samples of whole devices say of a step: means over the steps that were sampled, and the course of one step, as all of
// them had it.
#pragma once

#include <optional>
#include <vector>

#include "analyze/findings.h"
#include "trace/sampled_metrics.h"

namespace hone::analyze::device {

// Every sampled device of the trace. O(samples × metrics).
std::vector<SampledDevice> sampled_devices(const trace::Trace& trace);

// The device's mean of a metric; none: it was not sampled.
std::optional<double> sampled_mean(const SampledDevice& device, trace::Sampled what);

// Of that rank and device; null: it was not sampled.
const SampledDevice* find_sampled(const std::vector<SampledDevice>& devices, int rank, int device);

}  // namespace hone::analyze::device
