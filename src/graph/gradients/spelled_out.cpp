#include "graph/gradients/spelled_out.h"

#include "graph/gradients/context.h"

namespace hone::graph {

bool can_be_spelled_out(const Node& node) {
  return node.op == "Attention" || node.op == "hone.AttentionGradient" ||
         node.op == "hone.BatchNormalizationGradient" || node.op == "hone.LayerNormalizationGradient";
}

Result<std::vector<ValueId>> spelled_out(NodeEmitter& emitter, const Node& node,
                                         const std::vector<ValueId>& inputs) {
  if (node.op == "Attention") return attention_spelled_out(emitter, node, inputs);
  return node.op == "hone.AttentionGradient" ? attention_gradient_spelled_out(emitter, node, inputs)
                                             : normalization_gradient_spelled_out(emitter, node, inputs);
}

Status through_spelled_out(GradientContext& c) {
  return c.set_through([](GradientContext& context, const std::vector<ValueId>& inputs) {
    return spelled_out(context, context.node(), inputs);
  });
}

}  // namespace hone::graph
