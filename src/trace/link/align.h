// Steps of several ranks that nobody numbered: every recording begins where it begins, so step 0 of one rank
// may be step 2 of another. Collectives, which are over for all ranks at once, tell which belong together.
#pragma once

#include <span>

#include "trace/link/launches.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Numbers the steps of all ranks as those of the first rank that has collectives, and notes in Meta::notes
// (steps_found) whose were moved, and whose could not be told. Spans must have their steps.
void align_steps(Trace& trace, std::span<const DeviceWork> work);

}  // namespace hone::trace::link
