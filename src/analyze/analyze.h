// From a trace to its analysis: the one entry point of this library. Pure: the same tables give the same
// findings.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/plan_kernel.h"
#include "core/result.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::analyze {

struct AnalyzeOptions {
  int top = 5;
  int rank = 0;
  std::string source;  // named in the analysis: the run folder, file or model
  std::vector<PlanKernel> kernels =
      {};  // of a plan of ours: which of its operators each counted kernel runs for
};

// Errors: an invalid trace, or one without steps.
Result<Analysis> analyze_trace(const trace::Trace& trace, const Roofs& roofs, const AnalyzeOptions& options);

}  // namespace hone::analyze
