// Which works of a device one call of an operator launched: what an operator's costs, those of one execution,
// are counted by. Calls that launch nothing themselves, but only call others, execute nothing here, so an
// operator that a dispatcher hands to itself (aten::addmm > PythonDispatchMode > aten::addmm) executes once.
#pragma once

#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Fills in Work::execution of works that have an operator, and RankTimeline::executions. Works, calls and
// threads must be there. O(n log n) in the operators of the rank's threads.
void number_executions(const trace::Trace& trace, RankTimeline& timeline);

}  // namespace hone::analyze::device
