// What a program took of its host, per step: figures of the report, where there is something to tell.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

// Of all blocks of that rank together.
trace::HostUse total_host_use(const trace::Trace& trace, int rank);

// `step_ms` is what a step takes without the recorder. Empty: nothing was counted.
std::vector<Metric> host_use_metrics(const trace::HostUse& use, double step_ms);

// Where the program's main thread stood in line for a CPU so long that its times are not its own, and its step depends on
// them: a warning; where it was longer than that, no verdict and no gains. Ledger and findings must be there.
void tell_without_cpu(const trace::HostUse& use, Analysis& analysis);

}  // namespace hone::analyze
