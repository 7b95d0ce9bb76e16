#include "runtime/execute.h"

#include <fmt/core.h>

#include "runtime/interpret_control.h"
#include "runtime/interpreter.h"

namespace hone::runtime {
namespace {

// Why `graph` cannot be a plan; empty if it can.
std::string why_not_planned(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes()) {
    if (is_control(node)) {
      return fmt::format("node '{}' ({}) decides at run time what runs", node.name, node.op);
    }
  }
  for (const graph::Value& value : graph.values()) {
    if (value.type.dtype == DType::kString) return fmt::format("'{}' holds strings", value.name);
    if (!value.type.is_static())
      return fmt::format("'{}' has type {}, known only when it runs", value.name, value.type.text());
  }
  return {};
}

}  // namespace

Result<Execution> execute(const graph::Graph& graph, const Provider& provider, std::span<const Tensor> inputs,
                          const PlanOptions& options) {
  HONE_CHECK(check_inputs(graph, inputs));
  Execution execution;
  const std::string obstacle = why_not_planned(graph);
  if (obstacle.empty()) {
    HONE_ASSIGN(auto plan, Plan::compile(graph, provider, options));
    HONE_ASSIGN(execution.outputs, plan->run(inputs));
    execution.planned = true;
    execution.how = fmt::format("plan of {} steps on {}", plan->steps().size(), provider.name());
    return execution;
  }
  HONE_ASSIGN(execution.outputs, interpret(graph, inputs));
  execution.how = "interpreted: " + obstacle;
  return execution;
}

}  // namespace hone::runtime
