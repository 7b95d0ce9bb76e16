#include "lab/training/setup.h"

#include "lab/training/trainer.h"

namespace hone::lab {

Result<TrainingSetup> open_training(const model::Recipe& recipe) {
  TrainingSetup setup;
  HONE_ASSIGN(setup.data, open_data(recipe.data));
  HONE_ASSIGN(setup.batches, training_batches(setup.data, recipe));
  setup.steps = training_steps(recipe.train, setup.batches->batches_per_epoch());
  int64_t together = recipe.train.batch;
  if (setup.data.validation) {
    together = evaluation_batch(setup.data.validation->size(), recipe.train.batch);
    HONE_ASSIGN(setup.validation, validation_batches(setup.data, recipe, together));
  }
  HONE_ASSIGN(setup.program, make_program(recipe, setup.batches->fields(), setup.steps, together));
  return setup;
}

}  // namespace hone::lab
