// Profiles a plan: runs it with the runtime's marks recorded, and hands analysis a trace whose operator table
// carries what the graph knows (costs, provenance, geometry) as columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "analyze/plan_kernel.h"
#include "core/contention.h"
#include "core/result.h"
#include "core/roofs.h"
#include "runtime/plan.h"
#include "trace/recorder.h"
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
  std::vector<analyze::PlanKernel> kernels = {};  // AnalyzeOptions
  std::size_t marks_beside = 0;  // that each thread may make in all recorded steps, beside those of the plan
};

struct Profile {
  trace::Trace trace;
  analyze::Analysis analysis;
  int left_out = 0;  // steps that other programs disturbed, and for which others were there instead
};

// The profile's trace read by these roofs.
Result<analyze::Analysis> analyse_profile(const trace::Trace& trace, const Roofs& roofs,
                                          const ProfileOptions& options);

// Profiles a plan one step at a time, for callers that do something else between two steps. The plan's inputs
// must have been written, and it must outlive this.
class StepRecorder {
 public:
  StepRecorder(runtime::Plan& plan, const ProfileOptions& options);

  // Runs and records a step; does nothing once max_steps have been recorded. All steps are timed in one way: where that
  // changes (Plan::mark_times), this one and those before it are forgotten. Forgets the step again if other
  // programs disturbed it and it ended before `forget_until_ns` (core/clock.h).
  // `before` is what else belongs to the step, before the plan runs: waiting for its input. It may make kRegion marks.
  // `meanwhile`: what the host does while the device runs the plan (Plan::run).
  Status record(int64_t forget_until_ns, const std::function<Status()>& before = {},
                const std::function<Status()>& meanwhile = {});
  // The same after an unrecorded step that fills the caches anew, where another plan ran last and a step is
  // so short that this matters.
  Status record_after_others(int64_t forget_until_ns);

  int steps() const { return kept_; }
  bool enough() const { return kept_ >= options_.min_steps; }
  // Of the steps so far. Where too many of them were disturbed the profile is of a busy machine: its analysis
  // says so instead of giving a verdict, and predicts no gains. `regions`: what the ids of kRegion marks stand for.
  Result<Profile> profile(const Roofs& roofs, const std::vector<trace::Region>& regions = {}) const;

 private:
  Status run_step(const std::function<Status()>& before, const std::function<Status()>& meanwhile);
  bool is_timed_in_another_way();
  void forget_all();

  runtime::Plan& plan_;
  ProfileOptions options_;
  runtime::MarkTimes::How timed_;
  trace::ScopeRecorder recorder_;
  ContentionMeter meter_;
  int kept_ = 0, left_out_ = 0;
  bool contention_known_ = false;
  double seconds_ = 0, waited_seconds_ = 0;  // of the steps that were kept
  int64_t last_step_ns_ = 0;
};

// Records steps of one plan alone. One unrecorded run comes first. Disturbed steps are left out as long as
// the budget lasts.
Result<Profile> profile_plan(runtime::Plan& plan, const Roofs& roofs, const ProfileOptions& options);

}  // namespace hone::lab
