// The numbers of a kernel under the counters, in the sections in which people read them.
#pragma once

#include <vector>

#include "analyze/device/kernels/kernel_study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// What was not measured is left out.
std::vector<CounterFigure> kernel_figures(const KernelStudy& study);

}  // namespace hone::analyze::device
