// Profiles a plan: runs it with the runtime's marks recorded, and hands analysis a trace whose operator table
// carries what the graph knows (costs, provenance, geometry) as columns.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "core/contention.h"
#include "core/result.h"
#include "core/roofs.h"
#include "lab/gate/paired.h"
#include "runtime/plan.h"
#include "trace/trace.h"

namespace hone::lab {

// What `node` costs and what kind of work it is: all that the graph alone knows. No costs and no geometry
// where a type is not static.
trace::Operator describe_operator(const graph::Graph& graph, const graph::Node& node);
// One row a step of the plan.
std::vector<trace::Operator> operator_table(const runtime::Plan& plan, const std::string& device);

struct ProfileOptions {
  int64_t budget_ns = 1'500'000'000;
  int min_steps = 7;
  int max_steps = 400;
  int top = 5;
  std::string device = "cpu";
  std::string source;   // what the analysis is of
  std::string machine;  // for the trace
  int threads = 1;
};

struct Profile {
  trace::Trace trace;
  analyze::Analysis analysis;
  ContentionShare contention;  // of the steps in it
  int left_out = 0;            // steps that other programs disturbed, and for which others were there instead
};

// A profile of a busy machine gives no verdict, finds nothing and predicts no gain; a warning says why.
void withhold_findings(const ContentionShare& contention, analyze::Analysis& analysis);

// The plan's inputs must have been written. One unrecorded run comes first. Steps during which other programs
// had this process's CPUs are left out as long as the budget lasts. Where too few others remain the profile
// is of a busy machine: its analysis says so instead of giving a verdict, and predicts no gains.
Result<Profile> profile_plan(runtime::Plan& plan, const Roofs& roofs, const ProfileOptions& options);

}  // namespace hone::lab
