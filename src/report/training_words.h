// Sentences about training runs that every form shares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/training/compare_training.h"
#include "analyze/training/training_run.h"
#include "report/words.h"

namespace hone::report {

// How it went, in one line, and what is to be known beside it.
LabHeadline training_headline(const analyze::TrainingRun& run);

// "dice 0.9512", of the evaluations' last or best; empty where there are none.
std::string metric_text(const analyze::TrainingRun& run, const analyze::TrainingEvaluation& evaluation);
const analyze::TrainingEvaluation* best_evaluation(const analyze::TrainingRun& run);

double median_step_ms(const analyze::TrainingRun& run);
double median_wait_ms(const analyze::TrainingRun& run);
double wait_share(const analyze::TrainingRun& run);  // of all steps' time

// --- of comparisons ---
// "0.9512", "0.9512 ± 0.0031" of several runs (standard deviation), "2 of 3" that came there.
std::string learning_value(const std::vector<double>& values, std::size_t runs);
std::string learning_difference(const analyze::LearningNumber& row);
// "worse, p = 0.003"; empty where nothing is to be said.
std::string learning_mark(const analyze::LearningNumber& row);
std::string recipe_change_text(const analyze::RecipeChange& row);  // "train.batch: 32 → 64"
std::string folders_text(const std::vector<std::string>& folders);

// "12.3 s", "3:05", "1:02:03".
std::string training_time_text(double seconds);

}  // namespace hone::report
