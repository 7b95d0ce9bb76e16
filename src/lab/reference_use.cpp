#include "lab/reference_use.h"

#include <fmt/core.h>

#include "graph/group_kind.h"
#include "graph/op_table.h"

namespace hone::lab {
namespace {

constexpr std::size_t kNamedUses = 5;

ReferenceUse use_of(const graph::Graph& graph, const graph::Node& node) {
  ReferenceUse use{node.name, node.op, {}};
  if (const auto kind = graph::group_kind(node)) {
    std::string held;
    for (const graph::Node& part : node.bodies[0]->nodes()) held += (held.empty() ? "" : ", ") + part.op;
    use.op = fmt::format("{} group ({})", graph::group_kind_name(*kind), held);
  }
  for (const graph::ValueId output : node.outputs) {
    if (!output.valid()) continue;
    use.type = graph.type(output).text();
    break;
  }
  return use;
}

}  // namespace

std::vector<ReferenceUse> reference_use(const runtime::Plan& plan) {
  std::vector<ReferenceUse> uses;
  for (const runtime::PlanStep& step : plan.steps()) {
    if (step.reference) uses.push_back(use_of(plan.graph(), plan.graph().node(step.node)));
  }
  return uses;
}

std::vector<ReferenceUse> reference_use(const graph::Graph& graph, const runtime::Provider& provider) {
  std::vector<ReferenceUse> uses;
  for (const graph::Node& node : graph.nodes()) {
    if (!provider.runs(graph, node)) uses.push_back(use_of(graph, node));
  }
  return uses;
}

std::string reference_text(const std::vector<ReferenceUse>& uses, std::size_t operators) {
  if (uses.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamedUses, uses.size()); ++i)
    names += fmt::format("{}{} '{}' ({})", i > 0 ? ", " : "", uses[i].op, uses[i].node, uses[i].type);
  if (uses.size() > kNamedUses) names += fmt::format(" and {} more", uses.size() - kNamedUses);
  return fmt::format("{} of {} operators run on the reference, correct and slow: {}", uses.size(), operators,
                     names);
}

std::string describe_reference_use(const runtime::Plan& plan) {
  return reference_text(reference_use(plan), plan.steps().size());
}

}  // namespace hone::lab
