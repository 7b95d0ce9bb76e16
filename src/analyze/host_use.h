// What a program took of its host, per step: figures of the report, where there is something to tell.
#pragma once

#include <vector>

#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

// Of all blocks of that rank together. `step_ms` is what a step takes without the recorder. Empty: nothing was counted.
std::vector<Metric> host_use_metrics(const trace::Trace& trace, int rank, double step_ms);

}  // namespace hone::analyze
