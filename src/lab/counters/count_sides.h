// Counts the kernels of an experiment's plans, one plan after the other, once all else has been measured, and has each plan's
// analysis read anew with its counters (docs/decisions/0070-counters-of-our-own-plans.md). How one plan is counted is
// lab/counters/count_plan.h.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/plan_kernel.h"
#include "core/result.h"
#include "core/tensor.h"
#include "lab/counters/count_plan.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "trace/trace.h"

namespace hone::lab {

// One of the plans whose kernels are counted, and what is known of its steps: both change only where counting succeeds.
struct CountedSide {
  std::string name;  // in lines for users, and of its folder
  std::unique_ptr<runtime::Plan> plan;
  analyze::Analysis& analysis;
  trace::Trace& trace;
};

struct CountSidesOptions {
  const runtime::Provider& provider;  // that made the plans
  std::span<const Tensor> inputs;     // one an input of their graphs
  const CountPlanOptions& plans;
  double budget_s;                        // of the whole experiment
  std::function<double()> seconds_spent;  // of it, so far
  // The analysis of `source`'s trace, told which operators run which kernels.
  std::function<Result<analyze::Analysis>(const trace::Trace& trace, const std::string& source,
                                          std::vector<analyze::PlanKernel> kernels)>
      analyse;
  // Told what is being counted; false ends it. Asked ten times a second.
  std::function<bool(const std::string& what)> keep_going;
};

// Counts the sides in their order, as far as the time for them goes. All plans are saved and then destroyed before the first is
// counted: the process that counts needs their memory. Returns a line for each thing that went wrong or is not counted.
std::vector<std::string> count_sides(std::vector<CountedSide> sides, const CountSidesOptions& options);

}  // namespace hone::lab
