// Whether training steps wait for their data, and what reading them differently would gain: the same batches, read ahead by
// other workers, or from a cache that keeps all decoded samples.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"
#include "core/statistics.h"
#include "lab/training/setup.h"
#include "model/recipe/recipe.h"
#include "runtime/plan.h"

namespace hone::lab {

struct InputTrialOptions {
  runtime::Plan* first = nullptr;  // of the recipe as it was; null: `plan`
  std::size_t cache_bytes = 0;     // that decoded samples may take, those that the recipe keeps included
  double seconds = 6;              // for all of it, roughly
  std::function<bool()> keep_going = {};  // false cancels
};

struct InputTrials {
  std::vector<analyze::PassRow> rows;  // one a setting that was tried; one that says so where nothing waits
  int64_t workers = 0;                 // that is best
  int64_t cache_mb = 0;                // the same
  double wait_ms = 0, step_ms = 0;     // a step with the recipe's own setting
  // Of steps that read their data, with other workers, against the recipe as it was; none: its workers stay.
  std::optional<Interval> speedup;
};

// `plan` runs the recipe's step.
Result<InputTrials> try_input_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                       runtime::Plan& plan, const InputTrialOptions& options);

}  // namespace hone::lab
