// What a program took of its host, per step: figures of the report, where there is something to tell.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

// Of all blocks of that rank together. `step_ms` is what a step takes without the recorder. Empty: nothing was counted.
std::vector<Metric> host_use_metrics(const trace::Trace& trace, int rank, double step_ms);

// A line where the program's main thread stood in line for a CPU so long that its times are not its own.
std::vector<std::string> host_use_warnings(const trace::Trace& trace, int rank);

}  // namespace hone::analyze
