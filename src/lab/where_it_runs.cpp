#include "lab/where_it_runs.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

#include "graph/custom_operator.h"
#include "graph/group_kind.h"
#include "graph/op_table.h"
#include "runtime/host_border.h"

namespace hone::lab {
namespace {

constexpr std::size_t kNamedUses = 5;

OtherwiseRun describe_use(const graph::Graph& graph, const graph::Node& node, std::string why) {
  OtherwiseRun use{node.name, operator_text(node), {}, std::move(why)};
  for (const graph::ValueId output : node.outputs) {
    if (!output.valid()) continue;
    use.type = graph.type(output).text();
    break;
  }
  return use;
}

// `verb`: what the operators do.
std::string text_of(const std::vector<OtherwiseRun>& uses, std::size_t operators, const char* verb) {
  if (uses.empty()) return {};
  std::string names;
  for (const OtherwiseRun& use : std::span(uses).first(std::min(kNamedUses, uses.size())))
    names += fmt::format("{}{} '{}' ({})", names.empty() ? "" : ", ", use.op, use.node,
                         use.why.empty() ? use.type : use.why);
  if (uses.size() > kNamedUses) names += fmt::format(" and {} more", uses.size() - kNamedUses);
  return fmt::format("{} of {} operators {}: {}", uses.size(), operators, verb, names);
}

}  // namespace

std::string operator_text(const graph::Node& node) {
  const auto kind = graph::group_kind(node);
  if (!kind) return node.op;
  std::string held;
  for (const graph::Node& part : node.bodies[0]->nodes()) held += (held.empty() ? "" : ", ") + part.op;
  return fmt::format("{} group ({})", graph::group_kind_name(*kind), held);
}

WhereItRuns where_it_runs(const runtime::Plan& plan) {
  WhereItRuns where;
  where.operators = plan.steps().size();
  for (const runtime::PlanStep& step : plan.steps()) {
    if (!step.reference && !step.on_host) continue;
    const graph::Node& node = plan.graph().node(step.node);
    (step.on_host ? where.host : where.reference)
        .push_back(describe_use(plan.graph(), node, step.on_host ? step.choice : ""));
  }
  return where;
}

WhereItRuns where_it_runs(const graph::Graph& graph, const runtime::Provider& provider) {
  WhereItRuns where;
  where.operators = graph.nodes().size();
  for (const graph::Node& node : graph.nodes()) {
    if (std::string why = runtime::why_on_host(graph, node); !why.empty())
      where.host.push_back(describe_use(graph, node, std::move(why)));
    else if (!provider.runs(graph, node) && node.custom != nullptr)
      where.nowhere.push_back(
          describe_use(graph, node, fmt::format("plugin {} has no kernel for it", node.custom->plugin)));
    else if (!provider.runs(graph, node))
      where.reference.push_back(describe_use(graph, node, {}));
  }
  return where;
}

std::string reference_text(const WhereItRuns& where) {
  return text_of(where.reference, where.operators, "run on the reference, correct and slow");
}

std::string host_text(const WhereItRuns& where) {
  return text_of(where.host, where.operators, "run on the host between the kernels");
}

std::string nowhere_text(const WhereItRuns& where) {
  return text_of(where.nowhere, where.operators, "cannot run on this device");
}

std::vector<std::string> where_texts(const WhereItRuns& where) {
  std::vector<std::string> texts;
  for (std::string text : {reference_text(where), host_text(where), nowhere_text(where)})
    if (!text.empty()) texts.push_back(std::move(text));
  return texts;
}

}  // namespace hone::lab
