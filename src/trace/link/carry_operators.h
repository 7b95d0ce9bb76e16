// Operators for steps that were recorded without them: recording operators costs more than everything else, so a recorder
// that takes turns writes them down in a few steps, and the sequence of launches, which is the same in every step, tells
// where in another step the same operators ran.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/link/launches.h"
#include "trace/link/recorded_steps.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Gives steps of the timeline the operators, ranges and functions of the host that a step recorded with operators has:
// copies of those spans, on the same threads, from launch to launch as long as the step's own launches are apart. Device
// work gets the copy of its counterpart's caller as its caller. Works are counterparts where they stand at one place in
// the order of launches of their steps and are the same kernel with the same grid, or the same copy of as many bytes;
// where the orders differ, they are aligned. `recorded` has the steps of each rank, shown or not. Returns how many steps
// were given operators: then spans were added. O(works and copies) where steps are alike.
int carry_operators(Trace& trace, const std::map<int, std::vector<StepInterval>>& recorded,
                    std::vector<DeviceWork>& work);

// Span::step by row, and of spans on the host that begin in steps which are not shown numbers below kNoStep, one a step.
std::vector<int32_t> recorded_steps_by_row(const Trace& trace,
                                           const std::map<int, std::vector<StepInterval>>& recorded);

}  // namespace hone::trace::link
