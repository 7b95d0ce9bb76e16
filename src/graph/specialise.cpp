#include "graph/specialise.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/builder.h"

namespace hone::graph {
namespace {

Result<ValueId> specialised_input(GraphBuilder& builder, const Value& input, const InputFact& fact) {
  if (fact.constant) {
    const TensorType given = tensor_type(fact.constant->dtype(), fact.constant->shape());
    const auto type = merge_types(input.type, given);
    if (!type.ok()) return type.error().within("input '" + input.name + "'");
    return builder.constant(input.name, *fact.constant);
  }
  if (!fact.type) return builder.input(input.name, input.type);
  auto type = merge_types(input.type, *fact.type);
  if (!type.ok()) return type.error().within("input '" + input.name + "'");
  return builder.input(input.name, std::move(*type));
}

// The pairs, with the positions that are left when inputs become constants.
Result<std::vector<StatePair>> specialised_states(const Graph& graph, std::span<const InputFact> facts) {
  std::vector<StatePair> states;
  for (StatePair pair : graph.states()) {
    if (facts[pair.input].constant)
      return invalid("input '" + graph.value(graph.state_input(pair)).name +
                     "' has a next value: it cannot be a constant");
    const auto before = facts.first(pair.input);
    pair.input -= static_cast<uint32_t>(std::count_if(
        before.begin(), before.end(), [](const InputFact& fact) { return fact.constant.has_value(); }));
    states.push_back(pair);
  }
  return states;
}

// Constants, nodes, outputs and states of `graph` behind the inputs that stand in `now` already. `keep_types`: what was
// known of results still holds.
Result<Graph> rebuilt(const Graph& graph, GraphBuilder builder, std::vector<ValueId> now,
                      std::vector<StatePair> states, bool keep_types) {
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.is_constant()) now[i] = builder.constant(value.name, *value.constant);
  }
  for (const Node& node : graph.nodes()) {
    Node copy = node;
    for (ValueId& input : copy.inputs) {
      if (input.valid()) input = now[input.index];
    }
    std::vector<std::string> names;
    std::vector<TensorType> declared;
    for (ValueId output : node.outputs) {
      names.push_back(output.valid() ? graph.value(output).name : "");
      if (keep_types) declared.push_back(output.valid() ? graph.type(output) : TensorType{});
    }
    auto outputs = builder.try_add(std::move(copy), names, declared);
    if (!outputs.ok())
      return keep_types ? outputs.error()
                        : outputs.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if (node.outputs[i].valid()) now[node.outputs[i].index] = (*outputs)[i];
    }
  }
  std::vector<ValueId> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(now[output.index]);
  builder.set_outputs(std::move(outputs));
  builder.set_states(std::move(states));
  return std::move(builder).finish();
}

}  // namespace

Result<Graph> specialise(const Graph& graph, std::span<const InputFact> facts) {
  if (facts.size() != graph.inputs().size())
    return invalid(fmt::format("{} facts are given about the {} inputs of graph '{}'; give one for each",
                               facts.size(), graph.inputs().size(), graph.name()));
  HONE_ASSIGN(std::vector<StatePair> states, specialised_states(graph, facts));
  GraphBuilder builder(graph.name());
  std::vector<ValueId> now(graph.values().size());
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    HONE_ASSIGN(now[input.index], specialised_input(builder, graph.value(input), facts[i]));
  }
  return rebuilt(graph, std::move(builder), std::move(now), std::move(states), true);
}

Result<Graph> retyped(const Graph& graph, std::span<const TensorType> inputs) {
  if (inputs.size() != graph.inputs().size())
    return invalid(fmt::format("{} types are given for the {} inputs of graph '{}'; give one for each",
                               inputs.size(), graph.inputs().size(), graph.name()));
  GraphBuilder builder(graph.name());
  std::vector<ValueId> now(graph.values().size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    now[graph.inputs()[i].index] = builder.input(graph.value(graph.inputs()[i]).name, inputs[i]);
  return rebuilt(graph, std::move(builder), std::move(now), graph.states(), false);
}

}  // namespace hone::graph
