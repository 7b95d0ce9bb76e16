// The typical step of a program on the host as it is when nobody records it: what recording costs, which was measured in
// the same run, is taken out of where it was spent.
#pragma once

#include "analyze/findings.h"
#include "analyze/profile.h"
#include "analyze/unrecorded.h"

namespace hone::analyze {

// The recorder writes something down where an operator begins and where it ends. So its cost is taken from operators and
// from the time between them by how many there are, never below what an operator needs at least; what remains, from all
// alike. Each part's samples are scaled with it, and `step` then tells the measured step. Nothing changes where the step
// without the recorder took no less: a warning says so where it took longer than chance explains.
void take_out_recorder(const MeasuredSteps& measured, StepProfile& profile, StepTime& step,
                       std::vector<std::string>& warnings);

}  // namespace hone::analyze
