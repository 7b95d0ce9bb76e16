// The experiment of `hone lab`: baseline, profile, predicted gains, passes applied a group at a time, each
// measured against what was kept before it in paired interleaved runs and checked against the reference, then
// a second profile and the report's data.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "analyze/findings.h"
#include "core/result.h"
#include "lab/ceilings/ceilings.h"
#include "lab/counters/count_plan.h"
#include "lab/experiment/judge.h"
#include "lab/gate/lossy.h"
#include "lab/gate/paired.h"
#include "lab/machine.h"
#include "lab/precision/batch_sample.h"
#include "runtime/provider.h"
#include "trace/trace.h"

namespace hone::lab {

// The progress from which on an experiment that is ended has something to report: its baseline.
inline constexpr double kBaselineIsMeasured = 0.30;

struct ExperimentOptions {
  double budget_s = 40;  // for the whole experiment, roughly; the least that is sound may take longer
  std::set<std::string> disabled_passes;  // names of passes or groups
  std::set<std::string> lossy;            // names of lossy passes or groups to try; no other lossy one is
  bool narrow_residual = false;           // of a training step that they narrow (passes/pass.h)
  std::optional<TaskMetric> metric;  // of the task: judges results of lossy passes beside their own limits
  std::map<std::string, Tensor> inputs;  // by name; others are made up
  bool overlap = true;                   // operators side by side where that is measured to be faster
  uint64_t seed = 1;                     // of those
  int top = 5;
  double most_reference_flops = kMostReferenceFlops;  // that the reference computes without leaving rows out
  std::string model_path;
  std::string command;                 // as typed, for the report
  std::filesystem::path timing_cache;  // where kernel timings are kept; empty: nowhere
  std::filesystem::path roofs_cache;   // the folder of measured roofs, as in CeilingsOptions
  std::optional<CountPlanOptions>
      counters;  // of the plans' kernels, on a device that has some; none: not counted
  // Told what is being done and how far it is; false cancels.
  std::function<bool(double fraction, const std::string& what)> progress;
};

struct Experiment {
  analyze::LabReport report;
  graph::Graph optimised;
  trace::Trace baseline_trace;
  trace::Trace optimised_trace;
};

// `graph`'s inputs must be static. Errors: the model cannot be planned, a run fails, the user interrupts. Judged by a
// reference in double precision, or by `judge`.
Result<Experiment> run_experiment(const graph::Graph& graph, const runtime::Provider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options);
Result<Experiment> run_experiment(const graph::Graph& graph, const runtime::Provider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options, Judge& judge);

}  // namespace hone::lab
