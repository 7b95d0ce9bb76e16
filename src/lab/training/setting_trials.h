// Changes of a recipe's [train] that do not change what is trained: passes left out or taken up again, kernels chosen by
// measuring, the batch in other micro-batches; and what its bound on memory costs. Each is tried on the step as hone train runs it, with every pass that the recipe does not leave out and within
// its memory: a group of passes that was slower in the experiment, among other kernels, may gain there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"
#include "core/roofs.h"
#include "core/statistics.h"
#include "lab/training/curve_judge.h"
#include "lab/training/fit_memory.h"
#include "lab/training/setup.h"
#include "model/recipe/recipe.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

struct SettingTrialOptions {
  const Roofs* roofs = nullptr;           // by which other programs are predicted; null: they are not
  const MemoryFit* fit = nullptr;         // of the recipe's run; null: nothing is said of its memory
  MemoryLimit limit = {};                 // that `fit` kept to
  double seconds = 5;                     // for all of them, roughly; curves come on top
  std::function<bool()> keep_going = {};  // false cancels
};

struct SettingTrials {
  std::vector<analyze::PassRow>
      rows;  // one a change that was tried, and what they win together where several were kept
  model::RecipeTrain train;             // with what was kept
  std::unique_ptr<runtime::Plan> plan;  // of that step, which holds the first weights and batch
  std::vector<std::string> warnings;
  std::unique_ptr<runtime::Plan> first;  // of the recipe as it was; null: nothing was kept
  analyze::Estimate step_ms;             // of the recipe as it was
  std::optional<Interval> speedup;  // of that step against the recipe's as it was; none: nothing was kept
};

// `experiment`: rows of the groups of passes, whose verdicts say what is worth trying. An error where the step does not fit into the recipe's memory.
Result<SettingTrials> try_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                   const runtime::Provider& provider, runtime::TimingCache& cache,
                                   const std::vector<analyze::PassRow>& experiment, CurveJudge& judge,
                                   const SettingTrialOptions& options);

}  // namespace hone::lab
