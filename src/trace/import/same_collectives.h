// Whether two recordings are of ranks that ran the same collectives together, whatever their clocks say: a
// collective ends on all ranks at once.
#pragma once

#include "trace/trace.h"

namespace hone::trace {

// Of one rank each. True only where many reductions and gathers of a group that both are in have the same
// kinds and sizes in the same order, and their ends are the same time apart by less than two runs of one
// program keep step. O(n) in the collectives.
bool same_collectives(const Trace& a, const Trace& b);

}  // namespace hone::trace
