// What a training run says of itself, as its page and comparisons show it: sizes, memory, environment.
#pragma once

#include <string>
#include <vector>

#include "analyze/training/training_run.h"
#include "data/loader.h"
#include "lab/training/program.h"
#include "lab/training/trainer.h"
#include "model/recipe/recipe.h"
#include "runtime/provider.h"

namespace hone::lab {

// The parts that a run is made of.
struct RunParts {
  const model::Recipe& recipe;
  const TrainingProgram& program;
  const data::Loader& batches;
  const TrainingMemoryReport& memory;
  const runtime::Provider& provider;
  int64_t steps = 0;
  int64_t tokens_per_sample = 0;
  double seconds = 0;
  std::string command;
};

// All but what the folder says itself: metrics, recipe, recorded steps.
analyze::TrainingRun describe_run(const RunParts& parts, analyze::RunEnd end);

// What the run was foretold to take, largest first, and what it took.
std::vector<analyze::NamedBytes> list_memory(const TrainingMemoryReport& memory);

}  // namespace hone::lab
