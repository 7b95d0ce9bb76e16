#include "lab/saved_plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "core/version.h"
#include "graph/custom_operator.h"
#include "lab/machine.h"
#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

using runtime::Plan;
using runtime::Provider;
using runtime::Trait;

std::string make_it_anew(const model::PlanAbout& about) {
  return fmt::format("make it anew here: hone optimize {} -o PLAN --device {}", about.model, about.device);
}

// "driver's CUDA 12.4 (here 12.8)" for each part that is another here.
std::vector<std::string> differences(const model::PlanAbout& about, const Provider& provider) {
  std::vector<std::string> texts;
  const std::vector<Trait> here = provider.traits();
  for (const Trait& trait : here) {
    const auto then = std::find_if(about.made_for.begin(), about.made_for.end(),
                                   [&](const auto& part) { return part.first == trait.what; });
    if (then == about.made_for.end())
      texts.push_back(fmt::format("no {} (here {})", trait.what, trait.value));
    else if (then->second != trait.value)
      texts.push_back(fmt::format("{} {} (here {})", trait.what, then->second, trait.value));
  }
  for (const auto& part : about.made_for)
    if (std::none_of(here.begin(), here.end(), [&](const Trait& trait) { return trait.what == part.first; }))
      texts.push_back(fmt::format("{} {} (here none)", part.first, part.second));
  return texts;
}

Status check_made_for(const model::PlanAbout& about, const Provider& provider) {
  if (about.device != provider.name())
    return unsupported(fmt::format("the plan was made for device {}, not for {}; {}", about.device,
                                   provider.name(), make_it_anew(about)));
  const std::vector<std::string> other = differences(about, provider);
  if (other.empty()) return {};
  return unsupported(
      fmt::format("the plan was made for {}; {}", fmt::join(other, ", "), make_it_anew(about)));
}

Result<std::unique_ptr<const Provider>> provider_for(const model::PlanAbout& about) {
  const auto known = runtime::provider_names();
  if (std::find(known.begin(), known.end(), about.device) == known.end())
    return unsupported(fmt::format("the plan was made for device '{}', which this hone does not have ({})",
                                   about.device, fmt::join(known, ", ")));
  if (const int most = describe_machine().hardware_threads; about.threads > most)
    return unsupported(fmt::format("the plan was made for {} threads, and this process may use {}; {}",
                                   about.threads, most, make_it_anew(about)));
  auto provider = runtime::make_provider(about.device, {.threads = about.threads});
  if (!provider.ok())
    return provider.error().within(fmt::format("the plan was made for device {}", about.device));
  HONE_CHECK(check_made_for(about, **provider));
  return provider;
}

// Of a plugin's operator a file could hold the name alone, and its library may be another one by then.
Status check_no_plugins(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.custom)
      return unsupported(
          fmt::format("node '{}' ({}): plan files hold no operators of plugins ({}); use the ONNX file with "
                      "--plugin {}",
                      node.name, node.op, node.custom->plugin, node.custom->file));
    for (const auto& body : node.bodies) HONE_CHECK(check_no_plugins(*body));
  }
  return {};
}

}  // namespace

Status save_plan(const Plan& plan, const Provider& provider, const std::filesystem::path& model,
                 std::vector<std::string> assumed, const std::filesystem::path& path) {
  HONE_CHECK(check_no_plugins(plan.graph()));
  model::PlanFile file;
  file.about.hone = kVersion;
  file.about.model = model.filename().string();
  file.about.device = provider.name();
  file.about.threads = provider.threads();
  for (const Trait& trait : provider.traits()) file.about.made_for.emplace_back(trait.what, trait.value);
  file.about.arena_bytes = plan.memory().arena_bytes;
  file.about.weights_bytes = plan.memory().weights_bytes;
  file.about.assumed = std::move(assumed);
  file.graph = plan.graph();
  file.choices = plan.choices();
  return model::write_plan(file, path);
}

Result<std::unique_ptr<Plan>> make_again(const model::PlanFile& file, const Provider& provider) {
  HONE_CHECK(check_made_for(file.about, provider));
  runtime::PlanOptions options;
  options.choices = &file.choices;
  HONE_ASSIGN(std::unique_ptr<Plan> plan, Plan::compile(file.graph, provider, options));
  if (plan->memory().arena_bytes != file.about.arena_bytes)
    return corrupt(fmt::format("the plan's memory comes out as {} bytes, which were {} when it was made; {}",
                               plan->memory().arena_bytes, file.about.arena_bytes, make_it_anew(file.about)));
  return plan;
}

Result<SavedPlan> load_plan(const std::filesystem::path& path) {
  HONE_ASSIGN(model::PlanFile file, model::read_plan(path));
  SavedPlan saved;
  auto provider = provider_for(file.about);
  if (!provider.ok()) return provider.error().within(path.string());
  saved.provider = *std::move(provider);
  auto plan = make_again(file, *saved.provider);
  if (!plan.ok()) return plan.error().within(path.string());
  saved.plan = *std::move(plan);
  saved.about = std::move(file.about);
  return saved;
}

Status may_load(const model::PlanAbout& about) {
  const auto provider = provider_for(about);
  return provider.ok() ? Status() : provider.error();
}

}  // namespace hone::lab
