// Where a loss became NaN or infinite: the steps since the last checkpoint again, the last of them with every operator
// watched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/batches.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "runtime/provider.h"

namespace hone::lab {

// "the loss is NaN", "the gradient's norm is infinite".
std::string describe_non_finite(double loss, double gradient_norm);

struct NonFinite {
  std::string where;
  bool in_data = false;  // they had it: nothing of the recipe's helps
};

// What is known of step `step` (from 1) of the run in `run`: the sample that had such a number, or the first operator that
// made one of finite ones, and the largest weights before it. Training's own steps are repeated from the newest checkpoint,
// or from the beginning. `graphs` are the program's, as the run's plans had them. Moves `batches`.
NonFinite find_non_finite(const TrainingProgram& program, const SessionGraphs& graphs,
                          const runtime::Provider& provider, bool autotune, data::Batches& batches,
                          const data::Dataset& data, const std::filesystem::path& run, int64_t step);

}  // namespace hone::lab
