#include "passes/fuse_relu_gradient.h"

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

struct Passed {
  ValueId result;    // the Relu's
  ValueId gradient;  // that flows into it
};

// Where(result > 0, gradient, 0), which nobody else reads.
std::optional<Passed> relu_gradient(const GraphBuilder& builder, ValueId value) {
  const auto where = produced_by(builder, value, "Where");
  if (!where || !only_reader(builder, value)) return std::nullopt;
  const Node& choice = builder.nodes()[where->index];
  const auto greater = produced_by(builder, choice.inputs[0], "Greater");
  if (!greater || scalar_constant(builder, choice.inputs[2]) != 0.0) return std::nullopt;
  const Node& test = builder.nodes()[greater->index];
  if (scalar_constant(builder, test.inputs[1]) != 0.0) return std::nullopt;
  const graph::TensorType& wanted = builder.type(value);
  const Passed passed{test.inputs[0], choice.inputs[1]};
  for (const ValueId part : {passed.result, passed.gradient})
    if (builder.type(part).text() != wanted.text()) return std::nullopt;  // broadcast, or of another type
  return passed;
}

}  // namespace

Result<PassOutcome> fuse_relu_gradient(const graph::Graph& graph, const PassContext&) {
  PassOutcome outcome;
  GraphBuilder builder(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op != "hone.BatchNormalizationGradient" || node.inputs.size() != 3) continue;
    const auto passed = relu_gradient(builder, node.inputs[0]);
    if (!passed) {
      outcome.missed.push_back({node.name, "no Relu's gradient flows into it alone"});
      continue;
    }
    builder.append_input(graph::NodeId{i}, passed->result);
    builder.replace_input(graph::NodeId{i}, 0, passed->gradient);
    outcome.done.push_back({node.name, "takes the Relu's gradient"});
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

}  // namespace hone::passes
