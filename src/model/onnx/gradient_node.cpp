// ai.onnx.preview.training's Gradient: its place is taken by the nodes that compute the gradient.
#include <algorithm>

#include <fmt/core.h>

#include "graph/differentiate.h"
#include "model/onnx/graph_reader.h"

namespace hone::model::onnx {
namespace {

using graph::ValueId;

// The limit for one Gradient: more nodes than the backward half of any real model has, few enough that a
// hostile chain of gradients of gradients is refused in a second.
constexpr int64_t kMostGradientNodes = 100'000;

// The node's attributes: y is a function of the xs and of the zs; it is differentiated by the xs.
struct GradientNames {
  std::string y;
  Strings variables;  // xs, then zs: the inputs give their values, in this order
  std::size_t xs = 0;
};

Result<GradientNames> gradient_names(const Attributes& attributes, const NodeProto& proto) {
  GradientNames names;
  names.y = attributes.text("y", "");
  names.variables = attributes.texts("xs");
  names.xs = names.variables.size();
  const Strings zs = attributes.texts("zs");
  names.variables.insert(names.variables.end(), zs.begin(), zs.end());
  if (names.y.empty() || names.xs == 0) return corrupt("its attributes xs and y must name values");
  if (proto.inputs.size() != names.variables.size())
    return corrupt(fmt::format("has {} inputs for the {} values that xs and zs name", proto.inputs.size(),
                               names.variables.size()));
  if (proto.outputs.size() > names.xs)
    return corrupt(fmt::format("has {} outputs, but xs names {} values", proto.outputs.size(), names.xs));
  return names;
}

// The value again, as one of its own: what stands in for a variable must not be mistaken for another that has
// the same value.
Result<ValueId> stand_in(graph::GraphBuilder& builder, ValueId value,
                         const std::vector<std::string>& provenance) {
  graph::Node node;
  node.op = "Identity";
  node.name = provenance[0] + ".at";
  node.inputs = {value};
  node.provenance = provenance;
  const std::vector<std::string> names{node.name};
  HONE_ASSIGN(const std::vector<ValueId> outputs, builder.try_add(std::move(node), names));
  return outputs[0];
}

}  // namespace

Status NodeReader::read_gradient(const NodeProto& proto) {
  if (frame_.in_body)
    return unsupported(
        "unsupported: Gradient in a sub-graph of If, Loop or Scan; put it beside the nodes that it "
        "differentiates, outside of them");
  HONE_ASSIGN(const Attributes attributes, read_attributes(proto));
  HONE_ASSIGN(const GradientNames names, gradient_names(attributes, proto));
  HONE_ASSIGN(const std::vector<ValueId> at, find_inputs(proto));
  HONE_ASSIGN(ValueId y, find(names.y));

  graph::DifferentiateOptions options;
  options.provenance = {name_of(proto)};
  options.most_nodes =
      static_cast<std::size_t>(std::clamp<int64_t>(context_.node_budget, 0, kMostGradientNodes));
  const std::size_t before = frame_.builder.nodes().size();
  std::vector<ValueId> variables;
  std::unordered_map<ValueId, ValueId> replacements;
  for (std::size_t i = 0; i < at.size(); ++i) {
    HONE_ASSIGN(const ValueId variable, find(names.variables[i]));
    if (!variable.valid() || !at[i].valid()) return corrupt("a value that xs or zs names is absent");
    variables.push_back(variable);
    if (variable == at[i]) continue;
    HONE_ASSIGN(variables.back(), stand_in(frame_.builder, at[i], options.provenance));
    replacements.emplace(variable, variables.back());
  }
  if (!y.valid()) return corrupt("the value that y names is absent");
  // Elsewhere than where the model computes y: y is computed there, too.
  HONE_ASSIGN(y, graph::substitute(frame_.builder, y, replacements, options));
  variables.resize(names.xs);
  HONE_ASSIGN(const std::vector<ValueId> gradients,
              graph::differentiate(frame_.builder, y, variables, options));
  context_.node_budget -= static_cast<int64_t>(frame_.builder.nodes().size() - before);
  return define_outputs(proto, gradients);
}

}  // namespace hone::model::onnx
