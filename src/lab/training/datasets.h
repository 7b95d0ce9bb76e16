// The data that a recipe names: what is trained on, and what is judged by.
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

struct TrainingData {
  std::shared_ptr<const data::Dataset> training;
  std::shared_ptr<const data::Dataset> validation;  // null: the recipe keeps nothing back
  int64_t tokens_per_sample = 0;                    // of text: what speed is counted in; 0: samples
};

Result<TrainingData> open_data(const model::RecipeData& recipe);

// Samples [first, first + count) of `whole`.
std::shared_ptr<const data::Dataset> part_of(std::shared_ptr<const data::Dataset> whole, int64_t first,
                                             int64_t count);

}  // namespace hone::lab
