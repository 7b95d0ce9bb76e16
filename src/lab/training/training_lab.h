// The experiment of `hone lab` on a recipe: its step as one graph, measured, explained and changed a group of passes at a
// time, as a model's is (lab/experiment), each change judged by the loss step by step; then settings of the recipe, on the
// step as hone train runs it: passes left out, kernels chosen by measuring, how data are read ahead. What was kept becomes a
// recipe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "lab/experiment/experiment.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

struct TrainingLab {
  Experiment experiment;
  model::Recipe recipe;                // with what was kept
  std::vector<std::string> overrides;  // what was changed in it, as for --set
  // Of a step of `recipe` against one of the recipe as it was, both as hone train runs them; none: it is the same step.
  std::optional<Interval> speedup;
  bool interrupted = false;  // while settings were tried: the experiment is whole, the recipe is not
};

// `options.inputs` is not read: the recipe says what goes in. Errors as of open_training() and run_experiment(), and where
// the loss is not finite in the first steps. Nothing is written but the cache of kernel timings.
Result<TrainingLab> run_training_lab(const model::Recipe& recipe, const runtime::Provider& provider,
                                     const Machine& machine, const Roofs& roofs,
                                     const ExperimentOptions& options);

}  // namespace hone::lab
