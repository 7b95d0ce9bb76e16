// Changes of a recipe's [train] that are worth a trial, before any is made (lab/training/setting_trials.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "lab/training/program.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

// One change, and what is expected of it.
struct SettingCandidate {
  std::string name;  // of its row
  std::string what;
  std::function<void(model::RecipeTrain&)> change;
  std::optional<double> predicted_ms = {};
  bool is_asked_for = false;  // by the user: measured, whatever that takes
  bool is_cure = false;       // of a step that learns otherwise, whatever it costs
  bool is_another_program =
      false;  // predicted by the floors of both, and kept for less memory where that is bounded
  bool is_told_only = false;  // what it would gain is of interest, and the recipe stays as it is
};

// What the experiment found slower, or what learned otherwise; what it kept although the recipe leaves it out; and kernels.
// `learns_the_same`: the step as hone train runs it.
std::vector<SettingCandidate> pass_and_kernel_candidates(const model::RecipeTrain& train,
                                                         const std::vector<analyze::PassRow>& experiment,
                                                         bool learns_the_same);

// The same batch in other micro-batches: half and twice as many, one, four times as many.
std::vector<SettingCandidate> accumulation_candidates(const model::RecipeTrain& train);
// Why none of them means the same step; empty: they do.
std::string why_not_accumulated(const model::RecipeTrain& train, const TrainingProgram& program);

}  // namespace hone::lab
