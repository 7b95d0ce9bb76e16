// How much a recorder held up the host at every operator, read off the recording.
#pragma once

#include <vector>

#include "analyze/device/host/host_spans.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// From the end of a call or an operator to the start of the next operator beside it, in ns, where the program
// does little between them: a quarter of these distances are shorter. Leaving the one and entering the other
// lies in this distance, with what the recorder does there. 0: too few to tell.
double operator_gap(const trace::Trace& trace, const std::vector<std::vector<HostSpan>>& threads);

}  // namespace hone::analyze::device
