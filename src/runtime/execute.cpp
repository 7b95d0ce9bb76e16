#include "runtime/execute.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/buffer_assignment.h"
#include "graph/specialise.h"
#include "runtime/interpreter.h"

namespace hone::runtime {
namespace {

constexpr std::size_t kNamedSteps = 2;  // of those on the host; the rest are counted

Result<graph::Graph> for_inputs(const graph::Graph& graph, std::span<const Tensor> inputs) {
  const bool known = std::all_of(graph.inputs().begin(), graph.inputs().end(),
                                 [&](graph::ValueId input) { return graph::has_place(graph.type(input)); });
  if (known) return graph;
  std::vector<graph::InputFact> facts;
  for (const Tensor& tensor : inputs)
    facts.push_back({graph::tensor_type(tensor.dtype(), tensor.shape()), std::nullopt});
  return graph::specialise(graph, facts);
}

}  // namespace

Result<Execution> execute(const graph::Graph& graph, const Provider& provider, std::span<const Tensor> inputs,
                          const PlanOptions& options) {
  HONE_CHECK(check_inputs(graph, inputs));
  HONE_ASSIGN(graph::Graph known, for_inputs(graph, inputs));
  HONE_ASSIGN(const auto plan, Plan::compile(std::move(known), provider, options));
  Execution execution;
  HONE_ASSIGN(execution.outputs, plan->run(inputs));
  execution.planned = std::none_of(plan->steps().begin(), plan->steps().end(),
                                   [](const PlanStep& step) { return step.on_host; });
  execution.how = describe(*plan, provider);
  execution.memory = plan->memory();
  return execution;
}

std::string describe(const Plan& plan, const Provider& provider) {
  std::string text = fmt::format("plan of {} steps on {}", plan.steps().size(), provider.name());
  std::vector<const PlanStep*> on_host;
  for (const PlanStep& step : plan.steps())
    if (step.on_host) on_host.push_back(&step);
  if (on_host.empty()) return text;
  text += fmt::format(", {} of them on the host:", on_host.size());
  for (std::size_t i = 0; i < std::min(on_host.size(), kNamedSteps); ++i)
    text += fmt::format("{} '{}' ({}): {}", i > 0 ? ";" : "", on_host[i]->name, on_host[i]->op,
                        on_host[i]->choice);
  if (on_host.size() > kNamedSteps) text += fmt::format("; and {} more", on_host.size() - kNamedSteps);
  return text;
}

}  // namespace hone::runtime
