// The groups of passes, one after another: each is applied to what was kept so far, measured against it and
// kept or dropped. A group that makes no difference alone is carried: what follows builds on it, and is
// measured together with it. What is still carried at the end is measured once more, together, for as long as
// the budget lasts. What was slower alone gets a second trial in its place before all others, where they find
// more to do behind it: batch normalisation as plain arithmetic is slower until that is fused. How plans are
// made, run and checked is the experiment's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "graph/graph.h"
#include "lab/gate/numeric.h"
#include "lab/gate/paired.h"
#include "passes/pipeline.h"
#include "runtime/plan.h"

namespace hone::lab {

// A comparison that the trials ask for.
struct TrialComparison {
  double seconds = 0;  // to aim for
  double level = 0.95;
  int min_blocks = 6;       // fewer can claim nothing at that level
  double from = 0, to = 1;  // of all trials' progress
  std::string what;         // for people: "measuring fold"
};

// What the trials ask of the experiment.
struct TrialSteps {
  std::function<Result<passes::PipelineResult>(const graph::Graph&, const std::string& group)> apply;
  // `done`: how far the trials are, 0 to 1.
  std::function<Result<std::unique_ptr<runtime::Plan>>(const graph::Graph&, const std::string& group,
                                                       double done)>
      compile;
  std::function<Result<PairedResult>(runtime::Plan& before, runtime::Plan& after, const TrialComparison&)>
      compare;
  // The outputs of its last run; `groups`: whose passes are in it.
  std::function<Result<NumericReport>(runtime::Plan&, const std::vector<std::string>& groups)> check;
  std::function<double()> seconds_left;  // of the budget of all trials; may be below 0
  double least_seconds = 0;              // of a comparison, whatever is left
  double step_ms = 0;                    // of the baseline
};

struct TrialResults {
  graph::Graph graph;                   // what was kept
  std::unique_ptr<runtime::Plan> plan;  // of it; null: the baseline's
  std::vector<std::string> groups;      // whose passes are in it
  std::vector<analyze::PassRow> rows;   // one a group
  std::vector<analyze::PassCombination> combinations;
};

// `baseline_plan` is of `baseline`. After an error, `results` holds what was decided before it: rows of what
// was not are marked as undecided.
Status run_trials(const graph::Graph& baseline, runtime::Plan& baseline_plan,
                  const std::vector<std::string>& groups, const TrialSteps& steps, TrialResults& results);

}  // namespace hone::lab
