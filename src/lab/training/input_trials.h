// Whether training steps wait for their data, and what reading ahead differently would gain: the same batches, other
// workers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"
#include "lab/training/setup.h"
#include "model/recipe/recipe.h"
#include "runtime/plan.h"

namespace hone::lab {

struct InputTrialOptions {
  double seconds = 6;                     // for all of it, roughly
  std::function<bool()> keep_going = {};  // false cancels
};

struct InputTrials {
  std::vector<analyze::PassRow> rows;  // one a setting that was tried; one that says so where nothing waits
  int64_t workers = 0;                 // that is best
  double wait_ms = 0, step_ms = 0;     // a step with the recipe's own setting
};

// `plan` runs the recipe's step.
Result<InputTrials> try_input_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                       runtime::Plan& plan, const InputTrialOptions& options);

}  // namespace hone::lab
