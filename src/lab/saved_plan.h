// Plans that outlive the process: written to a file when they have been made, and made again from it without passes and
// without measuring, on a machine like the one that they were made on and no other.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/plan/plan_file.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::lab {

// `model`: the file that the plan's graph was read from; `assumed`: symbols of it that nothing bound.
Status save_plan(const runtime::Plan& plan, const runtime::Provider& provider,
                 const std::filesystem::path& model, std::vector<std::string> assumed,
                 const std::filesystem::path& path);

struct SavedPlan {
  model::PlanAbout about;
  std::unique_ptr<const runtime::Provider> provider;
  std::unique_ptr<runtime::Plan> plan;
};

// An error, of one line that says what differs and what to do, where the plan was made by another version of hone, for
// another device, driver or library, or for more threads than this process may use; and where the file is damaged.
Result<SavedPlan> load_plan(const std::filesystem::path& path);

// The same of a file that was read (and named) before, for a provider of a test.
Result<std::unique_ptr<runtime::Plan>> make_again(const model::PlanFile& file,
                                                  const runtime::Provider& provider);

// Why this machine would not take the plan, as load_plan() says it; nothing is made.
Status may_load(const model::PlanAbout& about);

}  // namespace hone::lab
