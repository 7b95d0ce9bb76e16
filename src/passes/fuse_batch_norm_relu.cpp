#include "passes/fuse_batch_norm_relu.h"

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// The one operator, which gives what the Relu gives and the statistics.
Node fused(const Node& norm, const Node& relu) {
  Node node;
  node.op = "hone.BatchNormalizationRelu";
  node.name = norm.name;
  node.inputs = norm.inputs;
  node.outputs = norm.outputs;
  node.outputs[0] = relu.outputs[0];
  for (const char* name : {"epsilon", "momentum"})
    if (norm.attributes.has(name)) node.attributes.set(name, norm.attributes.real(name, 0));
  return node;
}

}  // namespace

Result<PassOutcome> fuse_batch_norm_relu(const graph::Graph& graph, const PassContext& context) {
  PassOutcome outcome;
  GraphBuilder builder(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node norm = builder.node(NodeId{i});
    if (norm.op != "BatchNormalization" || norm.attributes.integer("training_mode", 0) == 0) continue;
    const auto reader = only_reader(builder, norm.outputs[0]);
    if (!reader || builder.node(*reader).op != "Relu") continue;
    const Node relu = builder.node(*reader);
    const Node one = fused(norm, relu);
    if (!runs_alone(context.target, builder, one)) {
      outcome.missed.push_back({norm.name, "the target has no kernel for it and the Relu behind it"});
      continue;
    }
    builder.replacing({NodeId{i}, *reader});
    const std::vector<ValueId> made =
        builder.add_many(one.op, one.inputs, one.outputs.size(), one.attributes, norm.name);
    builder.replacing({});
    builder.replace_all_uses(relu.outputs[0], made[0]);
    for (std::size_t o = 1; o < norm.outputs.size(); ++o)
      if (norm.outputs[o].valid()) builder.replace_all_uses(norm.outputs[o], made[o]);
    builder.erase(*reader);
    builder.erase(NodeId{i});
    outcome.done.push_back({norm.name, "with the Relu behind it"});
  }
  HONE_ASSIGN(outcome.graph, std::move(builder).finish());
  return outcome;
}

}  // namespace hone::passes
