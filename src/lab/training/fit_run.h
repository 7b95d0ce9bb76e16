// The run that a recipe means, made to fit into the memory that it may take (lab/training/fit_memory.h), and the graph of its
// step as hone train runs it.
#pragma once

#include "core/result.h"
#include "lab/training/fit_memory.h"
#include "lab/training/session.h"
#include "lab/training/setup.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

// Kernels and passes as the recipe has them.
SessionOptions session_options_of(const model::RecipeTrain& train, runtime::TimingCache* cache);

// `setup` is the recipe's. An error where nothing fits: it says what would.
Result<MemoryFit> fit_run(const model::Recipe& recipe, const TrainingSetup& setup,
                          const runtime::Provider& provider, const SessionOptions& options,
                          const MemoryLimit& limit);

// Through all passes that the recipe does not leave out; where it bounds its memory, with what is computed again for that.
// `program` is the recipe's: that of `setup`, or of the same data in other micro-batches.
Result<graph::Graph> step_that_trains(const model::Recipe& recipe, const TrainingSetup& setup,
                                      const TrainingProgram& program, const runtime::Provider& provider,
                                      const SessionOptions& options);

}  // namespace hone::lab
