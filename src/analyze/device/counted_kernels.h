// The kernels of a trace that have counters, as findings: each with what bounds it, what is wrong with it, and its place in the
// step.
#pragma once

#include <vector>

#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// Those of all ranks, by their time in the step of the rank that is shown, then by their own.
std::vector<CountedKernel> counted_kernels(const Study& study);

}  // namespace hone::analyze::device
