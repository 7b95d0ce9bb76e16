#include "lab/training/setup.h"

#include <fmt/core.h>

#include "core/clock.h"
#include "core/memory_budget.h"
#include "lab/training/trainer.h"

namespace hone::lab {

Result<TrainingSetup> open_training(const model::Recipe& recipe) {
  TrainingSetup setup;
  const std::size_t before = memory_in_use();
  HONE_ASSIGN(setup.data, open_data(recipe.data));
  setup.data_bytes = memory_in_use() - before;
  HONE_ASSIGN(setup.batches, training_batches(setup.data, recipe));
  setup.steps = training_steps(recipe.train, setup.batches->batches_per_epoch());
  // What fits when it trains fits when it is judged, which keeps less.
  const int64_t micro_batch = recipe.train.batch / recipe.train.accumulate;
  setup.evaluated_together = micro_batch;
  if (setup.data.validation) {
    setup.evaluated_together = evaluation_batch(setup.data.validation->size(), micro_batch);
    HONE_ASSIGN(setup.validation, validation_batches(setup.data, recipe, setup.evaluated_together));
  }
  setup.planning_ns = now_ns();
  HONE_ASSIGN(setup.program,
              make_program(recipe, setup.batches->fields(), setup.steps, setup.evaluated_together));
  const int64_t mask = setup.data.mask_token, known = setup.program.classes;
  if (mask >= known && known > 0)
    return invalid(
        fmt::format("[data.masking]: the token {} stands for hidden ones, but the model knows {} tokens, 0 "
                    "to {}; it needs "
                    "[model] sizes.vocabulary = {}",
                    mask, known, known - 1, mask + 1));
  const graph::Objective& objective = setup.program.options.objective;
  if (known > 0 && objective.target == "label")
    HONE_CHECK(check_known_labels(setup.data, known, objective.ignore));
  return setup;
}

}  // namespace hone::lab
