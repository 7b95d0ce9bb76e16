#include "apps/saved_plan.h"

#include <fmt/format.h>

namespace hone::apps {

bool is_given_plan(const ModelOptions& model) { return model.path != "-" && model::is_plan_file(model.path); }

Status check_plan_line(const ModelOptions& model, const model::PlanAbout& about, const std::string* device,
                       int threads) {
  if (!model.bindings.empty() || !model.shapes.empty())
    return usage_error(
        fmt::format("--{}: {} is a plan, whose shapes are fixed; make one of others from the model: "
                    "hone optimize {} -o PLAN",
                    model.bindings.empty() ? "shape" : "bind", model.path, about.model));
  if (device != nullptr && *device != about.device)
    return usage_error(
        fmt::format("--device {}: {} is a plan for device {}; make one for {} from the model: hone "
                    "optimize {} -o PLAN --device {}",
                    *device, model.path, about.device, *device, about.model, *device));
  if (threads > 0 && threads != about.threads)
    return usage_error(
        fmt::format("--threads {}: {} is a plan for {}; make one for others from the model: hone "
                    "optimize {} -o PLAN --threads {}",
                    threads, model.path, about.threads, about.model, threads));
  return {};
}

Result<lab::SavedPlan> load_given_plan(const ModelOptions& model, const std::string* device, int threads) {
  HONE_CHECK(apply_memory(model));
  HONE_ASSIGN(lab::SavedPlan saved, lab::load_plan(model.path));
  HONE_CHECK(check_plan_line(model, saved.about, device, threads));
  return saved;
}

}  // namespace hone::apps
