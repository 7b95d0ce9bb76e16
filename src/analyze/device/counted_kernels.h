// The kernels of a trace that have counters, as findings: each with what bounds it, what is wrong with it, and its place in the
// step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/device/kernels/counter_group.h"
#include "analyze/device/kernels/kernel_study.h"
#include "analyze/device/kernels/operators_of_kernels.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// Those of all ranks, by their time in the step of the rank that is shown, then by their own.
std::vector<CountedKernel> counted_kernels(const Study& study);

// What bounds a kernel and what is wrong with it, in words.
std::string counters_sentence(const KernelStudy& study);

// Where the launches of a group are in the step.
struct KernelPlace {
  double step_ms = 0;
  CostsByShapes costs;
};

// A row for each group, whose place in a step of `step_ms` is the one of its index; by their time in it.
std::vector<CountedKernel> counted_table(const trace::Trace& trace, const CounterGroups& groups,
                                         std::span<const KernelPlace> places, const GpuRoofs& roofs,
                                         double step_ms);

}  // namespace hone::analyze::device
