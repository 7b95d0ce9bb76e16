// A training run as data: what training.json says of it, with its metrics, its recipe and the steps that were recorded,
// read back from its folder. What the page of the run and comparisons are made of.
#pragma once

#include <filesystem>

#include "analyze/training/training_run.h"
#include "core/result.h"

namespace hone::lab {

inline constexpr const char* kTrainingFile = "training.json";

// Everything of `run` that no other file of the folder says.
Status write_training_summary(const std::filesystem::path& folder, const analyze::TrainingRun& run);

bool is_training_run(const std::filesystem::path& folder);
// `top`: how many of the recorded steps' operators are to be named. A folder whose run was killed has what was written
// until then; its end is kUnfinished.
Result<analyze::TrainingRun> read_training_run(const std::filesystem::path& folder, int top = 5);

}  // namespace hone::lab
