// What changed between two trainings, in time and in learning: of one run each, or of several that differ in their seeds
// alone. Two runs at different times share neither temperature nor neighbours, and two seeds never learn the same: what is
// said of learning beyond what was seen rests on a test over seeds, or is not said.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/compare.h"
#include "analyze/difference.h"
#include "analyze/training/training_run.h"
#include "core/student_t.h"

namespace hone::analyze {

enum class LearningChange : uint8_t {
  kSame,          // every number is equal
  kNoDifference,  // none can be told
  kBetter,        // the second
  kWorse,
  kUnknown,  // they differ, and nothing says how much seeds alone make runs differ
};
std::string_view learning_change_name(LearningChange change);  // JSON: "same", "no difference", …

// One number of each run.
struct LearningNumber {
  std::string id;    // "loss_at_step": JSON
  std::string name;  // "loss at step 500, smoothed"
  bool larger_is_better = false;
  std::vector<double> a, b;  // by run; runs that have no such number are left out
  std::size_t a_runs = 0, b_runs = 0;
  std::optional<MeansTest>
      test;  // of two runs and more on each side; paired where both sides have the same seeds
  LearningChange change = LearningChange::kUnknown;

  double a_mean() const;
  double b_mean() const;
};

struct RecipeChange {
  std::string key;
  std::string a, b;  // as TOML; empty: the recipe does not say it
};

struct TimeChange {
  double a_ms = 0, b_ms = 0;           // medians over steps; of several runs the mean of these
  Difference difference;               // of one run each: of their steps
  std::optional<MeansTest> test = {};  // of several: of their medians
  Certainty certainty = Certainty::kNone;
};

struct TrainingComparison {
  // Both sides ran the same seeds, each once: run i of the one is compared with run i of the other, whose seeds are the
  // same.
  bool paired = false;
  std::vector<std::string> a, b;  // folders
  std::string a_name, b_name;     // recipes
  TimeChange step;
  TimeChange wait;  // for data
  std::vector<CauseChange>
      ledger;  // of the steps that the first run of each recorded; empty: one recorded none
  // Of the same steps, what changed for sure or likely, largest change first: by the part of the model, so that what was
  // fused is compared with what it replaced, forward and backward together.
  std::vector<OperatorChange> operators;
  bool same_losses = false;                            // at every step that both have, bit by bit
  int64_t compared_steps = 0;                          // that all runs have
  LearningChange learning = LearningChange::kUnknown;  // by the first of `numbers`
  std::vector<LearningNumber> numbers;                 // the one that the verdict goes by first
  std::vector<RecipeChange> recipe;                    // seeds of several runs left out
  std::string time_sentence, learning_sentence;
  std::vector<std::string> caveats;
};

// One run or more on each side; those of the second are put into the order in which the first has their seeds. An error where a side's run has no steps.
Result<TrainingComparison> compare_training(std::span<const TrainingRun> a, std::span<const TrainingRun> b);

}  // namespace hone::analyze
