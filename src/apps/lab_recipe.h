// hone lab RECIPE.toml: the loop on a training step.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/command.h"
#include "core/result.h"
#include "lab/experiment/experiment.h"

namespace hone::apps {

struct LabRecipeOptions {
  std::filesystem::path recipe;
  std::vector<std::string> set;
  std::filesystem::path out;
  std::string json;
  std::string device = "cpu";
  int threads = 0;
  lab::ExperimentOptions experiment;
};

Status run_lab_recipe(const LabRecipeOptions& options, Program& program);

}  // namespace hone::apps
