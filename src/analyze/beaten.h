// Operators that were clearly faster than their own roof: a roof is a bound only as far as it was measured
// well, and these show that it was not.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/profile.h"
#include "trace/trace.h"

namespace hone::analyze {

// Those that matter to the step, furthest beyond their roof first.
std::vector<BeatenRoof> beaten_roofs(const trace::Trace& trace, const StepProfile& profile);

// The warning about them, for people; empty for none.
std::string beaten_warning(const std::vector<BeatenRoof>& beaten);

}  // namespace hone::analyze
