// Operators for steps that were recorded without them: recording operators costs more than everything else, so a recorder
// that takes turns writes them down in a few steps, and the sequence of launches, which is the same in every step, tells
// which launch of another step is the same operator's.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/link/launches.h"
#include "trace/link/recorded_steps.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Gives device work without a caller the caller of its counterpart, which is a call in another step, and that call's
// external id (Launch::external, Copy::external). Works are counterparts where they stand at one place in the order of
// launches of their steps and are the same kernel with the same grid, or the same copy of as many bytes; where the
// orders differ, they are aligned. `recorded` has the steps of each rank, shown or not. O(works) where steps are alike.
void carry_operators(Trace& trace, const std::map<int, std::vector<StepInterval>>& recorded,
                     std::vector<DeviceWork>& work);

// Span::step by row, and of spans on the host that begin in steps which are not shown numbers below kNoStep, one a step.
std::vector<int32_t> recorded_steps_by_row(const Trace& trace,
                                           const std::map<int, std::vector<StepInterval>>& recorded);

}  // namespace hone::trace::link
