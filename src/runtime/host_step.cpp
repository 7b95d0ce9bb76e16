#include "runtime/host_step.h"

#include <fmt/format.h>

#include "runtime/body_types.h"
#include "runtime/interpret_control.h"
#include "runtime/interpreter.h"

namespace hone::runtime {

Result<std::unique_ptr<HostStep>> HostStep::make(const graph::Graph& graph, const graph::Node& node,
                                                 const Provider& provider, const PlanOptions& options,
                                                 std::span<const graph::PlanChoices> told) {
  std::unique_ptr<HostStep> step(new HostStep(node));
  if (!is_control(node)) {
    HONE_ASSIGN(step->shaped_, ShapedPlans::make(graph, node, provider));
    return step;
  }
  PlanOptions of_bodies = options;
  of_bodies.progress = nullptr;
  of_bodies.marks = false;
  for (std::size_t i = 0; i < node.bodies.size(); ++i) {
    Body& body = step->bodies_.emplace_back();
    HONE_ASSIGN(SpecialisedBody special, specialise_body(graph, node, i));
    body.given = std::move(special.given);
    of_bodies.choices = options.choices != nullptr ? &told[i] : nullptr;
    HONE_ASSIGN(body.plan, Plan::compile(std::move(special.graph), provider, of_bodies));
  }
  return step;
}

Result<std::vector<Tensor>> HostStep::run_body(const Body& body, std::span<const Tensor> inputs) const {
  std::vector<Tensor> taken;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (body.given[i]) taken.push_back(inputs[i]);
  }
  return body.plan->run(taken);
}

Result<std::vector<Tensor>> HostStep::run(std::span<const Tensor> inputs) {
  if (shaped_ != nullptr) return shaped_->run(inputs);
  return run_control(node_, inputs, [this](std::size_t body, std::span<const Tensor> given) {
    return run_body(bodies_[body], given);
  });
}

std::vector<graph::PlanChoices> HostStep::choices() const {
  std::vector<graph::PlanChoices> all;
  for (const Body& body : bodies_) all.push_back(body.plan->choices());
  return all;
}

std::string HostStep::implementation() const {
  if (bodies_.empty()) return "interpreted on the host";
  std::string text = "interpreted; its";
  for (std::size_t i = 0; i < bodies_.size(); ++i)
    text += fmt::format("{} body is a plan of {} steps", i > 0 ? ", its other" : "",
                        bodies_[i].plan->steps().size());
  return text;
}

}  // namespace hone::runtime
