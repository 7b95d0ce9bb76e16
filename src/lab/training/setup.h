// What a recipe names, opened and made: its data, batches of them, and the program that trains on those.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "data/loader.h"
#include "lab/training/datasets.h"
#include "lab/training/program.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

struct TrainingSetup {
  TrainingData data;
  std::unique_ptr<data::Loader> batches;
  std::unique_ptr<data::Loader> validation;  // null: the recipe keeps nothing back
  int64_t steps = 0;                         // of the whole run
  int64_t evaluated_together = 0;            // samples
  std::size_t data_bytes = 0;                // of tensors, that the opened data take
  int64_t planning_ns = 0;                   // when the program's making began (core/clock.h)
  TrainingProgram program;
};

// Nothing is written. An error names what of recipe, model and data does not fit.
Result<TrainingSetup> open_training(const model::Recipe& recipe);

}  // namespace hone::lab
