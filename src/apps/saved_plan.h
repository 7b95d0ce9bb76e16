// What commands that take a saved plan in place of a model do first.
#pragma once

#include <optional>
#include <string>

#include "apps/command_line.h"
#include "apps/model_options.h"
#include "core/result.h"
#include "lab/saved_plan.h"

namespace hone::apps {

// Whether the command was given a plan: the file says so, not its name.
bool is_given_plan(const ModelOptions& model);

// What only the model's file can be asked for: --bind and --shape, and another device or number of threads than the plan
// is for. `device` null: the command line names none. `threads` 0: the same.
Status check_plan_line(const ModelOptions& model, const model::PlanAbout& about, const std::string* device,
                       int threads);

// Loads it, --memory and the above considered.
Result<lab::SavedPlan> load_given_plan(const ModelOptions& model, const std::string* device, int threads);

}  // namespace hone::apps
