// What a program says of how long its steps took, beside a recording that took no turns (hone.record() of the Python
// package): Meta::block_steps as it was read.
#pragma once

#include "trace/trace.h"

namespace hone::trace::link {

// Leaves out what was told of a rank where its steps are not the steps that were found: a program's step may hold several
// of what repeats. After steps are marked.
void leave_out_other_steps(Trace& trace);

}  // namespace hone::trace::link
