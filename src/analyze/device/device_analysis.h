// From the trace of a program that drives devices to its analysis. analyze_trace (analyze.h) hands traces
// with device work to this.
#pragma once

#include "analyze/analyze.h"
#include "analyze/findings.h"
#include "core/result.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// Whether anything ran on a stream of a device.
bool has_device_work(const trace::Trace& trace);

// `roofs` are those that the user gave; without any rate in them those of the trace's device, as gpu_roofs.h
// has them. Errors: no steps.
Result<Analysis> analyze_device_trace(const trace::Trace& trace, const Roofs& roofs,
                                      const AnalyzeOptions& options);

}  // namespace hone::analyze::device
